import EmisoraCore
import Testing

/// Who gives way to whom among those that have not shown whose they are.
@Suite struct StrangersTests {
    private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
        ("2001:db8::1", "2001:db8::ffff:1", true), ("2001:db8::1", "2001:db8:0:1::1", false),
        ("::ffff:192.0.2.1", "192.0.2.1", true), ("::1", "::2", false),
    ])
    func aSiteIsAnAddressOrA64OfIPv6(_ one: String, _ other: String, _ isSame: Bool) throws {
        #expect((try Self.address(one).site == Self.address(other).site) == isSame)
    }

    @Test func theOldestOfTheSiteThatHoardsGoesFirst() throws {
        var strangers = Strangers<Int>()
        strangers.enter(0, from: try Self.address("192.0.2.1"), now: .zero)
        for id in 1...3 { strangers.enter(id, from: try Self.address("2001:db8::\(id)"), now: .zero) }
        #expect(strangers.oldest() == 0)
        #expect(strangers.oldestOfTheMostCrowded == 1)
        #expect(strangers.count(from: try Self.address("2001:db8::9")) == 3)
        // Who comes again is as young as who comes now.
        strangers.enter(1, from: try Self.address("2001:db8::1"), now: .zero)
        #expect(strangers.oldestOfTheMostCrowded == 2)
        strangers.leave(2)
        strangers.leave(2)
        #expect(strangers.count == 3)
        #expect(strangers.count(from: try Self.address("2001:db8::9")) == 2)
        for id in 0...3 { strangers.leave(id) }
        #expect(strangers.isEmpty && strangers.oldest() == nil && strangers.oldestOfTheMostCrowded == nil)
    }
}
