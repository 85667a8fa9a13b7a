import EmisoraSignalingClient
import EmisoraSignalingProtocol
import Synchronization
import Testing

@testable import Emisora

/// Re-offers by a peer, through a session's own signaling: hold, resume, media that are taken away, glare.
@Suite(.serialized) struct ReofferTests {
    /// Stands between a receiving session and its room, so that a test can speak in its place.
    private final class Interposed: SignalingChannel {
        let usualOfferer = Offerer.subscriber
        private let room: LoopbackChannel
        private struct State {
            var offer: (subscription: String, sdp: String)?
            var answers: [String] = []
            var offersHeard = 0
            /// Answers to what the test said, which the session did not ask for.
            var isSpeaking = false
        }
        private let state = Mutex(State())

        init(_ room: LoopbackChannel) {
            self.room = room
        }

        func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) {
            room.open { [self] event in
                if case .message(.answer(_, let sdp)) = event {
                    let isOurs = state.withLock { state in
                        state.answers.append(sdp)
                        return state.isSpeaking
                    }
                    if isOurs { return }
                }
                onEvent(event)
            }
        }

        func send(_ message: SignalingMessage) {
            if case .subscribe(let id, _, let sdp) = message { state.withLock { $0.offer = (id, sdp) } }
            room.send(message)
        }

        func close() { room.close() }

        /// Offers anew what the session offered, changed.
        func reoffer(_ change: (String) -> String) {
            guard let offer = state.withLock({ $0.offer }) else { return }
            state.withLock { $0.isSpeaking = true }
            room.send(.offer(subscription: offer.subscription, sdp: change(offer.sdp)))
        }

        var answers: [String] { state.withLock { $0.answers } }
    }

    /// Waits until a second's worth of pictures was made and held back.
    private static func waitForHold(_ publishing: Session) async throws {
        func heldBack() async -> Int {
            await publishing.statistics().publishers.first?.delivery.reduce(0) { $0 + $1.notSent(.paused) } ?? 0
        }
        let before = await heldBack()
        try await eventually("pictures are held back") { await heldBack() >= before + 30 }
    }

    @Test func aViewerHoldsResumesAndTakesPicturesAway() async throws {
        let (first, second) = LoopbackChannel.pair()
        let options = Session.Options(addresses: .loopback)
        let publishing = try await Session.open(first, options)
        let interposed = Interposed(second)
        let receiving = try await Session.open(interposed, options)
        try await publishing.publish(
            Publisher(videoCapture: PatternCapture(width: 160, height: 120), audioCapture: ToneCapture()))
        let collector = Collector()
        let subscriber = Subscriber(videoSink: collector, audioSink: collector)
        try await receiving.subscribe(subscriber, to: "main", offerer: .subscriber)
        try await eventually("pictures arrive") { collector.snapshot.marks.count >= 10 }

        interposed.reoffer { $0.replacing("a=recvonly", with: "a=inactive") }
        try await Self.waitForHold(publishing)
        #expect(interposed.answers.last?.contains("a=inactive") == true)
        #expect(await publishing.statistics().publishers.first?.subscriberCount == 1)
        let held = collector.snapshot.frames
        try await Self.waitForHold(publishing)
        #expect(collector.snapshot.frames == held)

        interposed.reoffer { $0 }
        try await eventually("pictures come again") { collector.snapshot.frames > held + 10 }
        // The same source goes on: the receiver lost nothing and began with a key frame.
        let statistics = try #require(await receiving.statistics().subscribers.first)
        #expect(statistics.packetsLost <= 0)

        interposed.reoffer { $0.replacing("m=video 9", with: "m=video 0") }
        try await Self.waitForHold(publishing)
        let samples = await receiving.statistics().subscribers.first?.totalSamplesReceived ?? 0
        try await eventually("sound goes on") {
            await receiving.statistics().subscribers.first?.totalSamplesReceived ?? 0 > samples + 9_600
        }
        #expect(interposed.answers.last?.contains("m=video 0 ") == true)
        await publishing.disconnect()
        await receiving.disconnect()
    }
}
