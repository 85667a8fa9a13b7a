import EmisoraVideo
import Synchronization

/// Captures from a camera that the kernel knows (Video4Linux): it chooses the mode, hands pictures on without a copy,
/// and takes the camera up again when it was away.
///
/// ```swift
/// let camera = CameraCapture(wish: CameraWish(width: 1280, height: 720, frameRate: 30)) { event in print(event) }
/// let publisher = Publisher(name: "door", videoCapture: camera)
/// ```
///
/// Pictures are in the camera's own format: NV12, I420 or packed 4:2:2 as they come, Motion JPEG decoded to I420. Their
/// timestamps are the driver's, of the start of exposure. While the camera is away (unplugged, stalled, failed) the
/// stream goes on with what ``CameraOptions/whileAway`` says, and the same camera is taken up again when it is back,
/// whatever number its node then has.
///
/// When fewer pictures are wanted (``VideoCaptureConsumer/wants``), those beyond are given back to the driver as they
/// are, neither decoded nor copied, and count as ``DropReason/adaptation``. The camera's own mode stays: another rate or
/// size means stopping the stream, for a third of a second and longer with many cameras, and what the network can carry
/// changes within seconds. Pictures larger than wanted are scaled down later for the same reason.
///
/// Source: V4L2 API, streaming I/O with memory mapping.
public final class CameraCapture: VideoCapture {
    /// What is asked of the camera.
    public let options: CameraOptions
    let system: any V4L2System
    private let onEvent: @Sendable (CameraEvent) -> Void
    private let target: Mutex<Target>
    private let current = Mutex(Current())
    /// Held while a run starts, so that two do not.
    private let starting = Mutex(())
    private let negotiated: Negotiated
    private let latest = Latest()

    private struct Current: Sendable {
        /// From the moment that it opens its camera, so that a stop finds it.
        var run: CameraRun?
        /// Calls of ``CameraCapture/stop()`` so far.
        var stops = 0
    }

    private struct Target: Sendable {
        var name: String?
        var wish: CameraWish
    }

    private final class Negotiated: Sendable {
        let format: Mutex<VideoFormat>

        init(_ format: VideoFormat) {
            self.format = Mutex(format)
        }
    }

    /// - Parameters:
    ///   - device: A node's path such as `/dev/video0`, a bus path, or a card's name; `nil` for the first camera that
    ///     can be had: one in use, or without pictures to decode, is passed over.
    ///   - wish: Size and rate; what is left open is chosen.
    ///   - onEvent: Told what happens, on the capturer's thread; must not block.
    public convenience init(
        device: String? = nil, wish: CameraWish = CameraWish(), options: CameraOptions = CameraOptions(),
        onEvent: @escaping @Sendable (CameraEvent) -> Void = { _ in }
    ) {
        self.init(device: device, wish: wish, options: options, system: LinuxV4L2(), onEvent: onEvent)
    }

    /// As the other, and writes the whole session with the driver to a file, for ``init(replaying:wish:options:onEvent:)``.
    ///
    /// - Parameter pixels: Whether the pictures are written, too: megabytes each.
    public convenience init(
        device: String? = nil, wish: CameraWish = CameraWish(), options: CameraOptions = CameraOptions(),
        recordingTo path: String, pixels: Bool = false,
        onEvent: @escaping @Sendable (CameraEvent) -> Void = { _ in }
    ) throws(CaptureError) {
        self.init(
            device: device, wish: wish, options: options,
            system: try V4L2Recorder(LinuxV4L2(), withPixels: pixels, path: path), onEvent: onEvent)
    }

    /// Plays a recorded session without its camera, as fast as pictures are taken; with the wish that was recorded it
    /// takes the same course. After its end no picture comes any more.
    ///
    /// - Throws: ``CaptureError/custom(_:)`` with a ``V4L2RecordingError`` that names the line.
    public convenience init(
        replaying path: String, device: String? = nil, wish: CameraWish = CameraWish(),
        options: CameraOptions = CameraOptions(), onEvent: @escaping @Sendable (CameraEvent) -> Void = { _ in }
    ) throws(CaptureError) {
        self.init(
            device: device, wish: wish, options: options, system: try V4L2Replay(path: path), onEvent: onEvent)
    }

    package init(
        device: String?, wish: CameraWish, options: CameraOptions = CameraOptions(), system: any V4L2System,
        onEvent: @escaping @Sendable (CameraEvent) -> Void = { _ in }
    ) {
        self.options = options
        self.system = system
        let latest = latest
        self.onEvent = { event in
            if case .modeChosen(_, let camera, _) = event { latest.identity.withLock { $0 = camera } }
            onEvent(event)
        }
        target = Mutex(Target(name: device, wish: wish))
        negotiated = Negotiated(
            VideoFormat(
                .nv12, width: wish.width ?? 640, height: wish.height ?? 480, frameRate: wish.frameRate ?? 30))
    }

    /// The camera that was opened last.
    private final class Latest: Sendable {
        let identity = Mutex<CameraIdentity?>(nil)
    }

    /// The camera that pictures come from, or came from last; `nil` before the first start.
    var latestIdentity: CameraIdentity? { latest.identity.withLock { $0 } }

    /// What the next start opens, and how.
    var next: (name: String?, wish: CameraWish) { target.withLock { ($0.name, $0.wish) } }

    deinit {
        current.withLock { $0.run }?.requestStop()
    }

    /// What the driver really set. Before the first start, what was wished for.
    public var format: VideoFormat { negotiated.format.withLock { $0 } }

    /// A camera shows what moves.
    public var contentHint: VideoContentHint { .motion }

    public var isCapturing: Bool { current.withLock { $0.run }?.isRunning ?? false }

    /// Opens the camera and begins.
    ///
    /// - Throws: ``CaptureError/custom(_:)`` with a ``CameraError``, ``CaptureError/invalidOption(_:)``,
    ///   ``CaptureError/alreadyCapturing``. ``CameraError/stopped`` if ``stop()`` was called meanwhile.
    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try options.check()
        let stops = current.withLock { $0.stops }
        try starting.withLock { _ throws(CaptureError) in
            let former = current.withLock { $0.run }
            guard former?.isRunning != true else { throw .alreadyCapturing }
            // One that was told to stop on its own thread may still be letting go of the camera.
            former?.stop()
            let target = target.withLock { $0 }
            let negotiated = negotiated
            let run = try CameraRun(
                system: system, options: options, wish: target.wish, consumer: consumer, onEvent: onEvent,
                onFormat: { format in negotiated.format.withLock { $0 = format } })
            try current.withLock { current throws(CaptureError) in
                // A stop that came before there was anything to stop.
                guard current.stops == stops else { throw .custom(CameraError.stopped) }
                current.run = run
            }
            try run.start(target.name)
        }
    }

    /// Ends capturing. A ``start(into:)`` that is under way ends, too, with an error: this waits for it, so that nothing
    /// is held and nothing captures when it returns. A driver that is slow to answer holds up both.
    public func stop() {
        let run = current.withLock { current in
            current.stops &+= 1
            return current.run
        }
        run?.stop()
    }

    /// Goes over to another camera. While capturing, the stream goes on: the other camera is opened before this one is
    /// let go. Otherwise it is what the next start opens.
    ///
    /// - Parameters:
    ///   - device: As in ``init(device:wish:options:onEvent:)``.
    ///   - wish: `nil` for the present one.
    /// - Throws: As ``start(into:)``; then the present camera goes on. Not to be called from within `onEvent`.
    public func switchCamera(to device: String?, wish: CameraWish? = nil) throws(CaptureError) {
        var next = target.withLock { $0 }
        next.name = device
        next.wish = wish ?? next.wish
        if let run = current.withLock({ $0.run }), run.isRunning {
            try run.switchCamera(to: next.name, wish: next.wish)
        } else {
            // Its controls are those to set from now on.
            latest.identity.withLock { $0 = nil }
        }
        target.withLock { $0 = next }
    }
}
