import EmisoraCore
import Glibc
import Testing

@testable import EmisoraCapture

/// Video4Linux in virtual time: the clock goes only as far as the test lets it, and the books are kept of all that is
/// open, mapped and queued.
final class ScriptedV4L2: V4L2System {
    let state: Monitor<State>

    struct State: Sendable {
        var now = Instant(nanoseconds: 100_000_000_000)
        /// How far the clock may go.
        var limit = Instant(nanoseconds: 100_000_000_000)
        var cameras: [String: ScriptedCamera] = [:]
        var isWoken = false
        var nodesChanged = false
        /// The capturer's thread waits for the clock to be let go on.
        var isIdle = false

        // The books.
        var openDevices = 0
        var opened = 0
        var mappings = 0
        var requests: [String: Int] = [:]
        var requestCount = 0
        var permissions: [String: V4L2Access] = [:]

        /// Opening a node takes for as long as this holds.
        var isOpeningHeld = false
        /// Threads that are in the midst of opening one.
        var opening = 0
    }

    init(_ cameras: [String: ScriptedCamera] = ["/dev/video0": ScriptedCamera()]) {
        state = Monitor(State(cameras: cameras))
    }

    // MARK: For tests

    /// Lets the clock go on and returns when the capturer's thread has done all there was to do until then.
    func run(for duration: Duration) {
        state.withLock { state in
            state.limit = state.limit + duration
            state.isIdle = false
        }
        state.notifyAll()
        let isDone = state.wait(until: MonotonicClock.now + .seconds(60)) { $0.isIdle ? true : nil }
        if isDone == nil { Issue.record("the capturer's thread did not come to rest within a minute") }
    }

    func change(_ path: String = "/dev/video0", _ body: (inout ScriptedCamera) -> Void) {
        state.withLock { state in
            guard var camera = state.cameras[path] else { return }
            body(&camera)
            state.cameras[path] = camera
        }
    }

    func unplug(_ path: String = "/dev/video0") {
        state.withLock { state in
            state.cameras[path] = nil
            state.nodesChanged = true
        }
    }

    func plug(_ camera: ScriptedCamera, as path: String = "/dev/video0") {
        state.withLock { state in
            state.cameras[path] = camera
            state.nodesChanged = true
        }
    }

    /// Waits for what another thread does.
    func await(_ what: String, _ condition: (State) -> Bool) {
        let isDone = state.wait(until: MonotonicClock.now + .seconds(60)) { condition($0) ? true : nil }
        if isDone == nil { Issue.record("within a minute: \(what)") }
    }

    func letOpen() {
        state.withLock { $0.isOpeningHeld = false }
        state.notifyAll()
    }

    var books: State { state.withLock { $0 } }

    // MARK: V4L2System

    var now: Instant { state.withLock { $0.now } }

    func nodes() -> [String] { state.withLock { $0.cameras.keys.sorted() } }

    func access(to path: String) -> V4L2Access? { state.withLock { $0.permissions[path] } }

    func makePoller() throws(V4L2Error) -> any V4L2Poller { ScriptedPoller(state) }

    func open(_ path: String, converting: Bool) throws(V4L2Error) -> any V4L2Device {
        state.withLock { $0.opening += 1 }
        state.notifyAll()
        _ = state.wait(until: .distantFuture) { $0.isOpeningHeld ? nil : true }
        return try state.withLock { state throws(V4L2Error) in
            state.opening -= 1
            state.requestCount += 1
            guard let camera = state.cameras[path] else { throw V4L2Error("open", code: ENOENT) }
            if let code = camera.openError { throw V4L2Error("open", code: code) }
            state.openDevices += 1
            state.opened += 1
            state.cameras[path]?.fatal = nil
            return ScriptedDevice(path, self.state)
        }
    }
}

private final class ScriptedPoller: V4L2Poller {
    private let state: Monitor<ScriptedV4L2.State>

    init(_ state: Monitor<ScriptedV4L2.State>) {
        self.state = state
    }

    func wake() {
        state.withLock { $0.isWoken = true }
        state.notifyAll()
    }

    func wait(for device: (any V4L2Device)?, until deadline: Instant) -> V4L2Readiness {
        let device = device as? ScriptedDevice
        while true {
            var limit = Instant.zero
            if let ready = state.withLock({ state in
                limit = state.limit
                return look(device, deadline, &state)
            }) {
                return ready
            }
            // The clock stands at its limit: whoever waits for that is told.
            state.notifyAll()
            _ = state.wait(until: .distantFuture) { $0.isWoken || $0.limit > limit ? true : nil }
        }
    }

    /// What ends the wait, if it ends before the clock comes to its limit.
    private func look(
        _ device: ScriptedDevice?, _ deadline: Instant, _ state: inout ScriptedV4L2.State
    ) -> V4L2Readiness? {
        while true {
            if state.isWoken {
                state.isWoken = false
                return .woken
            }
            if device == nil, state.nodesChanged {
                state.nodesChanged = false
                return .nodesChanged
            }
            if let ready = device?.ready(&state), !ready.isEmpty { return ready }
            if deadline <= state.now { return [] }
            let next = min(device?.nextChange(state) ?? .distantFuture, deadline)
            guard next <= state.limit else {
                state.now = max(state.now, state.limit)
                state.isIdle = true
                return nil
            }
            state.now = max(state.now, next)
        }
    }
}
