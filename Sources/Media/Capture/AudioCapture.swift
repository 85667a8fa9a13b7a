import EmisoraAudio

/// A source of sound; the same shape as ``VideoCapture``, with the same rules for its methods.
public protocol AudioCapture: AnyObject, Sendable {
    /// What frames will sound like.
    var format: AudioFormat { get }

    /// True from a successful `start` until `stop`, or until the source ended by itself.
    var isCapturing: Bool { get }

    /// Takes hold of the device or file and begins to hand frames to `consumer`.
    func start(into consumer: AudioCaptureConsumer) throws(CaptureError)

    /// Ends capturing and lets the resources go. Any thread, any number of times, also from within the capturer's own
    /// calls to the consumer. No frame arrives after it returned.
    func stop()
}
