import EmisoraCore
import EmisoraSTUN
import EmisoraSimulation
import EmisoraTURN
import Testing

/// The client against a real server, over real sockets.
@Suite(.serialized) struct CoturnTests {
    @Test func twoAllocationsEchoThroughChannelsAndSurviveStaleNonces() throws {
        // One second, the shortest that coturn knows, so that the nonces of the first requests are stale soon.
        let coturn = try Coturn(arguments: ["--stale-nonce=1"])
        let left = try RealClient(coturn, family: .v4)
        let right = try RealClient(coturn, family: .v4)
        defer { left.close(); right.close() }
        let deadline = RealTime.now() + .seconds(30)
        left.start()
        right.start()
        try RealTime.pump([left, right], until: deadline) {
            left.client.relayedAddress != nil && right.client.relayedAddress != nil
        }
        let leftRelayed = try #require(left.client.relayedAddress)
        let rightRelayed = try #require(right.client.relayedAddress)
        #expect(leftRelayed != rightRelayed)
        #expect(left.mapped == left.local)

        // Both ways, so that each side sees an answer and binds a channel.
        try RealTime.pump([left, right], until: deadline, every: .milliseconds(50)) {
            left.send([1], to: rightRelayed)
            right.send([2], to: leftRelayed)
        } while: {
            left.channelMessages < 5 || right.channelMessages < 5
        }
        #expect(left.received.allSatisfy { $0.bytes == [2] && $0.peer == rightRelayed })
        #expect(right.received.allSatisfy { $0.bytes == [1] && $0.peer == leftRelayed })

        // A payload of every length up to what media needs.
        left.received = []
        right.received = []
        var length = 0
        try RealTime.pump([left, right], until: deadline, every: .milliseconds(2)) {
            length = min(length + 17, 1_200)
            left.send([UInt8](repeating: UInt8(truncatingIfNeeded: length), count: length), to: rightRelayed)
        } while: {
            right.received.last?.bytes.count != 1_200
        }
        #expect(
            right.received.allSatisfy { one in
                one.bytes.allSatisfy { $0 == UInt8(truncatingIfNeeded: one.bytes.count) }
            })

        // A refresh with a stale nonce is challenged and goes through.
        let staleBefore = left.staleNonces
        try RealTime.pump([left], until: deadline, every: .milliseconds(300)) {
            left.client.verify(now: RealTime.now())
        } while: {
            left.staleNonces == staleBefore
        }
        try RealTime.pump([left], until: deadline) { left.refreshes > 0 }
        #expect(left.client.relayedAddress == leftRelayed)

        left.client.close(now: RealTime.now())
        right.client.close(now: RealTime.now())
        try RealTime.pump([left, right], until: deadline) { left.client.hasEnded && right.client.hasEnded }
        #expect(left.client.state == .closed && right.client.state == .closed)
    }

    @Test func overTCPTheFramerFindsTheMessages() throws {
        let coturn = try Coturn()
        let left = try RealClient(coturn, family: .v4, isStream: true)
        let right = try RealClient(coturn, family: .v4)
        defer { left.close(); right.close() }
        let deadline = RealTime.now() + .seconds(30)
        left.start()
        right.start()
        try RealTime.pump([left, right], until: deadline) {
            left.client.relayedAddress != nil && right.client.relayedAddress != nil
        }
        let leftRelayed = try #require(left.client.relayedAddress)
        let rightRelayed = try #require(right.client.relayedAddress)
        var length = 0
        try RealTime.pump([left, right], until: deadline, every: .milliseconds(5)) {
            length = length % 700 + 1
            left.send([UInt8](repeating: 1, count: length), to: rightRelayed)
            right.send([UInt8](repeating: 2, count: length), to: leftRelayed)
        } while: {
            left.channelMessages < 50 || right.channelMessages < 50
        }
        #expect(left.received.allSatisfy { $0.bytes.allSatisfy { $0 == 2 } && $0.peer == rightRelayed })
        #expect(right.received.allSatisfy { $0.bytes.allSatisfy { $0 == 1 } && $0.peer == leftRelayed })
        #expect(Set(left.received.map { $0.bytes.count % 4 }) == [0, 1, 2, 3])
    }

    @Test func coturnsRefusalsAreUnderstood() throws {
        let coturn = try Coturn(arguments: ["--user-quota=1"])
        let first = try RealClient(coturn, family: .v4)
        let second = try RealClient(coturn, family: .v4)
        let wrong = try RealClient(
            coturn, family: .v4, credentials: STUNLongTermCredentials(username: "lab", password: "wrong"))
        defer { first.close(); second.close(); wrong.close() }
        let deadline = RealTime.now() + .seconds(30)
        first.start()
        wrong.start()
        try RealTime.pump([first, wrong], until: deadline) {
            first.client.relayedAddress != nil && wrong.client.hasEnded
        }
        #expect(wrong.client.state == .failed(.unauthorized))
        second.start()
        try RealTime.pump([second], until: deadline) { second.client.hasEnded }
        #expect(second.client.state == .failed(.quotaReached))
    }
}
