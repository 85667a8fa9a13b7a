import EmisoraCore
import EmisoraICE
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSTUN
import EmisoraSimulation

/// A connection that stands, and whoever attacks it from the peer's place: with the keys, or without them.
package final class Opponent {
    package typealias Engine = PeerEngine<NullSecurity>

    private static let leftAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 5_000)
    private static let rightAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0202), port: 6_000)
    private static let stranger = SocketAddress(ip: IPAddress(v4: 0xCB00_7101), port: 9_999)

    package let victim: Engine
    /// Whose place is taken; its engine only makes offers any more.
    package let peer: Engine
    package private(set) var now: Instant
    /// What the victim sent since ``check()``, and in all.
    package private(set) var sentByteCount = 0
    package private(set) var totalSentByteCount = 0
    package private(set) var receivedByteCount = 0
    package private(set) var eventCount = 0
    package private(set) var framesTaken = 0
    private let path: ICEPath

    /// `nil`: the two do not connect.
    package init?(attackingSender: Bool) {
        let start = Instant.zero + .seconds(1)
        func engine(_ address: SocketAddress, sends: Bool, seed: UInt64) -> Engine {
            PeerEngine(
                configuration: PeerConfiguration(
                    media: [
                        .init(.audio, sends: sends, receives: !sends), .init(.video, sends: sends, receives: !sends),
                    ],
                    wallClock: WallClock(unixNanosecondsAtZero: 1_700_000_000_000_000_000), localAddresses: [address]),
                security: NullSecurity(), pacer: TransactionPacer(), random: RandomSource(FuzzRandom(seed: seed)),
                now: start)
        }
        let sender = engine(Self.leftAddress, sends: true, seed: 1)
        let receiver = engine(Self.rightAddress, sends: false, seed: 2)
        guard let offer = try? receiver.makeOffer(), let answer = try? sender.answer(offer: offer, now: start),
            (try? receiver.setRemoteAnswer(answer, now: start)) != nil
        else { return nil }
        let simulation = Simulation(sender, receiver, conditions: SimulatedLink.Conditions(), seed: 1)
        let areConnected = simulation.run(until: start + .seconds(5)) {
            sender.connectionState == .connected && receiver.connectionState == .connected
        }
        guard areConnected else { return nil }
        victim = attackingSender ? sender : receiver
        peer = attackingSender ? receiver : sender
        now = simulation.now
        path =
            attackingSender
            ? ICEPath(local: Self.leftAddress, remote: Self.rightAddress)
            : ICEPath(local: Self.rightAddress, remote: Self.leftAddress)
        drain()
    }

    // MARK: Attacks

    package func send(_ bytes: [UInt8], isSealed: Bool, fromElsewhere: Bool = false) {
        // The tag of `NullSecurity`.
        var datagram = bytes + (isSealed ? withUnsafeBytes(of: UInt32(0x5AFE_5AFE)) { Array($0) } : [])
        receivedByteCount += datagram.count
        var span = datagram.mutableSpan
        var raw = span.mutableBytes
        victim.handle(
            datagram: &raw, path: fromElsewhere ? ICEPath(local: path.local, remote: Self.stranger) : path, now: now)
        drain()
    }

    package func wait(_ duration: Duration) {
        let end = now + duration
        for _ in 0..<10_000 {
            guard let deadline = victim.nextDeadline, deadline < end else { break }
            now = max(now, deadline)
            victim.handleTimeout(now: now)
            drain()
        }
        now = end
        _ = victim.popAudio(now: now)
        drain()
    }

    package func trickle(_ candidate: String) {
        victim.addRemoteCandidate(candidate, now: now)
        drain()
    }

    /// The peer's offer with some bytes replaced: the first one says where, the others by what.
    package func offerAgain(changing bytes: [UInt8]) {
        guard let offer = try? peer.makeOffer() else { return }
        var text = Array(offer.utf8)
        if let first = bytes.first {
            let at = Int(first) * text.count / 256
            text.replaceSubrange(at..<min(text.count, at + bytes.count - 1), with: bytes.dropFirst())
        }
        _ = try? victim.answer(offer: String(decoding: text, as: UTF8.self), now: now)
        peer.rollback()
        drain()
    }

    /// A picture or sound of the victim's, where it is the sender.
    package func publish(_ frame: PacketizedFrame, isVideo: Bool) {
        if isVideo {
            _ = victim.sendVideo(frame, captureTime: now, now: now)
        } else {
            _ = victim.sendAudio(frame, captureTime: now, now: now)
        }
        drain()
    }

    // MARK: What must hold

    /// Nothing that one datagram sets off is out of all proportion.
    func check() throws(FuzzFailure) {
        try FuzzFailure.check(sentByteCount < 512 << 10, "one datagram was answered with \(sentByteCount) bytes")
        sentByteCount = 0
    }

    private func drain() {
        var buffer = [UInt8](repeating: 0, count: 2_048)
        for _ in 0..<10_000 {
            var span = buffer.mutableSpan
            var raw = span.mutableBytes
            guard let transmit = victim.pollTransmit(into: &raw, now: now) else { break }
            sentByteCount += transmit.byteCount
            totalSentByteCount += transmit.byteCount
        }
        while victim.pollEvent() != nil { eventCount += 1 }
        while victim.pollVideoFrame(now: now) != nil { framesTaken += 1 }
    }
}
