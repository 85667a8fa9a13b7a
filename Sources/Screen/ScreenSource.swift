/// What of a display is captured.
public enum ScreenSource: Hashable, Sendable {
    /// All of it, whatever its monitors.
    case screen
    /// One monitor, by its name as `xrandr --listmonitors` and ``ScreenCapture/monitors(display:)`` give it.
    case monitor(String)
    /// One window without its frame, by its identifier (`xwininfo` prints it), also while others cover it.
    case window(id: UInt32)
    /// One window without its frame, by its title: the one that has it exactly, else the only one that contains it.
    case windowTitled(String)
}

/// A monitor of a display.
public struct ScreenMonitor: Hashable, Sendable {
    public let name: String
    /// Where its picture lies on the screen, in pixels from the top left.
    public let x: Int
    public let y: Int
    /// In pixels.
    public let width: Int
    public let height: Int
    public let isPrimary: Bool
}

/// A window that can be captured.
public struct ScreenWindow: Hashable, Sendable {
    public let id: UInt32
    public let title: String
    /// In pixels, without the frame.
    public let width: Int
    public let height: Int
    /// False while it is minimised.
    public let isVisible: Bool
}
