import EmisoraCapture
import EmisoraVideo

/// Captures an X11 screen, one of its monitors, or one window.
///
/// ```swift
/// let capture = try ScreenCapture(.windowTitled("Presentation"), frameRate: 15)
/// try await session.publish(Publisher(videoCapture: capture))
/// ```
///
/// Pictures follow damage: a screen that does not change is not grabbed. Its last picture comes again every
/// `keepAlive`, so that viewers who come late get one. On a local server frames lie on memory shared with it (MIT-SHM)
/// and are not copied; from a remote one they come over the connection.
///
/// Frames are BGRA (RGBA or ARGB, where a server has its pixels so) and as large as what is captured; their size
/// follows it, and so does ``format``. Opacity has no meaning in them. A window is captured without its frame, also
/// while others cover it; while it is minimised its last picture stays. In a Wayland session only windows of X11
/// programs can be captured.
///
/// All work is done on a thread of the capturer's own. When the source ends by itself (the window is closed, the server
/// quits), ``isCapturing`` becomes false and ``failure`` says why.
public final class ScreenCapture: VideoCapture {
    /// The highest rate that can be asked for.
    public static let highestFrameRate: FrameRate = 240

    public var contentHint: VideoContentHint { .text }
    private let options: ScreenOptions
    private let runner = CaptureRunner()
    /// Of the run under way, or the last one.
    private let latestFormat: Monitor<VideoFormat>

    /// Looks that the source is there; nothing is held yet. Blocks while it asks the X server.
    ///
    /// - Parameters:
    ///   - display: Such as `:0`; `nil` for the one that the environment variable `DISPLAY` names.
    ///   - frameRate: The most pictures a second, up to ``highestFrameRate``.
    ///   - showsCursor: Whether the mouse cursor is drawn into the pictures.
    ///   - keepAlive: After how long without change the last picture comes again, one second to a day.
    public init(
        _ source: ScreenSource = .screen, display: String? = nil, frameRate: FrameRate = 30, showsCursor: Bool = true,
        keepAlive: Duration = .seconds(1)
    ) throws(ScreenError) {
        guard frameRate <= Self.highestFrameRate else {
            throw .invalidOption("frame rate \(frameRate): at most \(Self.highestFrameRate) pictures a second")
        }
        guard keepAlive >= .seconds(1), keepAlive <= .seconds(86_400) else {
            throw .invalidOption("keepAlive \(keepAlive): must be 1 to 86400 seconds")
        }
        options = ScreenOptions(
            source: source, display: display, frameRate: frameRate, showsCursor: showsCursor, keepAlive: keepAlive)
        latestFormat = Monitor(
            try askServer { () throws(ScreenError) in
                try TrackedSource(try XConnection(display: display), source).format(frameRate: frameRate)
            })
    }

    public var format: VideoFormat { latestFormat.withLock { $0 } }
    public var isCapturing: Bool { runner.isCapturing }

    /// Why capturing ended by itself, if it did, since the last `start`.
    public var failure: ScreenError? {
        guard case .custom(let error)? = runner.failure else { return nil }
        return error as? ScreenError
    }

    /// - Throws: `CaptureError.custom` with a ``ScreenError``.
    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try runner.start(into: consumer) { [options, latestFormat] run throws(CaptureError) in
            do throws(ScreenError) {
                try Self.capture(options, run, into: consumer) { format in latestFormat.withLock { $0 = format } }
            } catch {
                throw .custom(error)
            }
        }
    }

    public func stop() {
        runner.stop()
    }

    /// All talk with the X server, on the run's thread.
    private static func capture(
        _ options: ScreenOptions, _ run: CaptureRun, into consumer: VideoCaptureConsumer,
        report: (VideoFormat) -> Void
    ) throws(ScreenError) {
        blockBrokenPipeSignal()
        let connection = try XConnection(display: options.display)
        // Wakes this thread from all waits for the server.
        run.onStop { connection.shutDown() }
        let loop = try ScreenLoop(connection, options, consumer)
        report(loop.format)
        guard run.begin() else { return }
        try loop.run(isOver: { run.isStopRequested }, report: report)
    }

    // MARK: What there is

    /// The monitors of a display. Blocks while it asks the X server.
    public static func monitors(display: String? = nil) throws(ScreenError) -> [ScreenMonitor] {
        try askServer { () throws(ScreenError) in try XConnection(display: display).monitors() }
    }

    /// The windows of a display that a person would call so, minimised ones too. Blocks while it asks the X server.
    public static func windows(display: String? = nil) throws(ScreenError) -> [ScreenWindow] {
        try askServer { () throws(ScreenError) in try XConnection(display: display).windows() }
    }
}
