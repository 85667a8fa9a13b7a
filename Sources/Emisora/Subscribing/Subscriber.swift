import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraVideo
import Synchronization

/// A stream that is received: decoded pictures and sound go to sinks on media threads.
///
/// The timestamps of pictures and of sound are of one clock, the machine's monotonic one, and say when each is to be seen
/// or heard; what was captured together has the same, once the sender has told how its clocks go together. They rise in
/// the rhythm of capture, free of the network's jitter, so a recorder may take them as they are. By default pictures
/// reach the sink at that time, sound when the samples before it end.
///
/// ```swift
/// let subscriber = Subscriber(videoSink: myView)
/// try await session.subscribe(subscriber, to: "robot")
/// ```
public final class Subscriber: Sendable {
    let video: VideoReceivePipeline
    let audio: AudioReceivePipeline
    /// How the stream is received; fixed when the subscriber is made.
    public let options: Options
    private let hooks = Mutex(Hooks())
    let channels = DataChannelSet()

    private struct Hooks {
        var needsKeyFrame: (@Sendable () -> Void)?
        var onSelect: (@Sendable () -> Void)?
        var subscribedAt: Instant?
        var subscribesToVideo = true
        var subscribesToAudio = true
    }

    /// - Parameters:
    ///   - videoSink: gets each decoded picture; its timestamp is when it is to be shown, and its rotation says how to turn
    ///     it before that (``VideoConverter/upright(_:)``).
    ///   - audioSink: gets 20 ms of sound at a time; its timestamp is when its first sample is to be heard.
    ///   - options: when pictures come, how much delay they may have, and what sound is like.
    public init(
        videoSink: (any VideoFrameSink)? = nil, audioSink: (any AudioFrameSink)? = nil, options: Options = Options()
    ) {
        self.options = options
        let relay = Relay()
        video = VideoReceivePipeline(sink: videoSink, isTimed: options.playout == .synchronized) {
            relay.subscriber?.needKeyFrame()
        }
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

    /// Whether pictures are wanted; may be changed at any time, from any thread. The connection stays as it is. An Emisora
    /// publisher sends none while this is `false`; those of others are received and thrown away.
    public var subscribesToVideo: Bool {
        get { hooks.withLock { $0.subscribesToVideo } }
        set { select { $0.subscribesToVideo = newValue } }
    }

    /// Whether sound is wanted, as ``subscribesToVideo``.
    public var subscribesToAudio: Bool {
        get { hooks.withLock { $0.subscribesToAudio } }
        set { select { $0.subscribesToAudio = newValue } }
    }

    private func select(_ change: (inout Hooks) -> Void) {
        let onSelect = hooks.withLock { hooks in
            change(&hooks)
            return hooks.onSelect
        }
        onSelect?()
    }

    func begin(
        needsKeyFrame: @escaping @Sendable () -> Void, onSelect: @escaping @Sendable () -> Void
    ) throws(SessionError) {
        guard video.start(), audio.start() else {
            throw .invalidState("The subscriber is in use already; make another one for another stream.")
        }
        hooks.withLock { hooks in
            hooks.needsKeyFrame = needsKeyFrame
            hooks.onSelect = onSelect
            hooks.subscribedAt = MonotonicClock.now
        }
    }

    func end() {
        hooks.withLock { hooks in
            hooks.needsKeyFrame = nil
            hooks.onSelect = nil
        }
        video.stop()
        audio.stop()
    }

    private func needKeyFrame() {
        hooks.withLock { $0.needsKeyFrame }?()
    }

    /// Makes a data channel with the publisher, also before the subscription, with which it then opens: ask for the first
    /// before, or set ``Options/usesDataChannels``, so that the connection has them. It takes them where
    /// ``Publisher/Options/usesDataChannels`` is set; else the channel is closed.
    ///
    /// - Throws: ``DataChannel/Failure/textTooLong(limit:)``, ``DataChannel/Failure/tooManyChannels(limit:)``.
    public func makeDataChannel(
        label: String, options: DataChannel.Options = DataChannel.Options()
    ) throws(DataChannel.Failure) -> DataChannel {
        try channels.make(label: label, options: options)
    }

    /// Data channels that the publisher opens, each once; the newest 64 wait to be seen.
    public var dataChannels: AsyncStream<DataChannel> { channels.incoming }

    var wantsDataChannels: Bool { options.usesDataChannels || channels.isWanted }

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
    private let begunAt: Instant
    /// Pictures were passed over: those that follow are of use from a key frame on.
    private var awaitsKeyFrame = false

    init(subscriber: Subscriber, peer: Peer, now: Instant) {
        self.subscriber = subscriber
        self.peer = peer
        begunAt = now
        var options = PlayoutOptions()
        options.isSynchronized = subscriber.options.playout == .synchronized
        options.minimumDelay = subscriber.options.jitterBufferTarget
        options.maximumDelay = subscriber.options.maximumJitterDelay
        peer.engine.playoutOptions = options
    }

    /// When the sender was last known to be there: by media, or by a report on it.
    var lastHeardAt: Instant { max(begunAt, peer.engine.lastHeardAt ?? begunAt) }

    /// Fetches the frames that are complete and due.
    func advance(now: Instant) {
        let isWanted = subscriber.subscribesToVideo
        while let frame = peer.engine.pollVideoFrame(now: now) {
            guard subscriber.options.decodes else { continue }
            guard isWanted, frame.isKeyFrame || !awaitsKeyFrame else {
                awaitsKeyFrame = true
                // Wanted again before the session heard that they were not: nobody else asks for it.
                if isWanted { peer.engine.requestKeyFrame(now: now) }
                continue
            }
            awaitsKeyFrame = false
            subscriber.video.push(frame)
            peer.engine.setVideoProcessingDelay(subscriber.video.processingDelay)
        }
        if nextAudioAt == nil, peer.engine.connectionState == .connected { nextAudioAt = now }
    }

    /// The player's beat: what is heard is fetched every 20 ms, whether packets come or not.
    func turn(now: Instant) {
        while let due = nextAudioAt, due <= now {
            if let output = peer.engine.popAudio(now: due), subscriber.subscribesToAudio, subscriber.options.decodes {
                subscriber.audio.push(output, timestamp: due)
            }
            // Far behind, as after a suspended machine, the beat starts anew.
            nextAudioAt = now - due > .seconds(1) ? now + Self.audioInterval : due + Self.audioInterval
        }
    }

    var nextDeadline: Instant? { nextAudioAt }
}
