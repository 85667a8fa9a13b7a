import EmisoraCore
import Glibc
import Synchronization

/// A system that answers as a recorded one did, without a device. Its clock jumps from frame to frame, so that a
/// replay takes no longer than what is done with the frames; after the last line it stands still.
///
/// Requests are answered with what the same request was answered with, in order; the last answer stays. Frames, events
/// and failures come when the clock reaches their time.
package final class V4L2Replay: V4L2System {
    private let state: Monitor<State>

    fileprivate struct State: Sendable {
        var now: Instant
        let end: Instant
        var isWoken = false
        var nodes: [V4L2Recording.Line]
        var openings: [Opening]
    }

    /// What was recorded of one opening of a node.
    fileprivate struct Opening: Sendable {
        let number: Int
        let path: String
        let converting: Bool
        let error: Int32?
        var isUsed = false
        let script: ReplayScript
    }

    package init(_ text: String) throws(V4L2RecordingError) {
        let lines = try V4L2Recording(text).lines
        var nodes: [V4L2Recording.Line] = []
        var openings: [Opening] = []
        for line in lines {
            switch line.entry {
            case .nodes: nodes.append(line)
            case .open(let number, let path, let converting, let error):
                openings.append(
                    Opening(
                        number: number, path: path, converting: converting, error: error,
                        script: ReplayScript(lines, device: number)))
            default: break
            }
        }
        state = Monitor(
            State(
                now: lines.first?.time ?? .zero, end: lines.map(\.time).max() ?? .zero, nodes: nodes,
                openings: openings))
    }

    package convenience init(path: String) throws(CaptureError) {
        let file = try FileHandle(reading: path)
        do throws(V4L2RecordingError) {
            guard file.size <= V4L2Recording.longest else {
                throw V4L2RecordingError(line: 0, problem: .tooLong(limit: V4L2Recording.longest))
            }
            try self.init(String(decoding: file.bytes(at: 0, upTo: file.size), as: UTF8.self))
        } catch {
            throw .custom(error)
        }
    }

    package var now: Instant { state.withLock { $0.now } }

    /// Whether the clock has reached the end.
    package var isOver: Bool { state.withLock { $0.now >= $0.end } }

    package func nodes() -> [String] {
        state.withLock { state in
            let now = state.now
            let line = state.nodes.last { $0.time <= now } ?? state.nodes.first
            if case .nodes(let paths)? = line?.entry { return paths }
            // A recording of a camera that was asked for by its path has no list.
            return state.openings.first.map { [$0.path] } ?? []
        }
    }

    package func access(to path: String) -> V4L2Access? {
        nodes().contains(path) ? V4L2Access(isPermitted: true, group: "video", holders: []) : nil
    }

    package func open(_ path: String, converting: Bool) throws(V4L2Error) -> any V4L2Device {
        let opening = state.withLock { state -> Opening? in
            let fitting = state.openings.indices.filter {
                state.openings[$0].path == path && state.openings[$0].converting == converting
            }
            guard let index = fitting.first(where: { !state.openings[$0].isUsed }) else {
                // A refusal lasts; what was opened and closed is not there for ever.
                return fitting.last.map { state.openings[$0] }.flatMap { $0.error == nil ? nil : $0 }
            }
            state.openings[index].isUsed = true
            return state.openings[index]
        }
        guard let opening else { throw V4L2Error("open", code: ENOENT) }
        if let code = opening.error { throw V4L2Error("open", code: code) }
        return ReplayDevice(opening.script, clock: { [state] in state.withLock { $0.now } })
    }

    package func makePoller() throws(V4L2Error) -> any V4L2Poller { ReplayPoller(state) }
}

private final class ReplayPoller: V4L2Poller {
    private let state: Monitor<V4L2Replay.State>

    init(_ state: Monitor<V4L2Replay.State>) {
        self.state = state
    }

    func wake() {
        state.withLock { $0.isWoken = true }
        state.notifyAll()
    }

    func wait(for device: (any V4L2Device)?, until deadline: Instant) -> V4L2Readiness {
        let upcoming = (device as? ReplayDevice)?.upcoming
        return state.wait(until: .distantFuture) { state -> V4L2Readiness? in
            if state.isWoken {
                state.isWoken = false
                return .woken
            }
            if let (time, readiness) = upcoming, time <= deadline {
                state.now = max(state.now, time)
                return readiness
            }
            guard deadline <= state.end else {
                state.now = max(state.now, state.end)
                return nil
            }
            state.now = max(state.now, deadline)
            return []
        } ?? []
    }
}

private final class ReplayDevice: V4L2Device {
    private let script: Mutex<ReplayScript>
    private let clock: @Sendable () -> Instant

    init(_ script: ReplayScript, clock: @escaping @Sendable () -> Instant) {
        self.script = Mutex(script)
        self.clock = clock
    }

    var upcoming: (Instant, V4L2Readiness)? { script.withLock { $0.upcoming } }

    func perform(_ request: V4L2Request) throws(V4L2Error) -> V4L2Answer {
        let now = clock()
        switch script.withLock({ $0.outcome(of: request, now) }) {
        case .answer(let answer): return answer
        case .error(let code): throw V4L2Error(request.name, code: code)
        }
    }

    func map(length: Int, offset: Int64) throws(V4L2Error) -> V4L2Mapping {
        guard let memory = script.withLock({ $0.memory(length, offset) }) else {
            throw V4L2Error("mmap", code: ENOMEM)
        }
        return V4L2Mapping(memory.bytes) { withExtendedLifetime(memory) {} }
    }

    func close() {
        script.withLock { $0.isClosed = true }
    }
}
