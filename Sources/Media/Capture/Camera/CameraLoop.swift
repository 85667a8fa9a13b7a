import EmisoraCore
import EmisoraVideo

/// What the capturer's thread does, turn by turn: waits, fetches, recovers. Lives on that thread alone.
struct CameraLoop: ~Copyable {
    /// How long a driver that calls and then has nothing is left alone.
    private static let emptyPause = Duration.milliseconds(5)
    /// How often in a row it may do so before.
    private static let emptyLimit = 3
    /// When buffers that the driver refused are offered to it again.
    private static let refusedPause = Duration.milliseconds(100)
    /// Most events that are fetched in a turn.
    private static let eventLimit = 16

    private let opener: CameraOpener
    private let poller: any V4L2Poller
    private let emit: @Sendable (CameraEvent) -> Void
    private let onFormat: @Sendable (VideoFormat) -> Void
    private var stream: CameraStream?
    private var identity: CameraIdentity
    private var plan: CameraOpener.Plan
    private var format: VideoFormat
    private var recovery: CaptureRecovery
    private var intake: CameraIntake
    private var away: CameraAwayPicture
    private var emptyTurns = 0
    private var retryAt: Instant?
    /// The modes may be others than they were.
    private var mustChoose = false

    init(
        _ stream: CameraStream, _ plan: CameraOpener.Plan, opener: CameraOpener, poller: any V4L2Poller,
        consumer: VideoCaptureConsumer, onEvent: @escaping @Sendable (CameraEvent) -> Void,
        onFormat: @escaping @Sendable (VideoFormat) -> Void
    ) {
        self.opener = opener
        self.poller = poller
        emit = onEvent
        self.onFormat = onFormat
        self.stream = stream
        self.plan = plan
        identity = stream.identity
        format = stream.picture.format
        recovery = CaptureRecovery(interval: stream.interval, now: opener.system.now)
        intake = CameraIntake(consumer, options: opener.options, emit: onEvent)
        away = CameraAwayPicture(opener.options)
    }

    private var now: Instant { opener.system.now }

    mutating func begin() {
        guard let stream else { return }
        intake.begin(stream)
        emit(.modeChosen(stream.mode, camera: stream.identity, reason: stream.reason))
    }

    mutating func end() {
        intake.forgetLast()
        away.end()
        stream?.close()
        stream = nil
    }

    /// Waits for what comes next and deals with it.
    mutating func turn(wish: CameraWish, isStopped: () -> Bool) {
        if let action = recovery.due(now) {
            perform(action, .stalled, wish)
            return
        }
        if let picture = away.due(now), !isStopped() { intake.hand(away: picture, now: now) }
        if let retryAt, now >= retryAt {
            self.retryAt = nil
            stream?.buffers.retry()
        }
        if retryAt == nil, stream?.buffers.hasRefused == true { retryAt = now + Self.refusedPause }
        let ready = wait()
        guard !isStopped() else { return }
        if ready.contains(.nodesChanged) { recovery.nodesChanged(now) }
        guard let stream else { return }
        let events = ready.contains(.event) ? takeEvents(stream) : (count: 0, isSourceChanged: false)
        if events.isSourceChanged {
            mustChoose = true
            perform(recovery.failed(now), .sourceChanged, wish)
        } else if !ready.isDisjoint(with: [.frame, .failure]) {
            fetch(stream, wish, isStopped)
        } else if ready.contains(.event), events.count == 0 {
            // A driver that calls for an event and has none.
            emptyTurns += 1
        }
    }

    /// Waits until a frame, an event, a wake-up, or something is due.
    private mutating func wait() -> V4L2Readiness {
        var deadline = recovery.deadline
        if let picture = away.deadline { deadline = min(deadline, picture) }
        if let retryAt { deadline = min(deadline, retryAt) }
        if emptyTurns > Self.emptyLimit {
            // Without the device, which would call again at once.
            let pause = min(deadline, now + Self.emptyPause)
            return poller.wait(for: nil, until: pause).union(stream == nil ? [] : .frame)
        }
        return poller.wait(for: stream?.device, until: deadline)
    }

    private mutating func fetch(_ stream: CameraStream, _ wish: CameraWish, _ isStopped: () -> Bool) {
        do throws(V4L2Error) {
            let system = opener.system
            let fetched = try intake.fetch(stream, now: { system.now }, isStopped: isStopped)
            guard fetched.buffers > 0 else {
                emptyTurns += 1
                return
            }
            emptyTurns = 0
            let interruption = recovery.frameCame(now, isMedia: fetched.pictures > 0)
            if fetched.pictures > 0 { away.end() }
            if let interruption { emit(.interruptionEnded(after: interruption)) }
        } catch {
            let fault = CameraError(error, path: identity.path, in: opener.system)
            let isGone = if case .unplugged = fault { true } else { false }
            perform(recovery.failed(now), isGone ? .unplugged : .failed(fault), wish)
        }
    }

    private func takeEvents(_ stream: CameraStream) -> (count: Int, isSourceChanged: Bool) {
        var (count, isChanged) = (0, false)
        while count < Self.eventLimit, let event = try? stream.device.dequeueEvent() {
            count += 1
            isChanged = isChanged || event.kind == V4L2Event.sourceChange
            guard event.pending > 0 else { break }
        }
        return (count, isChanged)
    }

    // MARK: Recovery

    private mutating func perform(_ action: CaptureRecovery.Action, _ reason: CameraInterruption, _ wish: CameraWish) {
        switch action {
        case .restart:
            interrupt(reason)
            // What frames hold must be free for the driver.
            intake.forgetLast()
            guard let stream else { return }
            intake.begin(stream)
            do throws(V4L2Error) {
                try stream.restart()
            } catch {
                perform(recovery.failed(now), reason, wish)
            }
        case .close:
            interrupt(reason)
            // Before the camera is closed: a driver does not let go of buffers that are in use.
            release()
            retryAt = nil
            emptyTurns = 0
        case .attempt(let everywhere): attempt(everywhere, wish)
        }
    }

    private mutating func interrupt(_ reason: CameraInterruption) {
        guard away.deadline == nil else { return }
        away.begin(intake.last, format: format, now: now)
        emit(.interruptionBegan(reason))
    }

    private mutating func attempt(_ everywhere: Bool, _ wish: CameraWish) {
        let (opener, mustChoose, plan) = (opener, mustChoose, plan)
        let outcome = opener.locator.find(again: identity, everywhere: everywhere) {
            found throws(CameraError) -> (CameraStream, CameraOpener.Plan) in
            mustChoose ? try opener.open(found, wish: wish) : (try opener.open(found, plan: plan), plan)
        }
        switch outcome {
        case .had((let stream, let plan)):
            self.plan = plan
            adopt(stream)
            recovery.attemptSucceeded(now, interval: stream.interval)
        case .refused(let error):
            // It came back as another than it was.
            if case .unusableFormat = error { self.mustChoose = true }
            recovery.attemptFailed(now, nodeExists: true)
        case .absent: recovery.attemptFailed(now, nodeExists: false)
        }
    }

    private mutating func adopt(_ stream: CameraStream) {
        self.stream = stream
        identity = stream.identity
        format = stream.picture.format
        mustChoose = false
        emptyTurns = 0
        retryAt = nil
        intake.begin(stream)
        onFormat(format)
        emit(.modeChosen(stream.mode, camera: stream.identity, reason: stream.reason))
    }

    // MARK: Another camera

    /// Opens another camera, and only then lets go of this one, unless both are the same device or the bus has no room
    /// for two. If the other cannot be had, this one goes on.
    mutating func switchCamera(to name: String?, wish: CameraWish, former: CameraWish) -> Result<Void, CameraError> {
        let opener = opener
        do throws(CameraError) {
            let (next, plan) = try opener.locator.find(name) {
                found throws(CameraError) -> (CameraStream, CameraOpener.Plan) in
                // A device that streams takes no other mode.
                if found.identity.isSameDevice(as: identity) { release(keepingPicture: true) }
                do throws(CameraError) {
                    return try opener.open(found, wish: wish)
                } catch {
                    guard stream != nil, case .driver(_, _, V4L2Error.noRoomOnBus) = error else { throw error }
                    release(keepingPicture: true)
                    return try opener.open(try opener.locator.open(found.identity.path), wish: wish)
                }
            }
            release(keepingPicture: true)
            self.plan = plan
            adopt(next)
            recovery.attemptSucceeded(now, interval: next.interval)
            return .success(())
        } catch {
            if stream == nil, !recovery.isAway { perform(recovery.failed(now), .failed(error), former) }
            return .failure(error)
        }
    }

    /// - Parameter keepingPicture: For the stream to go on with if no other camera's picture comes.
    private mutating func release(keepingPicture: Bool = false) {
        if keepingPicture { away.keep(intake.last) }
        intake.forgetLast()
        stream?.close()
        stream = nil
    }
}
