import EmisoraVideo

/// What a capturer was made with.
struct ScreenOptions: Sendable {
    var source: ScreenSource
    var display: String?
    var frameRate: FrameRate
    var showsCursor: Bool
    var keepAlive: Duration
}
