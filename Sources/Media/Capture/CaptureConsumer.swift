import EmisoraVideo

/// What consumers of pictures and of sound have in common for capturers.
package protocol CaptureConsumer<Frame>: AnyObject, Sendable {
    associatedtype Frame: Sendable

    /// The most frames a second that are of use; `nil` is any number.
    var wantedFrameRate: FrameRate? { get }

    @discardableResult
    func consume(_ frame: Frame) -> ConsumeResult
    func didDrop(_ reason: DropReason, count: Int)
    func didEnd(_ error: CaptureError?)
}

extension VideoCaptureConsumer: CaptureConsumer {
    package var wantedFrameRate: FrameRate? { wants.highestFrameRate }
}

extension AudioCaptureConsumer: CaptureConsumer {
    package var wantedFrameRate: FrameRate? { nil }
}
