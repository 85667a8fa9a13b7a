/// What a capturer tells beside its frames. Reaches the application as events of its session.
public enum CaptureReport: Sendable {
    /// Frames that it had but did not hand over.
    case dropped(DropReason, count: Int)
    /// Frames that a driver or device lost before the capturer saw them.
    case lostByDriver(count: Int)
    /// Its source is over: the film's end, the window closed; with the error that ended it, if one did.
    case ended(CaptureError?)
}
