import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraVideo
import Synchronization

/// A stream that is received: decoded pictures and sound go to sinks on media threads.
///
/// ```swift
/// let subscriber = Subscriber(videoSink: myView)
/// try await session.subscribe(subscriber, to: "robot")
/// ```
public final class Subscriber: Sendable {
    public struct Options: Sendable {
        /// Of the frames that the audio sink gets: 1, or 2, which asks the publisher for stereo (RFC 7587 §6.1 `stereo`).
        public var audioChannels: Int

        /// - Parameter audioChannels: other values are taken for the nearest of 1 and 2.
        public init(audioChannels: Int = 1) {
            self.audioChannels = min(2, max(1, audioChannels))
        }
    }

    public let options: Options
    let video: VideoReceivePipeline
    let audio: AudioReceivePipeline
    private let hooks = Mutex(Hooks())

    private struct Hooks {
        var needsKeyFrame: (@Sendable () -> Void)?
        var subscribedAt: Instant?
    }

    /// - Parameters:
    ///   - videoSink: gets each decoded picture; its timestamp is when its first packet arrived, and its rotation says
    ///     how to turn it before it is shown (``VideoConverter/upright(_:)``).
    ///   - audioSink: gets 20 ms of sound at a time.
    public init(
        videoSink: (any VideoFrameSink)? = nil, audioSink: (any AudioFrameSink)? = nil, options: Options = Options()
    ) {
        self.options = options
        let relay = Relay()
        video = VideoReceivePipeline(sink: videoSink) { relay.subscriber?.needKeyFrame() }
        audio = AudioReceivePipeline(sink: audioSink, channels: options.audioChannels)
        relay.subscriber = self
    }

    private final class Relay: Sendable {
        private struct Weak: @unchecked Sendable {
            // Invariant behind `@unchecked Sendable`: weak references may be read from any thread; the mutex guards it.
            weak var subscriber: Subscriber?
        }
        private let weak = Mutex(Weak())

        var subscriber: Subscriber? {
            get { weak.withLock { $0.subscriber } }
            set { weak.withLock { $0.subscriber = newValue } }
        }
    }

    func begin(needsKeyFrame: @escaping @Sendable () -> Void) throws(SessionError) {
        guard video.start(), audio.start() else {
            throw .invalidState("The subscriber is in use already; make another one for another stream.")
        }
        hooks.withLock { hooks in
            hooks.needsKeyFrame = needsKeyFrame
            hooks.subscribedAt = MonotonicClock.now
        }
    }

    func end() {
        hooks.withLock { $0.needsKeyFrame = nil }
        video.stop()
        audio.stop()
    }

    private func needKeyFrame() {
        hooks.withLock { $0.needsKeyFrame }?()
    }

    /// From the call of `subscribe` to the first decoded picture; `nil` before.
    public var timeToFirstFrame: Duration? {
        guard let start = hooks.withLock({ $0.subscribedAt }), let first = video.statistics.firstFrameDecodedAt else {
            return nil
        }
        return first - start
    }
}

/// What ties a subscriber to its peer connection on the network thread.
final class Reception: TurnParticipant {
    private static let audioInterval: Duration = .milliseconds(20)

    let subscriber: Subscriber
    let peer: Peer
    private var nextAudioAt: Instant?
    private(set) var lastPictureAt: Instant

    init(subscriber: Subscriber, peer: Peer, now: Instant) {
        self.subscriber = subscriber
        self.peer = peer
        lastPictureAt = now
    }

    /// Fetches the frames that became complete.
    func advance(now: Instant) {
        while let frame = peer.engine.pollVideoFrame(now: now) {
            lastPictureAt = now
            subscriber.video.push(frame, timestamp: frame.firstPacketReceivedAt)
        }
        if nextAudioAt == nil, peer.engine.connectionState == .connected { nextAudioAt = now }
    }

    /// The player's beat: what is heard is fetched every 20 ms, whether packets come or not.
    func turn(now: Instant) {
        while let due = nextAudioAt, due <= now {
            if let output = peer.engine.popAudio(now: due) { subscriber.audio.push(output, timestamp: due) }
            // Far behind, as after a suspended machine, the beat starts anew.
            nextAudioAt = now - due > .seconds(1) ? now + Self.audioInterval : due + Self.audioInterval
        }
    }

    var nextDeadline: Instant? { nextAudioAt }
}
