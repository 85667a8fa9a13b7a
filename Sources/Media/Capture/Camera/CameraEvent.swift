import EmisoraCore
import EmisoraVideo

/// What happens to a camera while it captures. Told on the capturer's thread; must not block.
public enum CameraEvent: Sendable {
    /// The camera was opened, or opened anew: what its driver really set, and why that mode was asked for.
    case modeChosen(CameraMode, camera: CameraIdentity, reason: String)
    /// No pictures come; the stream goes on with what ``CameraOptions/whileAway`` says.
    case interruptionBegan(CameraInterruption)
    /// The camera's pictures are back.
    case interruptionEnded(after: Duration)
    /// For two seconds the rate has missed the negotiated one by more than a tenth. Told again after it had recovered.
    case rateMissed(negotiated: FrameRate, measured: Double)
    /// A gap in the driver's numbers: so many pictures were lost before anyone saw them.
    case framesLostByDriver(Int)
    /// Pictures that came but were not handed on.
    case framesDropped(DropReason, count: Int)
}

/// Why pictures stopped.
public enum CameraInterruption: Hashable, Sendable {
    case unplugged
    /// No picture for a second or five times as long as a frame lasts.
    case stalled
    /// The driver failed.
    case failed(CameraError)
    /// The device's input changed, such as its size.
    case sourceChanged
}

extension CameraInterruption: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unplugged: "The camera was unplugged."
        case .stalled: "The camera gives no pictures any more."
        case .failed(let error): "The camera failed: \(error)."
        case .sourceChanged: "The camera's input changed."
        }
    }
}

/// Which camera it is, wherever its node is numbered.
public struct CameraIdentity: Hashable, Sendable {
    /// Such as `/dev/video0`; changes when the camera is plugged in again.
    public var path: String
    /// The driver's name for the device.
    public var card: String
    /// Where it is plugged in, such as `usb-0000:00:14.0-1`.
    public var busInfo: String

    public init(path: String, card: String, busInfo: String) {
        self.path = path
        self.card = card
        self.busInfo = busInfo
    }

    /// Whether it is the same device in the same place; its node's number may differ.
    func isSameDevice(as other: CameraIdentity) -> Bool { card == other.card && busInfo == other.busInfo }
}
