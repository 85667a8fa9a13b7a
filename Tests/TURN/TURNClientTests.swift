import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN
import EmisoraSimulation
import EmisoraTURN
import Testing

/// One allocation and what goes through it.
@Suite struct TURNClientTests {
    private static let first = SocketAddress(ip: Addresses.relay, port: 50_000)

    @Test(arguments: [
        SimulatedTURNServer.Authentication.none, .md5, .sha256, .sha256WithUserhash,
    ])
    func anAllocationIsMadeWithTheProofThatTheServerWants(_ authentication: SimulatedTURNServer.Authentication) {
        let pair = ClientAndServer()
        pair.server.authentication = authentication
        pair.start()
        #expect(pair.events == [.allocated(relayed: Self.first, mapped: Addresses.left)])
        #expect(pair.client.relayedAddress == Self.first)
        // The first one asks for the challenge.
        #expect(pair.server.requests[.allocate] == (authentication == .none ? 1 : 2))
        #expect(pair.server.secondAllocates == 0)
    }

    @Test func aDatagramWaitsForThePermissionAndLaterOnesTakeTheChannel() {
        let pair = ClientAndServer()
        pair.start()
        #expect(!pair.send([1, 2, 3], to: Addresses.peer))
        // It left as soon as the permission was there.
        #expect(pair.delivered.map(\.bytes) == [[1, 2, 3]])
        #expect(pair.delivered[0].transmit.source == Self.first)
        #expect(pair.delivered[0].transmit.destination == Addresses.peer)
        #expect(pair.send([4], to: Addresses.peer))
        #expect(pair.server.sendIndications == 2)
        // Nobody has answered yet: no channel.
        #expect(pair.server.requests[.channelBind] == nil)
        pair.receive([5, 5], from: Addresses.peer)
        #expect(pair.received.map(\.bytes) == [[5, 5]])
        #expect(pair.received.map(\.peer) == [Addresses.peer])
        #expect(pair.send([6], to: Addresses.peer))
        #expect(pair.server.requests[.channelBind] == 1)
        #expect(pair.send([7, 7, 7], to: Addresses.peer))
        #expect(pair.server.channelMessages == 1)
        #expect(pair.sent.last == [0x40, 0x00, 0x00, 0x03, 7, 7, 7])
        pair.receive([8], from: Addresses.peer)
        #expect(pair.received.last?.bytes == [8])
        #expect(pair.delivered.map(\.bytes) == [[1, 2, 3], [4], [6], [7, 7, 7]])
        #expect(pair.server.unpermitted == 0)
    }

    @Test func anHourOfUseKeepsAllocationPermissionAndChannelAlive() {
        let pair = ClientAndServer()
        pair.server.nonceLifetime = .seconds(700)
        pair.start()
        pair.send([0], to: Addresses.peer)
        pair.receive([0], from: Addresses.peer)
        for second in 0..<3_600 {
            pair.run(.seconds(1))
            pair.send([UInt8(truncatingIfNeeded: second)], to: Addresses.peer)
            pair.receive([1], from: Addresses.peer)
        }
        #expect(pair.delivered.count == 3_601)
        #expect(pair.received.count == 3_601)
        #expect(pair.server.unpermitted == 0)
        #expect(pair.server.staleNonces >= 4)
        // Every nine minutes, and once more for each stale nonce.
        #expect((6...14).contains(pair.server.requests[.refresh] ?? 0))
        #expect((14...24).contains(pair.server.requests[.channelBind] ?? 0))
        #expect(pair.server.requests[.allocate] == 2)
        #expect(pair.server.secondAllocates == 0)
    }

    @Test func whatIsNotUsedIsNotRenewedAndAskedForAnewWhenItIs() {
        let pair = ClientAndServer()
        pair.start()
        pair.send([1], to: Addresses.peer)
        pair.receive([2], from: Addresses.peer)
        pair.send([3], to: Addresses.peer)
        pair.send([4], to: Addresses.peer)
        let binds = pair.server.requests[.channelBind]
        pair.run(.seconds(400))
        #expect(pair.server.requests[.channelBind] == binds)
        // The channel would be bound still, but without a permission it carries nothing.
        pair.send([5], to: Addresses.peer)
        #expect(pair.delivered.map(\.bytes).last == [5])
        pair.receive([6], from: Addresses.peer)
        pair.send([7], to: Addresses.peer)
        pair.send([8], to: Addresses.peer)
        #expect(pair.sent.last == [0x40, 0x00, 0x00, 0x01, 8])
        #expect(pair.server.unpermitted == 0)
        pair.run(.seconds(3_000))
        pair.send([9], to: Addresses.peer)
        #expect(pair.delivered.map(\.bytes).last == [9])
        #expect(pair.server.unpermitted == 0)
    }

    @Test func requestsAreRepeatedUnchangedWithDoublingIntervalsAndGivenUp() {
        let pair = ClientAndServer()
        pair.isConnected = false
        let start = pair.now
        pair.start()
        var times: [Double] = []
        pair.run(.seconds(60)) {
            if pair.sent.count > times.count { times.append((pair.now - start).inMilliseconds) }
            return pair.client.hasEnded
        }
        #expect(times == [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500])
        #expect(Set(pair.sent).count == 1)
        #expect(pair.events == [.failed(.timedOut)])
        #expect(pair.now - start == .milliseconds(39_500))
        #expect(pair.client.nextDeadline == nil)
    }

    @Test func overAStreamNothingIsRepeatedAndChannelDataIsPadded() {
        let pair = ClientAndServer()
        pair.client = TURNClient(
            .init(local: Addresses.left, server: Addresses.server, isStream: true, credentials: credentials),
            pacer: TransactionPacer(), random: RandomSource(SeededRandom(5)))
        pair.start()
        pair.send([1], to: Addresses.peer)
        pair.receive([2], from: Addresses.peer)
        pair.send([3], to: Addresses.peer)
        pair.send([4, 4, 4, 4, 4], to: Addresses.peer)
        #expect(pair.sent.last == [0x40, 0x00, 0x00, 0x05, 4, 4, 4, 4, 4, 0, 0, 0])
        #expect(pair.delivered.last?.bytes == [4, 4, 4, 4, 4])

        let deaf = ClientAndServer()
        deaf.isConnected = false
        deaf.client = TURNClient(
            .init(local: Addresses.left, server: Addresses.server, isStream: true, credentials: credentials),
            pacer: TransactionPacer(), random: RandomSource(SeededRandom(5)))
        deaf.start()
        deaf.run(.seconds(60)) { deaf.client.hasEnded }
        #expect(deaf.sent.count == 1)
        #expect(deaf.events == [.failed(.timedOut)])
    }

    @Test func closingGivesTheAllocationBack() {
        let pair = ClientAndServer()
        pair.start()
        pair.server.nonceLifetime = .zero
        // Each nonce is stale at once: the goodbye is tried a few times, and then it is over all the same.
        pair.client.close(now: pair.now)
        pair.exchange()
        #expect(pair.client.state == .closed)
        #expect(pair.server.requests[.refresh] == 4)

        let other = ClientAndServer()
        other.start()
        other.client.close(now: other.now)
        #expect(other.client.state == .closing)
        other.exchange()
        #expect(other.client.state == .closed)
        #expect(other.server.allocations.isEmpty)
        #expect(!other.send([1], to: Addresses.peer))
        #expect(other.client.nextDeadline == nil)
    }

    @Test func closingWhileTheAllocationIsUnderWayLeavesNoneBehind() {
        let pair = ClientAndServer()
        var held: [[UInt8]] = []
        pair.onAnswer = { bytes in
            guard (try? parse(bytes).type) == STUNMessageType(.success, .allocate) else { return bytes }
            held.append(bytes)
            return nil
        }
        pair.start()
        pair.client.close(now: pair.now)
        #expect(pair.server.allocations.count == 1)
        pair.onAnswer = nil
        pair.inject(held[0])
        pair.exchange()
        #expect(pair.server.allocations.isEmpty)
        #expect(pair.client.state == .closed)
        #expect(pair.events.isEmpty)
    }

    @Test func aServerThatForgotTheAllocationIsNoticedAtTheNextRefresh() {
        let pair = ClientAndServer()
        pair.start()
        pair.server.restart()
        pair.run(.seconds(600)) { pair.client.hasEnded }
        #expect(pair.events.last == .failed(.allocationLost))
        #expect(pair.server.requests[.allocate] == 2)
    }

    @Test func aServerThatIsAwayForAMinuteAtRefreshTimeCostsNothing() {
        let pair = ClientAndServer()
        pair.start()
        pair.run(.seconds(535))
        pair.server.isDown = true
        pair.run(.seconds(55))
        pair.server.isDown = false
        pair.run(.seconds(3_600))
        #expect(pair.client.relayedAddress == Self.first)
        #expect(pair.server.allocations.count == 1)
    }

    @Test func aLifetimeOfAFewSecondsIsRefreshedInTime() {
        let pair = ClientAndServer()
        pair.server.lifetime = 20
        pair.start()
        pair.run(.seconds(300))
        #expect(pair.client.relayedAddress == Self.first)
        #expect(pair.server.requests[.refresh] == 30)
    }

    @Test func aForbiddenPeerIsToldAndNotAskedForAgainAtOnce() {
        let pair = ClientAndServer()
        pair.server.forbidden = [Addresses.peer.ip]
        pair.start()
        for _ in 0..<20 { pair.send([1], to: Addresses.peer) }
        #expect(pair.events.last == .peerRefused(Addresses.peer.ip, .forbidden))
        #expect(pair.server.requests[.createPermission] == 1)
        #expect(pair.delivered.isEmpty)
        pair.server.forbidden = []
        pair.run(.seconds(61))
        pair.send([2], to: Addresses.peer)
        #expect(pair.delivered.map(\.bytes) == [[2]])
    }

    @Test func fewDatagramsWaitForAPermissionAndTheQueueIsBounded() {
        let pair = ClientAndServer()
        pair.start()
        pair.isConnected = false
        for number in 0..<100 as Range<UInt8> { pair.send([number], to: Addresses.peer) }
        for number in 0..<1_000 as Range<UInt32> {
            pair.send([1], to: SocketAddress(ip: IPAddress(v4: 0xC633_0000 + number), port: 1))
        }
        pair.isConnected = true
        pair.run(.seconds(2))
        #expect(
            pair.delivered.filter { $0.transmit.destination == Addresses.peer }.map(\.bytes) == (0..<8).map { [$0] })
        #expect(pair.delivered.count <= 64)
        #expect((pair.server.requests[.createPermission] ?? 0) <= 256)
    }

    @Test func aConnectionThatEndsTakesTheAllocationWithIt() {
        let pair = ClientAndServer()
        pair.start()
        pair.client.connectionFailed(reason: "The cable was pulled.")
        pair.exchange()
        #expect(pair.events.last == .failed(.connectionFailed(reason: "The cable was pulled.")))
        #expect(pair.client.hasEnded)
    }

    @Test func aServerThatHasForgottenIsFoundOutWhenItRefusesAPermission() {
        let pair = ClientAndServer()
        pair.start()
        pair.server.restart()
        pair.send([1], to: Addresses.peer)
        pair.run(.seconds(5))
        #expect(pair.events.last == .failed(.allocationLost))
    }
}
