import EmisoraSignalingClient
import EmisoraSignalingProtocol
import Testing

@testable import Emisora

/// Signaling between two sessions of one process from which all UDP candidates vanish, as if a firewall let none through.
private final class TCPOnlyChannel: SignalingChannel {
    let usualOfferer: Offerer
    private let inner: LoopbackChannel

    init(_ inner: LoopbackChannel, offerer: Offerer) {
        self.inner = inner
        usualOfferer = offerer
    }

    func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) { inner.open(onEvent: onEvent) }
    func close() { inner.close() }

    func send(_ message: SignalingMessage) {
        switch message {
        case .subscribe(let subscription, let stream, let sdp):
            inner.send(.subscribe(subscription: subscription, stream: stream, sdp: Self.filtered(sdp)))
        case .offer(let subscription, let sdp):
            inner.send(.offer(subscription: subscription, sdp: Self.filtered(sdp)))
        case .answer(let subscription, let sdp):
            inner.send(.answer(subscription: subscription, sdp: Self.filtered(sdp)))
        default: inner.send(message)
        }
    }

    private static func filtered(_ sdp: String) -> String {
        guard !sdp.isEmpty else { return sdp }
        let lines = sdp.split(separator: "\r\n").filter { !$0.hasPrefix("a=candidate:") || $0.contains(" tcp ") }
        return lines.joined(separator: "\r\n") + "\r\n"
    }
}

@Suite(.serialized) struct TCPCallTests {
    @Test(arguments: Offerer.allCases)
    func whereNoUDPGetsThroughPicturesComeOverTCP(offerer: Offerer) async throws {
        let (first, second) = LoopbackChannel.pair()
        let options = Session.Options(addresses: .loopback)
        let publishing = try await Session.open(TCPOnlyChannel(first, offerer: offerer), options)
        let receiving = try await Session.open(TCPOnlyChannel(second, offerer: offerer), options)
        try await publishing.publish(
            Publisher(name: "main", videoCapture: PatternCapture(width: 320, height: 240), audioCapture: ToneCapture()))
        let collector = Collector()
        try await receiving.subscribe(
            Subscriber(videoSink: collector, audioSink: collector), to: "main", offerer: offerer)
        try await eventually("pictures arrive") { collector.snapshot.marks.count >= 20 }
        try await eventually("sound arrives") { collector.snapshot.peakLevel > 0.01 }
        let received = await receiving.statistics().subscribers.first?.transport.selectedCandidatePair
        #expect(received?.local.protocol == "tcp" && received?.remote.protocol == "tcp")
        await publishing.disconnect()
        await receiving.disconnect()
        let numbers = collector.snapshot.marks.map(\.frameNumber)
        let isRising = zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
        #expect(isRising)
    }
}
