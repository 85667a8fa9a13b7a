import EmisoraVideo

/// Why a screen cannot be captured, or capturing ended by itself. ``ScreenCapture/start(into:)`` throws it inside
/// `CaptureError.custom`.
public enum ScreenError: Error, Hashable, Sendable {
    /// No display was named, and the environment names none.
    case noDisplay(isWaylandSession: Bool)
    /// The name is not one of a display.
    case malformedDisplay(String)
    /// Nobody answers at the display, or it refuses this user.
    case cannotConnect(display: String)
    /// The display has no screen of that number.
    case noSuchScreen(display: String)
    /// The X server lacks what capturing needs.
    case extensionMissing(String, purpose: String)
    case monitorNotFound(String, available: [String])
    /// No window has that identifier or title.
    case windowNotFound(String, titles: [String])
    /// Several windows have that title.
    case windowAmbiguous(String, ids: [UInt32])
    /// The window never shows anything (class `InputOnly`).
    case windowInvisible(id: UInt32)
    /// Pixels that cannot be read as red, green and blue.
    case unsupportedVisual(depth: Int, bitsPerPixel: Int)
    /// Frames cannot have the screen's size.
    case picture(VideoFrameError)
    /// An option is outside what is allowed; the text names it.
    case invalidOption(String)
    /// The system refused a thread. `code` is its `errno`.
    case noThread(code: Int32)
    /// While capturing: the window was closed.
    case windowClosed(id: UInt32)
    /// While capturing: the monitor was unplugged or switched off.
    case monitorRemoved(String)
    /// While capturing: the connection broke.
    case serverGone(display: String)
    /// While capturing: the X server refused again and again to hand out the picture, with this error code.
    case imageRefused(code: Int)
}

extension ScreenError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noDisplay(let isWaylandSession):
            "DISPLAY is not set: run inside an X11 session, or name the display, such as :0"
                + (isWaylandSession ? " (this is a Wayland session: log in to one with X11, or start Xwayland)" : "")
        case .malformedDisplay(let name):
            "display \(name): not the name of a display; allowed: [HOST]:NUMBER[.SCREEN], such as :0"
        case .cannotConnect(let display):
            "display \(display): no X server answers there, or it refuses this user: "
                + "check that it runs, and XAUTHORITY or xhost"
        case .noSuchScreen(let display):
            "display \(display): the X server has no screen of that number; leave .SCREEN out to take the first"
        case .extensionMissing(let name, let purpose):
            "the X server has no \(name) extension, which \(purpose) needs: enable it in the server's configuration"
        case .monitorNotFound(let name, let available):
            "monitor \(name): not connected; there are: \(Self.list(available))"
        case .windowNotFound(let name, let titles):
            "window \(name): not found; there are: \(Self.list(titles))"
        case .windowAmbiguous(let title, let ids):
            "window \(title): \(ids.count) windows have this title; name one by its id: "
                + Self.list(ids.map(Self.hex))
        case .windowInvisible(let id):
            "window \(Self.hex(id)): takes input only and shows nothing; name another one"
        case .unsupportedVisual(let depth, let bitsPerPixel):
            "pixels of depth \(depth) with \(bitsPerPixel) bits: only TrueColor in 15, 16, 24 or 32 bits can be "
                + "captured; run the X server with depth 24"
        case .picture(let error): "\(error)"
        case .invalidOption(let text): text
        case .noThread(let code): "cannot start a thread (errno \(code)): end other programs, or raise the limit"
        case .windowClosed(let id): "window \(Self.hex(id)) was closed: start again with another one"
        case .monitorRemoved(let name): "monitor \(name) is gone: start again when it is back, or with another one"
        case .serverGone(let display):
            "display \(display): the connection to the X server broke: start again when it runs"
        case .imageRefused(let code):
            "the X server refuses to hand out the picture (error \(code)): start again"
        }
    }

    static func hex(_ id: UInt32) -> String { "0x" + String(id, radix: 16) }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(12).joined(separator: ", ")
        return names.isEmpty ? "none" : names.count > 12 ? shown + ", …" : shown
    }
}
