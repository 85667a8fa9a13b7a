import EmisoraCore
import EmisoraPeerEngine
import EmisoraSimulation
import Testing

/// What a circuit breaker does to a whole connection.
@Suite struct CircuitBreakerCallTests {
    /// The receiver's RTCP is lost from `begin` to `end` seconds; all else passes.
    private static func call(losingReports window: Range<Int>) throws -> Call<NullSecurity> {
        var setup = Call<NullSecurity>.Setup()
        setup.conditions.delay = .milliseconds(25)
        let call = try Call<NullSecurity>(setup)
        #expect(call.connect())
        let start = call.simulation.now
        call.simulation.filter = { side, bytes in
            let second = Int((call.simulation.now - start).inSeconds)
            return side == .left || DatagramKind(of: bytes) != .rtcp || !window.contains(second)
        }
        return call
    }

    @Test("RFC 8083 §4.1: media pauses when reports stop, and goes on when the peer is heard")
    func mediaPausesWithoutReportsAndGoesOnWithThem() throws {
        let call = try Self.call(losingReports: 5..<25)
        let start = call.simulation.now
        let received = try call.stream(.seconds(40))
        func frames(_ seconds: Range<Int>) -> Int {
            received.count { seconds.contains(Int(($0.at - start).inSeconds)) }
        }
        #expect(frames(6..<19) > 300)
        #expect(frames(21..<25) == 0)
        #expect(frames(28..<40) > 300)
        let first = try #require(received.first { $0.at - start >= .seconds(21) })
        #expect(first.frame.isKeyFrame)
        #expect(call.areConnected)
    }

    @Test("RFC 8083 §4.5: without any word for 27 s the connection ends, and says why")
    func theConnectionEndsAndSaysWhy() throws {
        let call = try Self.call(losingReports: 5..<1_000)
        var reason = ""
        let start = call.simulation.now
        _ = try call.stream(.seconds(25))
        #expect(call.areConnected)
        #expect(call.run(.seconds(20)) { call.sender.connectionState == .failed })
        #expect((31...35).contains(Int((call.simulation.now - start).inSeconds)))
        while let event = call.sender.pollEvent() {
            if case .stateChanged(.failed, let why) = event { reason = why }
        }
        #expect(reason.contains("has not reported"))
    }
}
