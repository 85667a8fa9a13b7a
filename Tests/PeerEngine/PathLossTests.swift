import EmisoraCore
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSimulation
import Testing

/// A path that is gone for a while, or for good.
@Suite struct PathLossTests {
    private static func call(seed: UInt64) throws -> Call<NullSecurity> {
        var setup = Call<NullSecurity>.Setup()
        setup.seed = seed
        setup.conditions.delay = .milliseconds(25)
        return try Call(setup)
    }

    @Test("RFC 8834 §5.1.1: a second after five seconds of path loss there is a picture", arguments: UInt64(1)...10)
    func picturesComeBackWithinASecond(seed: UInt64) throws {
        let call = try Self.call(seed: seed)
        #expect(call.connect())
        var sources: Set<UInt32> = []
        call.receiver.packetTap = { packet, direction, _, _ in
            guard direction == .received, let header = try? RTPHeader(parsing: packet), header.payloadType == 96 else {
                return
            }
            sources.insert(header.ssrc)
        }
        let lostAt = call.simulation.now + .seconds(1) + .milliseconds(Int64(seed) * 37)
        let backAt = lostAt + .seconds(5)
        call.simulation.schedule(at: lostAt) { _ in call.simulation.filter = { _, _ in false } }
        call.simulation.schedule(at: backAt) { _ in call.simulation.filter = nil }
        let received = try call.stream(.seconds(10))
        #expect(
            received.contains { $0.at < lostAt }
                && !received.contains { $0.at > lostAt + .seconds(1) && $0.at < backAt })
        let first = try #require(received.first { $0.at >= backAt })
        #expect(first.at - backAt <= .seconds(1))
        #expect(first.frame.isKeyFrame)
        // And it goes on from there.
        #expect(received.count { $0.at >= first.at } >= Int((lostAt + .seconds(8) - first.at).inSeconds * 30))
        #expect(sources.count == 1)
        #expect(call.areConnected)
    }

    @Test(
        "RFC 7675 §5.1: sending stops 24 to 31 seconds after the path is lost for good", arguments: UInt64(1)...10)
    func sendingStopsWhenThePathIsLostForGood(seed: UInt64) throws {
        let call = try Self.call(seed: seed)
        #expect(call.connect())
        call.run(.milliseconds(7_000 + Int64(seed) * 613))
        let lostAt = call.simulation.now
        var lastSentAt = lostAt
        call.simulation.filter = { side, _ in
            if side == .left { lastSentAt = call.simulation.now }
            return false
        }
        _ = try call.stream(.seconds(60))
        #expect((Duration.seconds(24)...Duration.seconds(31)).contains(lastSentAt - lostAt))
        #expect(call.sender.connectionState == .failed)
    }

    @Test("W3C RTCIceConnectionState: each change is told, with a reason for a person where it is for the worse")
    func theStatesOfThePathAreToldWithReasons() throws {
        let call = try Self.call(seed: 1)
        func states() -> [String] {
            var states: [String] = []
            while let event = call.sender.pollEvent() {
                if case .iceStateChanged(let state, let reason) = event { states.append("\(state): \(reason)") }
            }
            return states
        }
        #expect(call.connect())
        #expect(states() == ["checking: ", "connected: "])
        call.simulation.filter = { _, _ in false }
        call.run(.seconds(60))
        let reason = "The peer has not answered for 30 s."
        #expect(
            states() == [
                "disconnected: The peer has not answered for 8 s.", "failed(reason: \"\(reason)\"): \(reason)",
            ])
    }

    @Test("W3C RTCIceConnectionState: a path whose address is gone is disconnected for that reason")
    func theLossOfAnAddressIsToldAsSuch() throws {
        let call = try Self.call(seed: 1)
        #expect(call.connect())
        let base = try #require(call.sender.selectedPath?.local)
        call.sender.removeLocal(base: base, now: call.simulation.now)
        var reasons: [String] = []
        while let event = call.sender.pollEvent() {
            if case .iceStateChanged(.disconnected, let reason) = event { reasons.append(reason) }
        }
        #expect(reasons == ["The address or the connection that the path used is gone."])
    }

    @Test(
        "RFC 8445 §9: two seconds after a restart over a path that works again there is a picture",
        arguments: [false, true], UInt64(1)...5)
    func aRestartBringsPicturesBackWithinTwoSeconds(byTheSender: Bool, seed: UInt64) throws {
        let call = try Self.call(seed: seed)
        #expect(call.connect())
        _ = try call.stream(.seconds(2))
        call.simulation.filter = { _, _ in false }
        #expect(
            call.run(.seconds(40)) {
                call.sender.connectionState == .failed && call.receiver.connectionState == .failed
            })
        call.simulation.filter = nil
        let restartedAt = call.simulation.now
        let (restarting, other) = byTheSender ? (call.sender, call.receiver) : (call.receiver, call.sender)
        let answer = try other.answer(offer: try restarting.makeOffer(iceRestart: true), now: restartedAt)
        call.simulation.schedule(at: restartedAt + .milliseconds(50)) { now in
            try? restarting.setRemoteAnswer(answer, now: now)
        }
        let received = try call.stream(.seconds(4))
        let first = try #require(received.first)
        #expect(first.at - restartedAt <= .seconds(2))
        #expect(call.areConnected)
    }
}
