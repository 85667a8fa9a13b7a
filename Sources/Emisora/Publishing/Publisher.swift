import EmisoraCapture
import EmisoraCore
import EmisoraPeerEngine
import EmisoraSignalingProtocol
import EmisoraVideo
import Synchronization

/// A stream that is published: a picture source, a sound source, and what is made of them.
///
/// ```swift
/// let publisher = Publisher(name: "robot", videoCapture: NoiseCapture(), audioCapture: ToneCapture())
/// let session = try await Session.connect(to: "ws://127.0.0.1:8080/demo")
/// try await session.publish(publisher)
/// ```
///
/// Its properties may be changed at any time, from any thread, also while it is published. It is encoded once for all
/// subscribers, and not at all while there are none. A publisher belongs to one session at a time.
public final class Publisher: Sendable {
    public struct Options: Sendable {
        public var videoBitrate: DataRate
        public var audioBitrate: DataRate
        /// What the rate control reckons with; `nil`: the capturer's rate.
        public var maximumFramesPerSecond: Double?
        /// Bounds for the time from capture to display that receivers are asked to keep to, 0 to 40.95 s in steps of
        /// 10 ms (the RTP header extension `playout-delay`); `nil`: as they like. 0…0 asks for pictures as soon as they
        /// come, at the price of evenness.
        public var playoutDelay: ClosedRange<Duration>?
        /// Sizes in which a peer that takes simulcast, such as an SFU, may have the pictures, in the order of the offer;
        /// empty: one. All others get the first in full size. See ``VideoEncoding``.
        public var encodings: [VideoEncoding]
        /// Whether subscribers may open data channels, which come by ``Publisher/dataChannels``. Without it SCTP is never
        /// spoken with anybody.
        public var usesDataChannels: Bool

        public init(
            videoBitrate: DataRate = .kilobitsPerSecond(1_500), audioBitrate: DataRate = .kilobitsPerSecond(32),
            maximumFramesPerSecond: Double? = nil, playoutDelay: ClosedRange<Duration>? = nil,
            encodings: [VideoEncoding] = [], usesDataChannels: Bool = false
        ) {
            self.videoBitrate = videoBitrate
            self.audioBitrate = audioBitrate
            self.maximumFramesPerSecond = maximumFramesPerSecond
            self.playoutDelay = playoutDelay
            self.encodings = encodings
            self.usesDataChannels = usesDataChannels
        }
    }

    private struct State {
        var videoCapture: (any VideoCapture)?
        var videoBitrate: DataRate
        var videoRotation = VideoRotation.none
        var publishesVideo = true
        var publishesAudio = true
        var isPublished = false
        var receivers = (video: 0, audio: 0)
        var onEvent: (@Sendable (PublisherEvent) -> Void)?
        var onEncoded: (@Sendable () -> Void)?
    }

    /// What happens beside the calls; the session turns it into its own events.
    enum PublisherEvent: Sendable {
        case captureFailed(CaptureError)
        case captureReported(TrackKind, CaptureReport)
        case propertiesChanged
    }

    /// The stream's name in the room.
    public let name: String
    public let options: Options
    public let audioCapture: (any AudioCapture)?

    let video: VideoPipeline?
    let audio: AudioPipeline?
    private let state: Mutex<State>
    /// Held while the pipelines are told what `state` says: calls come from the application's threads and the session's, and
    /// the last word must be the newest.
    private let mode = Mutex(())
    private let relay: Relay
    private let control = CaptureControl()
    let channels = DataChannelSet()

    /// - Parameter name: `[A-Za-z0-9_-]{1,64}`.
    public init(
        name: String = "main", videoCapture: (any VideoCapture)?, audioCapture: (any AudioCapture)? = nil,
        options: Options = Options()
    ) {
        self.name = name
        self.options = options
        self.audioCapture = audioCapture
        state = Mutex(State(videoCapture: videoCapture, videoBitrate: options.videoBitrate))
        let relay = Relay()
        self.relay = relay
        if let videoCapture {
            video = VideoPipeline(
                settings: .init(
                    targetBitrate: options.videoBitrate,
                    maximumFramesPerSecond: Self.rate(options, videoCapture), contentHint: videoCapture.contentHint,
                    sourceSize: videoCapture.format.size),
                encodings: options.encodings,
                onReport: { relay.publisher?.report(.captureReported(.video, $0)) },
                onShape: { relay.publisher?.report(.propertiesChanged) },
                didEncode: { relay.publisher?.encoded() })
        } else {
            video = nil
        }
        audio =
            audioCapture == nil
            ? nil
            : AudioPipeline(
                bitrate: options.audioBitrate, onReport: { relay.publisher?.report(.captureReported(.audio, $0)) },
                didEncode: { relay.publisher?.encoded() })
        relay.publisher = self
    }

    deinit {
        control.finish()
    }

    /// Breaks the circle between the publisher and its pipelines' callbacks.
    private final class Relay: Sendable {
        private struct Weak: @unchecked Sendable {
            // Invariant behind `@unchecked Sendable`: weak references may be read from any thread; the mutex guards it.
            weak var publisher: Publisher?
        }
        private let weak = Mutex(Weak())

        var publisher: Publisher? {
            get { weak.withLock { $0.publisher } }
            set { weak.withLock { $0.publisher = newValue } }
        }
    }

    private static func rate(_ options: Options, _ capture: any VideoCapture) -> Double {
        options.maximumFramesPerSecond ?? capture.format.frameRate?.framesPerSecond ?? 30
    }

    /// Whether a stream or a room may have this name: 1 to 64 of `A-Z a-z 0-9 _ -`, and none of those that paths of the
    /// signaling server have.
    public static func isAllowed(name: String) -> Bool { SignalingProtocol.isValid(name: name) }

    /// Data channels that subscribers open, each once; the newest 64 wait to be seen.
    ///
    /// ```swift
    /// let publisher = Publisher(name: "robot", videoCapture: camera, options: .init(usesDataChannels: true))
    /// try await session.publish(publisher)
    /// for await channel in publisher.dataChannels {
    ///     Task { for await message in channel.messages { steer(message) } }
    /// }
    /// ```
    public var dataChannels: AsyncStream<DataChannel> { channels.incoming }

    // MARK: What can change while publishing

    /// The picture source. A new one takes over without renegotiation; the old one is stopped first.
    public var videoCapture: (any VideoCapture)? {
        get { state.withLock { $0.videoCapture } }
        set {
            let (old, isPublished) = state.withLock { state in
                defer { state.videoCapture = newValue }
                return (state.videoCapture, state.isPublished)
            }
            report(.propertiesChanged)
            guard let video, isPublished else { return }
            control.perform { [self] in
                old?.stop()
                // What an old capturer hands over in spite of its stop belongs to nobody.
                video.consumer.close()
                // Only the newest of several changes in a row is started, and none after the end.
                guard let newValue, videoCapture === newValue, state.withLock({ $0.isPublished }) else { return }
                video.consumer.open()
                start(newValue, into: video)
            }
        }
    }

    /// The bitrate that the encoder aims at.
    public var videoBitrate: DataRate {
        get { state.withLock { $0.videoBitrate } }
        set {
            state.withLock { $0.videoBitrate = newValue }
            video?.update { $0.targetBitrate = newValue }
        }
    }

    /// How far pictures must be turned clockwise to stand upright, beside what they say of themselves: of a camera that
    /// is mounted sideways. Receivers turn them (`urn:3gpp:video-orientation`) where all can, else it is done before
    /// encoding.
    public var videoRotation: VideoRotation {
        get { state.withLock { $0.videoRotation } }
        set {
            state.withLock { $0.videoRotation = newValue }
            video?.update { $0.rotation = newValue }
            report(.propertiesChanged)
        }
    }

    /// Whether pictures are sent (`false` is W3C's `track.enabled = false`). The room is told
    /// (``SessionEvent/streamPropertyChanged(_:from:)``), nothing is negotiated. Capturing goes on, so that pictures come
    /// at once when this is `true` again, the first of them a key frame; meanwhile they count as ``DropReason/paused``.
    public var publishesVideo: Bool {
        get { state.withLock { $0.publishesVideo } }
        set {
            let changes = state.withLock { state in
                defer { state.publishesVideo = newValue }
                return state.publishesVideo != newValue
            }
            guard changes else { return }
            if newValue { video?.requestKeyFrames() }
            updateMode()
            report(.propertiesChanged)
        }
    }

    /// Whether sound is sent, or else silence, which takes next to nothing (DTX) and keeps the receivers' clocks going.
    public var publishesAudio: Bool {
        get { state.withLock { $0.publishesAudio } }
        set {
            let changes = state.withLock { state in
                defer { state.publishesAudio = newValue }
                return state.publishesAudio != newValue
            }
            guard changes else { return }
            mode.withLock { _ in audio?.setMuted(!state.withLock { $0.publishesAudio }) }
            report(.propertiesChanged)
        }
    }

    /// What there is for the room to know of the stream.
    var properties: StreamProperties {
        let (capture, sendsVideo, sendsAudio, turned) = state.withLock {
            ($0.videoCapture, $0.publishesVideo, $0.publishesAudio, $0.videoRotation)
        }
        let shape = video?.shape
        let size = capture == nil ? nil : shape?.size ?? capture?.format.size
        let isKnown = size.map { (1...16_383).contains($0.width) && (1...16_383).contains($0.height) } ?? false
        return StreamProperties(
            hasVideo: video != nil && capture != nil && sendsVideo, hasAudio: audio != nil && sendsAudio,
            width: isKnown ? size?.width : nil, height: isKnown ? size?.height : nil,
            rotation: ((shape?.rotation ?? .none) + turned).degrees,
            codecs: (video == nil ? [] : [Self.videoCodec]) + (audio == nil ? [] : [Self.audioCodec]))
    }

    private static let videoCodec = "VP8"
    private static let audioCodec = "opus"
    static let allCodecs = [videoCodec, audioCodec]

    /// Where every captured picture went.
    public var captureLedger: CaptureLedger { video?.consumer.ledger ?? CaptureLedger() }

    // MARK: For the session

    /// Starts threads and capturers. The first picture source is waited for, so that its failure is the caller's.
    func begin(
        onEvent: @escaping @Sendable (PublisherEvent) -> Void, onEncoded: @escaping @Sendable () -> Void
    ) async throws(SessionError) {
        let isFirst = state.withLock { state in
            guard !state.isPublished else { return false }
            state.isPublished = true
            state.receivers = (0, 0)
            state.onEvent = onEvent
            state.onEncoded = onEncoded
            return true
        }
        guard isFirst else { throw .invalidState("The publisher \(name) is published already.") }
        guard video?.start() ?? true, audio?.start() ?? true else {
            await end()
            throw .system("No thread could be started for the encoders.")
        }
        video?.consumer.open()
        audio?.consumer.open()
        updateMode()
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<CaptureError?, Never>) in
            control.perform { [self] in continuation.resume(returning: startCapturers()) }
        }
        if let failure {
            await end()
            throw .captureFailed(failure.description)
        }
    }

    private func startCapturers() -> CaptureError? {
        do throws(CaptureError) {
            if let video, let capture = videoCapture { try capture.start(into: video.consumer) }
            if let audio, let audioCapture { try audioCapture.start(into: audio.consumer) }
            return nil
        } catch {
            return error
        }
    }

    private func start(_ capture: any VideoCapture, into video: VideoPipeline) {
        do throws(CaptureError) {
            video.update {
                $0.maximumFramesPerSecond = Self.rate(options, capture)
                $0.contentHint = capture.contentHint
                $0.sourceSize = capture.format.size
            }
            try capture.start(into: video.consumer)
        } catch {
            report(.captureFailed(error))
        }
    }

    /// Stops capturers and threads, and waits for them.
    func end() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            control.perform { [self] in
                videoCapture?.stop()
                audioCapture?.stop()
                video?.stop()
                audio?.stop()
                state.withLock { state in
                    state.isPublished = false
                    state.onEvent = nil
                    state.onEncoded = nil
                }
                continuation.resume()
            }
        }
    }

    /// How many want pictures, and how many sound.
    func setReceivers(video: Int, audio: Int) {
        state.withLock { $0.receivers = (video, audio) }
        updateMode()
    }

    private func updateMode() {
        mode.withLock { _ in
            let (receivers, sendsVideo, isPublished) = state.withLock {
                ($0.receivers, $0.publishesVideo, $0.isPublished)
            }
            guard isPublished else { return }
            video?.consumer.setPaused(!sendsVideo)
            video?.consumer.setHasSubscribers(receivers.video > 0)
            audio?.consumer.setHasSubscribers(receivers.audio > 0)
        }
    }

    private func report(_ event: PublisherEvent) {
        state.withLock { $0.onEvent }?(event)
    }

    private func encoded() {
        state.withLock { $0.onEncoded }?()
    }
}
