import EmisoraVideo

/// A source of pictures: a camera, a screen, a file, a renderer, or whatever you write.
///
/// Between `start` and `stop` it hands frames to the consumer from any one thread at a time. `start` and `stop` may
/// block; they are called on a thread made for that, never on the network's.
///
/// ```swift
/// final class Gradient: VideoCapture {
///     let format = try! VideoFormat(.i420, width: 640, height: 480, frameRate: .fps30)
///     private let pace = PacedCapture(rate: .fps30)
///     var isCapturing: Bool { pace.isRunning }
///     func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
///         try pace.start { [format] tick in
///             var frame = consumer.makeFrame(format)
///             …
///             consumer.consume(frame.finish(timestamp: tick.timestamp))
///         }
///     }
///     func stop() { pace.stop() }
/// }
/// ```
public protocol VideoCapture: AnyObject, Sendable {
    /// What the frames will be like; they may still differ one by one.
    var format: VideoFormat { get }
    /// What the pictures show. Default: `.none`.
    var contentHint: VideoContentHint { get }
    var isCapturing: Bool { get }

    /// Opens what is needed and begins to hand frames to `consumer`.
    func start(into consumer: VideoCaptureConsumer) throws(CaptureError)
    /// Ends capturing and frees what `start` opened. May be called at any time, from any thread, repeatedly; no frame
    /// arrives after it has returned.
    func stop()
}

extension VideoCapture {
    public var contentHint: VideoContentHint { .none }
}
