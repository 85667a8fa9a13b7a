import EmisoraCore
import EmisoraEventLoop
import EmisoraSignalingClient
import EmisoraSignalingProtocol
import Synchronization

@testable import Emisora

/// A path with a bottleneck, in user space: two sockets between a publisher and a subscriber, who each take the nearer one
/// for the other side. What goes to the subscriber passes at a limited rate through a queue of limited length.
final class BottleneckRelay: EventLoopClient, @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: `shared` is a mutex; everything else is touched on the loop's thread only.
    /// How a path goes bad at once.
    enum Fault: CaseIterable {
        /// Nine of ten packets of media to the subscriber are lost; checks, reports and the way back are as they were.
        case media
        /// Nothing gets through, either way.
        case everything
    }

    struct Shared {
        var rate: DataRate?
        var fault: Fault?
        /// By how much pictures are held up at the least …
        var pictureDelay: Duration = .zero
        /// … and by how much more at the most, by chance, in their order; sound is not.
        var pictureJitter: Duration = .zero
        var publisher: SocketAddress?
        var subscriber: SocketAddress?
        /// The first of those that go by the relay.
        var subscription: String?
        var forwarded = 0
        var lost = 0
    }

    static let queueByteCount = 30_000

    let shared = Mutex(Shared())
    /// Where the publisher sends to …
    private(set) var nearPublisher = SocketAddress(ip: .loopbackV4, port: 0)
    /// … and the subscriber.
    private(set) var nearSubscriber = SocketAddress(ip: .loopbackV4, port: 0)

    private let loop: EventLoop
    private let batch = DatagramBatch()
    private var sockets: [UDPSocket] = []
    private var waiting: [(due: Instant, bytes: [UInt8])] = []
    private var busyUntil = Instant.zero
    private var lastPictureDue = Instant.zero
    private var mediaPackets = 0
    /// Larger datagrams than sound takes.
    private static let pictureByteCount = 300

    init(rate: DataRate?) async throws {
        loop = try EventLoop(name: "relay")
        shared.withLock { $0.rate = rate }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            loop.execute { continuation.resume(with: Result { try self.open() }) }
        }
    }

    private func open() throws {
        let any = SocketAddress(ip: .loopbackV4, port: 0)
        let first = try UDPSocket(binding: any, on: loop) { [unowned self] datagram, _, _ in
            queue([UInt8](copyingBytes: datagram.bytes))
        }
        let second = try UDPSocket(binding: any, on: loop) { [unowned self] datagram, _, _ in
            let (publisher, fault) = shared.withLock { ($0.publisher, $0.fault) }
            guard let publisher, fault != .everything else { return }
            send([UInt8](copyingBytes: datagram.bytes), from: nearPublisher, to: publisher)
        }
        sockets = [first, second]
        for socket in sockets { batch.add(socket) }
        nearPublisher = first.localAddress
        nearSubscriber = second.localAddress
        loop.setClient(self)
    }

    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                for socket in self.sockets { socket.close() }
                self.loop.setClient(nil)
                continuation.resume()
            }
        }
        loop.shutdown()
    }

    private func queue(_ bytes: [UInt8]) {
        guard passes(bytes) else { return }
        let now = SystemClock.now()
        let (rate, delay, jitter) = shared.withLock { ($0.rate, $0.pictureDelay, $0.pictureJitter) }
        guard let rate else {
            var due = max(now, busyUntil)
            if delay + jitter > .zero, bytes.count > Self.pictureByteCount {
                due = max(lastPictureDue, due + delay + .nanoseconds(Int64.random(in: 0...jitter.nanoseconds)))
                lastPictureDue = due
            }
            waiting.insert((due, bytes), at: waiting.firstIndex { $0.due > due } ?? waiting.count)
            return
        }
        let start = max(now, busyUntil)
        guard (start - now).inSeconds * Double(rate.bitsPerSecond) / 8 <= Double(Self.queueByteCount) else {
            shared.withLock { $0.lost += 1 }
            return
        }
        busyUntil = start + .nanoseconds(Int64(bytes.count) * 8 * 1_000_000_000 / Int64(rate.bitsPerSecond))
        waiting.append((busyUntil, bytes))
    }

    private func passes(_ bytes: [UInt8]) -> Bool {
        shared.withLock { shared in
            switch shared.fault {
            case nil: return true
            case .everything: break
            case .media:
                // RFC 7983 and RFC 5761: which datagrams are RTP.
                guard bytes.count > 1, (128...191).contains(bytes[0]), !(192...223).contains(bytes[1]) else {
                    return true
                }
                mediaPackets += 1
                if mediaPackets % 10 == 0 { return true }
            }
            shared.lost += 1
            return false
        }
    }

    func turnDidEnd(now: Instant) {
        if let subscriber = shared.withLock({ $0.subscriber }) {
            while let first = waiting.first, first.due <= now {
                waiting.removeFirst()
                send(first.bytes, from: nearSubscriber, to: subscriber)
                shared.withLock { $0.forwarded += 1 }
            }
        }
        batch.flush()
    }

    var nextDeadline: Instant? { waiting.first?.due }

    private func send(_ bytes: [UInt8], from source: SocketAddress, to destination: SocketAddress) {
        _ = batch.append { slot in
            for (index, byte) in bytes.enumerated() where index < slot.byteCount {
                slot.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            }
            return Transmit(byteCount: bytes.count, source: source, destination: destination)
        }
    }
}

/// Signaling between two sessions of one process that puts the relay into the place of each side's own address.
final class RelayedChannel: SignalingChannel {
    let usualOfferer = Offerer.subscriber
    /// The relay has one address for each side and carries datagrams: candidates for TCP would be taken for it.
    static let sessionOptions = Session.Options(addresses: .loopback, usesTCPCandidates: false)
    private let inner: LoopbackChannel
    private let relay: BottleneckRelay
    private let onlyFirst: Bool

    private init(_ inner: LoopbackChannel, _ relay: BottleneckRelay, _ onlyFirst: Bool) {
        self.inner = inner
        self.relay = relay
        self.onlyFirst = onlyFirst
    }

    /// - Parameter onlyFirst: further subscriptions go directly.
    static func pair(_ relay: BottleneckRelay, onlyFirst: Bool = false) -> (RelayedChannel, RelayedChannel) {
        let (first, second) = LoopbackChannel.pair()
        return (RelayedChannel(first, relay, onlyFirst), RelayedChannel(second, relay, onlyFirst))
    }

    private func goesDirectly(_ subscription: String) -> Bool {
        let first = relay.shared.withLock { shared in
            shared.subscription = shared.subscription ?? subscription
            return shared.subscription
        }
        return onlyFirst && first != subscription
    }

    func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) { inner.open(onEvent: onEvent) }
    func close() { inner.close() }

    func send(_ message: SignalingMessage) {
        switch message {
        case .subscribe(let subscription, _, _) where goesDirectly(subscription),
            .answer(let subscription, _) where goesDirectly(subscription):
            inner.send(message)
        case .subscribe(let subscription, let stream, let sdp):
            let (text, address) = Self.moved(sdp, to: relay.nearPublisher)
            relay.shared.withLock { $0.subscriber = address }
            inner.send(.subscribe(subscription: subscription, stream: stream, sdp: text))
        case .answer(let subscription, let sdp):
            let (text, address) = Self.moved(sdp, to: relay.nearSubscriber)
            relay.shared.withLock { $0.publisher = address }
            inner.send(.answer(subscription: subscription, sdp: text))
        default: inner.send(message)
        }
    }

    /// The description with another address in its candidate, and the one that was there.
    private static func moved(_ sdp: String, to address: SocketAddress) -> (String, SocketAddress?) {
        var old: SocketAddress?
        let lines = sdp.split(separator: "\r\n").map { line -> String in
            guard line.hasPrefix("a=candidate:") else { return String(line) }
            var words = line.split(separator: " ").map(String.init)
            if let ip = IPAddress(words[4]), let port = UInt16(words[5]) { old = SocketAddress(ip: ip, port: port) }
            words[4] = address.ip.description
            words[5] = "\(address.port)"
            return words.joined(separator: " ")
        }
        return (lines.joined(separator: "\r\n") + "\r\n", old)
    }
}

extension [UInt8] {
    fileprivate init(copyingBytes bytes: RawSpan) {
        self = bytes.withUnsafeBytes { [UInt8]($0) }
    }
}
