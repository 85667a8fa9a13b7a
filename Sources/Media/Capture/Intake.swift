/// Whether frames are wanted at all, and if not, why.
struct Intake: Sendable {
    var isStarted = false
    var isPaused = false
    var hasSubscribers = false

    /// Why a frame that comes now is dropped; `nil` if it is wanted.
    var refusal: DropReason? {
        if !isStarted { return .captureStopped }
        if isPaused { return .paused }
        if !hasSubscribers { return .noSubscribers }
        return nil
    }
}
