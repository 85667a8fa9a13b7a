import EmisoraCapture
import EmisoraCore

/// One playing of a file, from the start of the first capturer to the end of the last: a thread that reads, and for
/// each kind of media a bounded queue that an output takes from. Both outputs go by one clock.
///
///     reader thread   Demuxer ─▶ queue of video ─▶ output thread: decode, wait until due, hand over
///                             └▶ queue of audio ─▶ output thread: decode, wait until due, hand over
///
/// Packets wait coded, so little memory holds a second of them. Used from any thread.
final class Playback: Sendable {
    let path: String
    /// In nanoseconds, what the file's times begin with.
    let fileStart: Int64
    private let streams: [TrackKind: MediaStream]
    private let isLooped: Bool
    private let reader = MediaThread()
    private let monitor: Monitor<State>
    private let start = MonotonicClock.now
    private let onEnd: @Sendable (MediaFileError?) -> Void

    /// How long the reader waits for the other capturer to be started, too: who comes later joins on the way.
    private static let joinWindow = Duration.milliseconds(100)
    /// How long a stream that is ready waits for the other's first frame.
    private static let patience = Duration.seconds(1)
    /// In bytes, over both queues; reached only by files whose streams lie far apart.
    private static let highestCost = 64 << 20
    /// Parts in a row that could not be read, after which the file counts as over.
    private static let damageLimit = 64

    private struct Lane: Sendable {
        enum Phase: Sendable {
            /// No output wants it.
            case idle
            /// An output takes packets.
            case playing
            /// The output has handed over its first frame, or is about to.
            case ready
            /// The output came to its end by itself.
            case ended
        }

        var phase = Phase.idle
        /// Counts those who joined, so that one who left late does not end the next one's.
        var turn = 0
        var queue = PacketQueue()
        /// Of the pass in which the output joined, in nanoseconds.
        var firstOffset: Int64 = 0
        /// Whether packets were passed by without an output, so that a decoder must wait for a key frame.
        var hasMissed = false

        var isActive: Bool { phase == .playing || phase == .ready }
    }

    private struct State: Sendable {
        var lanes: [TrackKind: Lane] = [:]
        var isReading = false
        var isReadToEnd = false
        var isStopped = false
        /// Of the pass that is read.
        var offset: Int64 = 0
        var origin: Instant?
        var failure: MediaFileError?
        /// What the reader reads; let go of, and the file with it, when the playing is over.
        var source: Demuxer?

        subscript(kind: TrackKind) -> Lane {
            get { lanes[kind] ?? Lane() }
            set { lanes[kind] = newValue }
        }

        var active: [TrackKind] { TrackKind.allCases.filter { self[$0].isActive } }
    }

    init(
        path: String, demuxer: Demuxer, isLooped: Bool, onEnd: @escaping @Sendable (MediaFileError?) -> Void
    ) {
        self.path = path
        fileStart = demuxer.fileStart
        streams = TrackKind.allCases.reduce(into: [:]) { $0[$1] = demuxer.stream($1) }
        self.isLooped = isLooped
        self.onEnd = onEnd
        monitor = Monitor(State(source: demuxer))
    }

    deinit {
        reader.requestStop()
    }

    // MARK: For capturers

    /// What the file tells of a stream, if it has it.
    func stream(_ kind: TrackKind) -> MediaStream? { streams[kind] }

    /// Takes part: packets of `kind` are kept from now on.
    ///
    /// - Returns: The number to leave with; `nil` if this playing is over, or someone else has that part.
    func join(_ kind: TrackKind) throws(CaptureError) -> Int? {
        let (turn, isFirst) = monitor.withLock { state -> (Int?, Bool) in
            guard !state.isStopped, !state.isReadToEnd, !state[kind].isActive else { return (nil, false) }
            let turn = state[kind].turn + 1
            let isFirst = turn == 1 && state.lanes.values.allSatisfy { $0.turn == 0 }
            state[kind] = Lane(
                phase: .playing, turn: turn, firstOffset: state.offset, hasMissed: state.isReading)
            return (turn, isFirst)
        }
        if isFirst { try reader.start { [weak self] thread in self?.read(thread) } }
        monitor.notifyAll()
        return turn
    }

    /// Whether the one who joined with `turn` still gets something.
    func isActive(_ kind: TrackKind, turn: Int) -> Bool {
        monitor.withLock { $0[kind].turn == turn && $0[kind].isActive && !$0.isStopped }
    }

    /// Takes part no longer: waits of its output end at once. With the last, the reader ends.
    func leave(_ kind: TrackKind, turn: Int) {
        end(kind, turn: turn, as: .idle)
    }

    /// The output has handed over the last there was. The application is told when both have.
    func finish(_ kind: TrackKind, turn: Int, failure: MediaFileError?) {
        end(kind, turn: turn, as: .ended, failure: failure)
    }

    private func end(_ kind: TrackKind, turn: Int, as phase: Lane.Phase, failure: MediaFileError? = nil) {
        let (isOver, failure) = monitor.withLock { state -> (Bool, MediaFileError?) in
            guard state[kind].turn == turn, state[kind].isActive else { return (false, nil) }
            state[kind].phase = phase
            state[kind].queue = PacketQueue()
            state[kind].hasMissed = true
            if state.failure == nil { state.failure = failure }
            if state.active.isEmpty {
                state.isStopped = true
                state.source?.interruption.interrupt()
                state.source = nil
            }
            return (state.isStopped, state.failure)
        }
        monitor.notifyAll()
        guard isOver else { return }
        reader.requestStop()
        if phase == .ended { onEnd(failure) }
    }

    // MARK: For outputs

    /// The next item; waits for it. `nil` as soon as the output has left.
    func take(_ kind: TrackKind, turn: Int) -> PacketQueue.Item? {
        let found = monitor.wait(until: .distantFuture) { state -> PacketQueue.Item?? in
            guard state[kind].turn == turn, state[kind].isActive else { return .some(nil) }
            return state[kind].queue.popFirst().map { .some($0) }
        }
        monitor.notifyAll()
        return found ?? nil
    }

    /// Whether packets were missed before the output joined.
    func hasMissed(_ kind: TrackKind) -> Bool { monitor.withLock { $0[kind].hasMissed } }

    /// When the pass began in which the output joined, in nanoseconds since the film did.
    func firstOffset(_ kind: TrackKind) -> Int64 { monitor.withLock { $0[kind].firstOffset } }

    /// Where the film is now, in nanoseconds since its beginning.
    var position: Int64 {
        monitor.withLock { $0.origin }.map { (MonotonicClock.now - $0).nanoseconds } ?? 0
    }

    /// When the film began: the output is ready with its first frame, and waits until the other is, too. `nil` as soon
    /// as the output has left.
    func origin(readyFor kind: TrackKind, turn: Int) -> Instant? {
        monitor.withLock { if $0[kind].turn == turn, $0[kind].isActive { $0[kind].phase = .ready } }
        monitor.notifyAll()
        let deadline = start + Self.patience
        while true {
            let answer = monitor.wait(until: deadline) { state -> Instant?? in
                guard state[kind].turn == turn, state[kind].isActive else { return .some(nil) }
                let isEverybodyReady = state.active.allSatisfy { state[$0].phase == .ready }
                let now = MonotonicClock.now
                if state.origin == nil, isEverybodyReady || now >= deadline { state.origin = now }
                return state.origin.map { .some($0) }
            }
            if let answer { return answer }
        }
    }

    // MARK: On the reader thread

    private func read(_ thread: MediaThread) {
        let present = streams.keys
        // In most programs both are started at once, and nothing of either is missed then.
        _ = monitor.wait(until: start + Self.joinWindow) { state in
            state.isStopped || present.allSatisfy { state[$0].turn > 0 } ? true : nil
        }
        let first = monitor.withLock { state in
            state.isReading = true
            return state.source
        }
        guard var source = first else { return }
        var offset: Int64 = 0
        while let pass = readPass(source, offset: offset) {
            offset += pass.length
            guard isLooped, pass.failure == nil else {
                push(.ended, failure: pass.failure)
                return
            }
            push(.passEnded(offset: offset))
            guard !source.rewind() else { continue }
            do throws(MediaFileError) {
                let reopened = try Demuxer(path: path, as: .film, interruption: source.interruption)
                monitor.withLock { if !$0.isStopped { $0.source = reopened } }
                source = reopened
            } catch {
                push(.ended, failure: error)
                return
            }
        }
    }

    private struct Pass {
        let length: Int64
        let failure: MediaFileError?
    }

    /// Reads to the end of the file; `nil` if nobody listens any more.
    private func readPass(_ source: Demuxer, offset: Int64) -> Pass? {
        var length = PassLength()
        var packets = 0
        var damage = 0
        while waitForRoom() {
            switch source.next() {
            case .packet(let kind, let packet):
                packets += 1
                damage = 0
                if !packet.isDiscarded { length.note(kind, time: packet.time, duration: packet.duration) }
                push(packet, kind)
                continue
            case .damage(let code):
                damage += 1
                if damage < Self.damageLimit { continue }
                if packets == 0 {
                    let error = MediaFileError.damaged(path: path, detail: FFmpeg.message(code))
                    return Pass(length: 0, failure: error)
                }
            case .end:
                if packets == 0 {
                    return Pass(length: 0, failure: .damaged(path: path, detail: "nothing in it can be read"))
                }
            }
            return monitor.withLock { $0.isStopped ? nil : Pass(length: length.length(of: $0.active), failure: nil) }
        }
        return nil
    }

    /// Waits until some output wants more; `false` if none ever will.
    private func waitForRoom() -> Bool {
        monitor.wait(until: .distantFuture) { state -> Bool? in
            if state.isStopped { return false }
            let active = state.active
            let cost = active.reduce(0) { $0 + state[$1].queue.cost }
            return active.contains { state[$0].queue.isHungry } && cost < Self.highestCost ? true : nil
        } ?? false
    }

    private func push(_ packet: Packet, _ kind: TrackKind) {
        monitor.withLock { state in
            if state[kind].isActive { state[kind].queue.append(.packet(packet)) } else { state[kind].hasMissed = true }
        }
        monitor.notifyAll()
    }

    private func push(_ mark: PacketQueue.Item, failure: MediaFileError? = nil) {
        monitor.withLock { state in
            for kind in state.active { state[kind].queue.append(mark) }
            switch mark {
            case .passEnded(let offset): state.offset = offset
            case .ended: state.isReadToEnd = true
            case .packet: break
            }
            if state.failure == nil { state.failure = failure }
        }
        monitor.notifyAll()
    }
}
