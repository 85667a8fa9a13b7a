import EmisoraCore

/// Decides what a screen's thread does next. It reads no clock.
///
///     damage ──▶ dirty ──(at most once an interval)──▶ grab ──▶ clean
///     clean  ──(once a keep-alive)──▶ the last picture again
///     clean  ──(soon after it moved often, else seldom)──▶ a look at the pointer ──(moved)──▶ dirty
///
/// A screen that does not change is not grabbed. Its last picture is offered again now and then, since an encoder can
/// make a key frame for a viewer who comes late from a new frame only.
struct GrabSchedule {
    enum Step: Equatable {
        case grab
        case repeatPicture
        case lookAtPointer
        case wait(until: Instant)
    }

    /// What became of the picture that was offered last.
    enum Reception {
        case accepted
        /// Not wanted just now; the next may be.
        case refused
        /// Nobody is there to see it.
        case unwatched
    }

    /// While nobody watches, pictures are made and offered no more often than this: who comes then sees one at once
    /// that is no older.
    static let unwatchedInterval: Duration = .milliseconds(250)
    /// How often a pointer that rests is looked at.
    static let restingInterval: Duration = .milliseconds(100)
    /// How long after its last movement a pointer rests.
    static let restingAfter: Duration = .seconds(1)

    /// The least time between two pictures.
    var interval: Duration
    /// Whether there is anything to grab: a minimised window has no picture.
    var isVisible = true
    private let keepAlive: Duration
    private let followsPointer: Bool
    private var isDirty = true
    private var reception = Reception.accepted
    private var lastGrab: Instant?
    private var lastOffer: Instant?
    private var lastLook: Instant?
    private var lastMovement: Instant?

    init(interval: Duration, keepAlive: Duration, followsPointer: Bool) {
        self.interval = interval
        self.keepAlive = keepAlive
        self.followsPointer = followsPointer
    }

    func next(at now: Instant) -> Step {
        var deadline = Instant.distantFuture
        if isDirty, isVisible {
            let due = nextGrab ?? now
            if due <= now { return .grab }
            deadline = min(deadline, due)
        }
        if let lastOffer {
            let due = lastOffer + repeatDelay
            if due <= now { return .repeatPicture }
            deadline = min(deadline, due)
        }
        if followsPointer, isVisible, !isDirty {
            let due = lastLook.map { $0 + lookDelay(at: now) } ?? now
            if due <= now { return .lookAtPointer }
            deadline = min(deadline, due)
        }
        return .wait(until: deadline)
    }

    mutating func damaged() {
        isDirty = true
    }

    /// A grab begins: what is damaged from here on is not in it.
    mutating func grabbing(at now: Instant) {
        // Kept on the grid of the rate, so that waking late does not lower it.
        let due = nextGrab ?? now
        lastGrab = now - due < interval ? due : now
        lastLook = now
        isDirty = false
    }

    /// The grab brought nothing; it is tried again.
    mutating func grabFailed() {
        isDirty = true
    }

    mutating func offered(at now: Instant, _ reception: Reception) {
        self.reception = reception
        lastOffer = now
    }

    mutating func looked(at now: Instant, pointerMoved: Bool) {
        lastLook = now
        guard pointerMoved else { return }
        lastMovement = now
        isDirty = true
    }

    private var nextGrab: Instant? { lastGrab.map { $0 + pictureInterval } }

    private var pictureInterval: Duration {
        reception == .unwatched ? max(interval, Self.unwatchedInterval) : interval
    }

    private var repeatDelay: Duration {
        switch reception {
        case .accepted: max(keepAlive, interval)
        case .refused, .unwatched: pictureInterval
        }
    }

    private func lookDelay(at now: Instant) -> Duration {
        let isResting = lastMovement.map { now - $0 >= Self.restingAfter } ?? true
        return isResting || reception == .unwatched ? max(pictureInterval, Self.restingInterval) : interval
    }
}
