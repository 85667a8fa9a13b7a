import EmisoraVideo

/// A source of pictures: a camera, a screen, a file, a drawing — anything that can hand over frames.
///
/// A capturer that draws each picture needs no thread of its own, see ``PacedCapture``. One with its own thread:
///
/// ```swift
/// final class MyCamera: VideoCapture {
///     let format = VideoFormat(.nv12, width: 1280, height: 720, frameRate: 30)
///     var isCapturing: Bool { … }
///     func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
///         // start a thread that, for each picture, makes a frame and calls consumer.consume(frame)
///     }
///     func stop() { … }
/// }
/// ```
///
/// `start` and `stop` may block: they are called on a thread made for that, never on the network's.
public protocol VideoCapture: AnyObject, Sendable {
    /// What frames will look like. They may differ, and change their size on the way.
    var format: VideoFormat { get }

    /// What the pictures show. ``VideoContentHint/none`` unless implemented.
    var contentHint: VideoContentHint { get }

    /// True from a successful `start` until `stop`, or until the source ended by itself.
    var isCapturing: Bool { get }

    /// Takes hold of the device or file and begins to hand frames to `consumer`.
    ///
    /// - Throws: ``CaptureError/alreadyCapturing`` when capturing; ``CaptureError/stopped`` if `stop` came meanwhile;
    ///   whatever else keeps it from starting, with ``CaptureError/custom(_:)`` for errors of your own. Nothing is held
    ///   after an error.
    func start(into consumer: VideoCaptureConsumer) throws(CaptureError)

    /// Ends capturing and lets the resources go. Any thread, any number of times, also from within the capturer's own
    /// calls to the consumer. No frame arrives after it returned.
    func stop()
}

extension VideoCapture {
    public var contentHint: VideoContentHint { .none }
}
