import EmisoraCore
import EmisoraSTUN
import EmisoraSimulation
import EmisoraTURN
import Testing

@Suite struct TURNStreamFramerTests {
    private static let stun = SimulatedTURNServer.message(
        STUNMessageType(.success, .refresh), STUNTransactionID(high: 1, low: 2), integrity: nil
    ) { builder throws(STUNError) in try builder.add(attribute: STUNAttribute.lifetime, word: 600) }

    private static let stream =
        stun + [0x40, 0x00, 0x00, 0x05, 1, 2, 3, 4, 5, 0, 0, 0] + [0x40, 0x01, 0x00, 0x00] + stun
        + [0x4F, 0xFF, 0x00, 0x04, 6, 7, 8, 9]
    private static let messages = [
        stun, [0x40, 0x00, 0x00, 0x05, 1, 2, 3, 4, 5], [0x40, 0x01, 0x00, 0x00], stun,
        [0x4F, 0xFF, 0x00, 0x04, 6, 7, 8, 9],
    ]

    private static func append(_ bytes: some Sequence<UInt8>, to framer: inout TURNStreamFramer) throws {
        try framer.append(Array(bytes).span.bytes)
    }

    @Test func messagesAreCutWhereverTheStreamWasSplit() throws {
        for size in 1...Self.stream.count {
            var framer = TURNStreamFramer()
            var messages: [[UInt8]] = []
            for start in stride(from: 0, to: Self.stream.count, by: size) {
                try Self.append(Self.stream[start..<min(start + size, Self.stream.count)], to: &framer)
                while let message = try framer.next() { messages.append(message) }
            }
            #expect(messages == Self.messages)
        }
    }

    @Test func bytesThatBeginNoMessageEndTheStreamForGood() throws {
        var withoutCookie = Self.stun
        withoutCookie[4] ^= 1
        for bytes in [[0x80, 0, 0, 0], [0xC0, 0, 0, 0], [0x00, 0x01, 0x00, 0x03], withoutCookie] as [[UInt8]] {
            var framer = TURNStreamFramer()
            try Self.append(bytes, to: &framer)
            #expect(throws: TURNStreamFramer.Failure.outOfStep) { try framer.next() }
            #expect(throws: TURNStreamFramer.Failure.outOfStep) { try Self.append(Self.stun, to: &framer) }
        }
    }

    @Test func moreThanTwoMessagesCannotPileUp() throws {
        var framer = TURNStreamFramer()
        let long = [0x40, 0x00, 0xFF, 0xFF] + [UInt8](repeating: 7, count: 65_535) + [0]
        try Self.append(long, to: &framer)
        try Self.append(long, to: &framer)
        #expect(throws: TURNStreamFramer.Failure.overflow) { try Self.append(long, to: &framer) }
        var other = TURNStreamFramer()
        for _ in 0..<5 {
            try Self.append(long, to: &other)
            #expect(try other.next()?.count == 65_539)
        }
    }

    @Test func randomBytesNeverTrap() {
        var random = SeededRandom(3)
        for _ in 0..<10_000 {
            var framer = TURNStreamFramer()
            do {
                for _ in 0..<4 {
                    var bytes = (0..<Int(random.next() % 40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                    if !bytes.isEmpty { bytes[0] &= 0x41 }
                    try Self.append(bytes, to: &framer)
                    while let message = try framer.next() { #expect(message.count >= 4) }
                }
            } catch {
                #expect(error as? TURNStreamFramer.Failure == .outOfStep)
            }
        }
    }
}
