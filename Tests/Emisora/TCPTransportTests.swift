import EmisoraCore
import EmisoraEventLoop
import EmisoraICE
import EmisoraPeerEngine
import EmisoraSTUN
import Glibc
import Testing

@testable import Emisora

/// A hub on a loop of its own with one peer that offers, and what a stranger learns of it.
private final class ListeningHub: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: the hub and its peers are touched on the loop's thread only, the rest is
    // constant.
    private let loop: EventLoop
    private let hub: PeerHub
    let address: SocketAddress
    /// Fragment and password of each peer.
    let credentials: [(ufrag: String, password: String)]

    private final class Owner: PeerOwner {
        func peer(_ peer: Peer, didEmit event: PeerEvent, now: Instant) {}
        func peerDidAdvance(_ peer: Peer, now: Instant) {}
    }

    private let owner = Owner()

    init(peers: Int = 1) async throws {
        let loop = try EventLoop(name: "tcp-test")
        let owner = owner
        struct Made: @unchecked Sendable {
            // Invariant behind `@unchecked Sendable`: handed from the loop's thread to the owner above, once.
            let hub: PeerHub
            let offers: [String]
        }
        let made: Made = try await withCheckedThrowingContinuation { continuation in
            let box = UncheckedBox(owner)
            loop.execute {
                continuation.resume(
                    with: Result {
                        let hub = try PeerHub(loop: loop, options: .init(addresses: .loopback))
                        let offers = try (0..<peers).map { _ in
                            let peer = try #require(
                                hub.makePeer(
                                    media: [.init(.video, sends: true, receives: false)], sockets: .shared,
                                    owner: box.value, now: SystemClock.now()))
                            return try peer.engine.makeOffer()
                        }
                        return Made(hub: hub, offers: offers)
                    })
            }
        }
        self.loop = loop
        hub = made.hub
        func value(_ name: String, _ offer: String) throws -> String {
            let line = offer.split(separator: "\r\n").first { $0.hasPrefix("a=\(name):") }
            return String(try #require(line).dropFirst(name.utf8.count + 3))
        }
        credentials = try made.offers.map { (try value("ice-ufrag", $0), try value("ice-pwd", $0)) }
        let passive = try #require(made.offers[0].split(separator: "\r\n").first { $0.contains("tcptype passive") })
        let words = passive.split(separator: " ")
        #expect(
            words[0].hasPrefix("a=candidate:") && words[1...2] == ["1", "tcp"]
                && words[6...] == ["typ", "host", "tcptype", "passive"])
        address = SocketAddress(ip: try #require(IPAddress(String(words[4]))), port: try #require(UInt16(words[5])))
    }

    private struct UncheckedBox<Value>: @unchecked Sendable {
        // Invariant behind `@unchecked Sendable`: used on the loop's thread only.
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute { [self] in
                hub.shutdown(now: SystemClock.now())
                continuation.resume()
            }
        }
        loop.shutdown()
    }
}

/// Who may do what on a connection that anybody can make.
@Suite struct TCPTransportTests {
    private static func kind(_ packet: [UInt8]?) -> STUNMessageType.Class? {
        packet.flatMap { try? STUNMessage(parsing: $0.span.bytes).type.messageClass }
    }

    @Test func anAuthenticCheckIsAnsweredAndTheConnectionIsItsPeersAlone() async throws {
        let hub = try await ListeningHub(peers: 2)
        let client = try FramedClient(connectingTo: hub.address)
        let (mine, other) = (hub.credentials[0], hub.credentials[1])
        client.send(packet: try bindingRequest(ufrag: mine.ufrag, password: mine.password))
        let answer = try client.receive()
        #expect(Self.kind(answer) == .success)
        // A check of another peer's is nothing to the one whose connection it is; its own next one is answered.
        client.send(packet: try bindingRequest(ufrag: other.ufrag, password: other.password, id: 2))
        client.send(packet: try bindingRequest(ufrag: mine.ufrag, password: mine.password, id: 3))
        let refusal = try client.receive()
        let next = try client.receive()
        #expect(Self.kind(refusal) == .error)
        #expect(Self.kind(next) == .success)
        await hub.close()
        #expect(try client.receive() == nil)
    }

    @Test func whatIsNoCheckEndsAConnectionAtOnce() async throws {
        let hub = try await ListeningHub()
        let (ufrag, password) = hub.credentials[0]
        // DTLS, RTP, a STUN response, HTTP whose first two bytes are a length beyond all packets, and a length of 65535.
        var response = try bindingRequest(ufrag: ufrag, password: password)
        response[0] |= 1
        for packet in [[22, 254, 253, 0, 0], [128, 96, 0, 1], response] as [[UInt8]] {
            let client = try FramedClient(connectingTo: hub.address)
            client.send(packet: packet)
            #expect(try client.receive() == nil)
        }
        for bytes in [Array("GET / HTTP/1.1\r\n\r\n".utf8), [0xFF, 0xFF, 0, 1]] {
            let client = try FramedClient(connectingTo: hub.address)
            client.send(bytes)
            #expect(try client.receive() == nil)
        }
        await hub.close()
    }

    @Test func aStrangerHasFewTriesAndFiveSeconds() async throws {
        let hub = try await ListeningHub()
        let since = ContinuousClock.now
        let silent = try FramedClient(connectingTo: hub.address)
        let slow = try FramedClient(connectingTo: hub.address)
        slow.send([0])
        let guessing = try FramedClient(connectingTo: hub.address)
        for id in 0..<20 {
            guessing.send(
                packet: try bindingRequest(ufrag: hub.credentials[0].ufrag, password: "wrong", id: UInt64(id)))
        }
        var answers = 0
        while let packet = try guessing.receive() {
            #expect(Self.kind(packet) == .error)
            answers += 1
        }
        #expect(answers <= 8)
        #expect(try silent.receive() == nil && slow.receive() == nil)
        let patience = ContinuousClock.now - since
        #expect(patience > .milliseconds(4_900))
        await hub.close()
    }

    @Test func theOldestStrangerFromAnAddressGivesWayToANewOne() async throws {
        let hub = try await ListeningHub()
        let (ufrag, password) = hub.credentials[0]
        let known = try FramedClient(connectingTo: hub.address)
        known.send(packet: try bindingRequest(ufrag: ufrag, password: password))
        #expect(Self.kind(try known.receive()) == .success)
        let silent = try (0..<16).map { _ in try FramedClient(connectingTo: hub.address) }
        let since = ContinuousClock.now
        let late = try FramedClient(connectingTo: hub.address)
        // Well before its time is over.
        #expect(try silent[0].receive() == nil)
        if getenv("EMISORA_NO_TIMING") == nil { #expect(ContinuousClock.now - since < .seconds(4)) }
        late.send(packet: try bindingRequest(ufrag: ufrag, password: password, id: 2))
        #expect(Self.kind(try late.receive()) == .success)
        // Neither the one that is known nor the strangers after the oldest have gone.
        known.send(packet: try bindingRequest(ufrag: ufrag, password: password, id: 3))
        #expect(Self.kind(try known.receive()) == .success)
        silent[1].send(packet: try bindingRequest(ufrag: ufrag, password: password, id: 4))
        #expect(Self.kind(try silent[1].receive()) == .success)
        await hub.close()
    }

    @Test func mediaForAReaderThatIsTooSlowIsLostAndDoesNotPileUp() async throws {
        let loop = try EventLoop(name: "slow-test")
        let accepted = Accepted()
        let address: SocketAddress = try await withCheckedThrowingContinuation { continuation in
            loop.execute {
                continuation.resume(
                    with: Result {
                        let any = SocketAddress(ip: .loopbackV4, port: 0)
                        let listener = try TCPListener(binding: any, on: loop) {
                            accepted.connection = TCPConnection($0, peer: nil, now: .zero)
                        }
                        accepted.listener = listener
                        return listener.localAddress
                    })
            }
        }
        let client = try FramedClient(connectingTo: address)
        try await eventually("the connection is taken") { await accepted.on(loop) { $0.connection != nil } }
        var packet = [UInt8](repeating: 1, count: 1_200)
        packet[0] = 0x80
        let media = packet
        // As many as the two systems' buffers hold, and then those that wait until their time is over.
        let (sent, dropped) = await accepted.on(loop) { accepted -> (UInt64, UInt64) in
            guard let connection = accepted.connection else { return (0, 0) }
            var sent: UInt64 = 0
            var now = Instant.zero
            while connection.packetsDropped < 100, sent < 100_000 {
                connection.send(media.span.bytes, now: now)
                sent += 1
                // 10 Mbit/s.
                now = now + .microseconds(960)
            }
            // What keeps the connection up still finds room.
            let before = connection.packetsDropped
            connection.send([UInt8](repeating: 0, count: 100).span.bytes, now: now)
            #expect(connection.packetsDropped == before)
            return (sent, before)
        }
        #expect(dropped == 100)
        // All that was taken arrives whole, in its order, when the reader goes on.
        for _ in 0..<sent - dropped { #expect(try client.receive()?.count == 1_200) }
        #expect(try client.receive()?.count == 100)
        _ = await accepted.on(loop) { accepted in
            accepted.connection?.close()
            accepted.listener?.close()
            return 0
        }
        loop.shutdown()
    }

    @Test func whatWaitsIsAsOldAsItsOldestByte() {
        var backlog = StreamBacklog()
        let start = Instant.zero + .seconds(1)
        func at(_ milliseconds: Int64) -> Instant { start + .milliseconds(milliseconds) }
        let isEmptyFree = backlog.hasRoom(queuedByteCount: 0, now: at(0))
        #expect(isEmptyFree)
        backlog.didWrite(1_000, queuedByteCount: 400, now: at(0))
        backlog.didWrite(1_000, queuedByteCount: 1_400, now: at(100))
        let isInTime = backlog.hasRoom(queuedByteCount: 1_400, now: at(299))
        let isLate = !backlog.hasRoom(queuedByteCount: 1_001, now: at(300))
        #expect(isInTime && isLate)
        // The first packet has gone: the second one counts.
        let isSecondInTime = backlog.hasRoom(queuedByteCount: 1_000, now: at(399))
        let isSecondLate = !backlog.hasRoom(queuedByteCount: 1_000, now: at(400))
        #expect(isSecondInTime && isSecondLate)
        let isFreeAgain = backlog.hasRoom(queuedByteCount: 0, now: at(500))
        #expect(isFreeAgain)
    }
}

private final class Accepted: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: touched on the loop's thread only.
    var listener: TCPListener?
    var connection: TCPConnection?

    func on<Answer: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable (Accepted) -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: body(self)) }
        }
    }
}
