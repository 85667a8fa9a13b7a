import EmisoraSignalingClient
import EmisoraSignalingProtocol
import EmisoraVideo
import Synchronization
import Testing

@testable import Emisora

/// Calls with receivers that ask for something, by what their descriptions say: as another stack would write them.
@Suite(.serialized) struct ReceiverWishesCallTests {
    /// The way to a room on which descriptions can be changed.
    private final class EditedChannel: SignalingChannel {
        let usualOfferer = Offerer.publisher
        private let channel: LoopbackChannel
        private let edit = Mutex<@Sendable (String) -> String>({ $0 })

        init(_ channel: LoopbackChannel) {
            self.channel = channel
        }

        /// What happens to the descriptions of subscriptions that are answered from now on.
        func change(_ edit: @escaping @Sendable (String) -> String) {
            self.edit.withLock { $0 = edit }
        }

        func open(onEvent: @escaping @Sendable (SignalingClientEvent) -> Void) { channel.open(onEvent: onEvent) }
        func close() { channel.close() }

        func send(_ message: SignalingMessage) {
            if case .answer(let subscription, let sdp) = message {
                channel.send(.answer(subscription: subscription, sdp: edit.withLock { $0 }(sdp)))
            } else {
                channel.send(message)
            }
        }
    }

    /// Pictures and sound as they come.
    private final class Sink: VideoFrameSink, AudioFrameSink {
        struct State {
            var sizes: [VideoSize] = []
            var rotations: [VideoRotation] = []
            var marks: [PatternMark?] = []
            var channels: Set<Int> = []
        }

        private let state = Mutex(State())

        func receive(_ frame: VideoFrame) {
            let mark = PatternReader.read(frame)
            state.withLock {
                $0.sizes.append(frame.size)
                $0.rotations.append(frame.rotation)
                $0.marks.append(mark)
            }
        }

        func receive(_ frame: AudioFrame) {
            state.withLock { _ = $0.channels.insert(frame.format.channels) }
        }

        var snapshot: State { state.withLock { $0 } }
        var lastSize: VideoSize? { state.withLock { $0.sizes.last } }
    }

    private struct Call {
        let publishing: Session
        let receiving: Session
        let channel: EditedChannel

        init(_ publisher: Publisher) async throws {
            let (first, second) = LoopbackChannel.pair()
            channel = EditedChannel(second)
            let options = Session.Options(addresses: .loopback)
            publishing = try await Session.open(first, options)
            receiving = try await Session.open(channel, options)
            try await publishing.publish(publisher)
        }

        /// Subscribes with a description that `edit` changed.
        func subscribe(
            _ sink: Sink, options: Subscriber.Options = .init(), _ edit: @escaping @Sendable (String) -> String = { $0 }
        ) async throws -> Subscriber {
            channel.change(edit)
            let subscriber = Subscriber(videoSink: sink, audioSink: sink, options: options)
            try await receiving.subscribe(subscriber, to: "main")
            return subscriber
        }

        func end() async {
            await publishing.disconnect()
            await receiving.disconnect()
        }
    }

    private static func asking(_ parameters: String) -> @Sendable (String) -> String {
        { $0.replacing("a=rtpmap:96 VP8/90000\r\n", with: "a=rtpmap:96 VP8/90000\r\na=fmtp:96 \(parameters)\r\n") }
    }

    private static let withoutOrientation: @Sendable (String) -> String = { sdp in
        sdp.split(separator: "\r\n").filter { !$0.contains("video-orientation") }.joined(separator: "\r\n") + "\r\n"
    }

    private static let full = VideoSize(width: 640, height: 480)

    @Test("RFC 7741 §6.1: a receiver is sent nothing larger than it can decode, and its limit goes when it leaves")
    func limitsComeAndGo() async throws {
        let call = try await Call(Publisher(videoCapture: PatternCapture()))
        let (large, small) = (Sink(), Sink())
        // As Firefox has it: more than there is.
        _ = try await call.subscribe(large, Self.asking("max-fs=12288;max-fr=60"))
        try await eventually("the first gets all") { large.lastSize == Self.full }
        #expect(await call.publishing.statistics().publishers[0].qualityLimitationReason == .none)
        let limited = try await call.subscribe(small, Self.asking("max-fs=300"))
        try await eventually("the second gets pictures") { small.snapshot.sizes.count >= 10 }
        try await eventually("so does the first") { large.lastSize == VideoSize(width: 320, height: 240) }
        #expect(await call.publishing.statistics().publishers[0].qualityLimitationReason == .other)
        await call.receiving.unsubscribe(limited)
        try await eventually("the first gets all again") { large.lastSize == Self.full }
        #expect(await call.publishing.statistics().publishers[0].qualityLimitationReason == .none)
        await call.end()
        // Not one, also of those that were encoded before it came.
        #expect(Set(small.snapshot.sizes) == [VideoSize(width: 320, height: 240)])
        #expect(small.snapshot.marks.allSatisfy { $0 != nil })
        #expect(large.snapshot.marks.allSatisfy { $0 != nil })
    }

    @Test func whoCanDecodeNextToNothingGetsNothingWhileOthersWatchAndAllItCanAlone() async throws {
        let call = try await Call(Publisher(videoCapture: PatternCapture()))
        let (large, tiny) = (Sink(), Sink())
        let other = try await call.subscribe(large)
        try await eventually("the first gets all") { large.lastSize == Self.full }
        _ = try await call.subscribe(tiny, Self.asking("max-fs=24"))
        try await eventually("what it does not get is counted") {
            await call.publishing.statistics().publishers[0].delivery.contains { $0.notSent(.unsuitable) >= 10 }
        }
        #expect(tiny.snapshot.sizes.isEmpty && large.lastSize == Self.full)
        await call.receiving.unsubscribe(other)
        try await eventually("alone it gets pictures") { !tiny.snapshot.sizes.isEmpty }
        await call.end()
        let isSmall = tiny.snapshot.sizes.allSatisfy { (($0.width + 15) / 16) * (($0.height + 15) / 16) <= 24 }
        #expect(isSmall)
    }

    @Test("RFC 8834 §5.2: pictures are turned by receivers where all of them can, else before they are encoded")
    func rotationIsSignalledOrMade() async throws {
        let publisher = Publisher(videoCapture: PatternCapture())
        publisher.videoRotation = .clockwise90
        let call = try await Call(publisher)
        let (able, unable) = (Sink(), Sink())
        _ = try await call.subscribe(able)
        try await eventually("the picture comes as it lies") { able.snapshot.rotations.last == .clockwise90 }
        #expect(able.lastSize == Self.full)
        let second = try await call.subscribe(unable, Self.withoutOrientation)
        try await eventually("the second gets it upright") { unable.snapshot.sizes.count >= 10 }
        try await eventually("as does the first") { able.snapshot.rotations.last == VideoRotation.none }
        #expect(able.lastSize == VideoSize(width: 480, height: 640))
        await call.receiving.unsubscribe(second)
        try await eventually("the first turns it itself again") { able.snapshot.rotations.last == .clockwise90 }
        // A camera that is turned while it runs.
        publisher.videoRotation = .clockwise270
        try await eventually("the turn is told") { able.snapshot.rotations.last == .clockwise270 }
        publisher.videoRotation = .none
        try await eventually("the way back, too") { able.snapshot.rotations.last == VideoRotation.none }
        await call.end()
        #expect(Set(unable.snapshot.rotations) == [VideoRotation.none])
        #expect(Set(unable.snapshot.sizes) == [VideoSize(width: 480, height: 640)])
        // What was turned before it was encoded shows so in its pixels.
        #expect(unable.snapshot.marks.allSatisfy { $0?.rotation == .clockwise270 })
        for (rotation, mark) in zip(able.snapshot.rotations, able.snapshot.marks) {
            let isUpright = mark?.rotation == VideoRotation.none
            #expect(isUpright || rotation == VideoRotation.none)
        }
    }

    @Test func stereoIsPlayedWhereItIsAskedFor() async throws {
        let call = try await Call(
            Publisher(videoCapture: nil, audioCapture: ToneCapture(format: .stereo)))
        let (one, two) = (Sink(), Sink())
        _ = try await call.subscribe(one)
        _ = try await call.subscribe(two, options: .init(audioChannels: 2))
        try await eventually("both hear it") { !one.snapshot.channels.isEmpty && !two.snapshot.channels.isEmpty }
        try await eventually("the sender tells how loud it is") {
            await call.receiving.statistics().subscribers.allSatisfy {
                ($0.announcedAudioLevel ?? 0) > 0.05 && $0.voiceActivity == true
            }
        }
        await call.end()
        #expect(one.snapshot.channels == [1] && two.snapshot.channels == [2])
    }

    @Test func boundsOfPlayoutReachTheReceiver() async throws {
        let call = try await Call(
            Publisher(
                videoCapture: PatternCapture(width: 320, height: 240),
                options: .init(playoutDelay: .milliseconds(10) ... .milliseconds(300))))
        let sink = Sink()
        _ = try await call.subscribe(sink)
        try await eventually("they are told") {
            await call.receiving.statistics().subscribers.first?.playoutDelay
                == .milliseconds(10) ... .milliseconds(300)
        }
        await call.end()
    }
}
