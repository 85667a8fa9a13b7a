import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Glibc

/// One call of `consume`, as it was seen on the capturer's thread.
struct Arrival: Sendable {
    enum Content: Sendable {
        case picture(VideoFormat, overlaps: Bool)
        case sound(AudioFormat, duration: Duration)
    }

    var content: Content
    var timestamp: Instant
    /// By the clock of the options.
    var time: Instant
    /// By the machine's clock.
    var machineTime: Instant
    var thread: UInt
    /// Processor time that the thread had taken.
    var threadTime: Duration
    /// How often the thread had waited of its own will.
    var waits: Int
}

/// Notes each frame as it comes to a consumer, and can hold the thread that brings it.
final class FrameTap: Sendable {
    /// Whether and how long calls are held before the consumer sees the frame.
    enum Hold: Sendable {
        case none
        case untilReleased
        /// That many calls, each until another thread comes or the time is over.
        case forCompany(calls: Int, limit: Duration)
    }

    private struct State: Sendable {
        var arrivals: [Arrival] = []
        var inside = 0
        var mostInside = 0
        var hold = Hold.none
        var kept: [VideoFrame] = []
        var keeps = 0
    }

    private let monitor = Monitor(State())
    private let clock: @Sendable () -> Instant
    /// Arrivals beyond are counted no more, so that a source gone wild does not fill the memory.
    private static let mostArrivals = 100_000

    init(clock: @escaping @Sendable () -> Instant, hold: Hold = .none, keeping frames: Int = 0) {
        self.clock = clock
        monitor.withLock { state in
            state.hold = hold
            state.keeps = frames
        }
    }

    // MARK: For the consumer

    func receive(_ frame: VideoFrame) {
        receive(.picture(frame.format, overlaps: frame.hasOverlappingPlanes), frame.timestamp, frame)
    }

    func receive(_ frame: AudioFrame) {
        receive(.sound(frame.format, duration: frame.duration), frame.timestamp, nil)
    }

    private func receive(_ content: Arrival.Content, _ timestamp: Instant, _ frame: VideoFrame?) {
        let (threadTime, waits) = threadUsage()
        let arrival = Arrival(
            content: content, timestamp: timestamp, time: clock(), machineTime: MonotonicClock.now,
            thread: UInt(pthread_self()), threadTime: threadTime, waits: waits)
        let hold = monitor.withLock { state -> Hold in
            if state.arrivals.count < Self.mostArrivals { state.arrivals.append(arrival) }
            if let frame, state.kept.count < state.keeps { state.kept.append(frame) }
            state.inside += 1
            state.mostInside = max(state.mostInside, state.inside)
            let hold = state.hold
            if case .forCompany(let calls, let limit) = hold {
                state.hold = calls > 1 ? .forCompany(calls: calls - 1, limit: limit) : .none
            }
            return hold
        }
        monitor.notifyAll()
        switch hold {
        case .none: break
        case .untilReleased:
            _ = monitor.wait(until: .distantFuture) { if case .none = $0.hold { true } else { nil } }
        case .forCompany(_, let limit):
            _ = monitor.wait(until: MonotonicClock.now + limit) { $0.inside > 1 ? true : nil }
        }
        monitor.withLock { $0.inside -= 1 }
    }

    // MARK: For the checks

    var arrivals: [Arrival] { monitor.withLock { $0.arrivals } }
    var count: Int { monitor.withLock { $0.arrivals.count } }
    /// The most threads that were seen in `consume` at a time.
    var mostThreads: Int { monitor.withLock { $0.mostInside } }
    /// Whether a thread is held or on its way through.
    var isOccupied: Bool { monitor.withLock { $0.inside > 0 } }

    /// The first pictures, as many as were to be kept.
    var kept: [VideoFrame] { monitor.withLock { $0.kept } }

    func letGoOfKept() {
        let kept = monitor.withLock { state -> [VideoFrame] in
            state.keeps = 0
            defer { state.kept = [] }
            return state.kept
        }
        withExtendedLifetime(kept) {}
    }

    func release() {
        monitor.withLock { $0.hold = .none }
        monitor.notifyAll()
    }

    /// Waits until so many frames have come in all; false when patience ends.
    func waitForFrames(_ count: Int, within patience: Patience) -> Bool {
        patience.wait(on: monitor) { $0.arrivals.count >= count ? true : nil } ?? false
    }

    private func threadUsage() -> (time: Duration, waits: Int) {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        var usage = rusage()
        // RUSAGE_THREAD, which Glibc's module lacks.
        getrusage(1, &usage)
        return (.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec), usage.ru_nvcsw)
    }
}

extension VideoFrame {
    /// Whether luma and another plane share bytes. Planes of one neutral chroma may well be the same memory.
    var hasOverlappingPlanes: Bool {
        withUnsafePlanes { planes in
            guard planes.count > 1, let luma = planes[0].baseAddress else { return false }
            let end = luma + planes[0].count
            return (1..<planes.count).contains { index in
                guard let start = planes[index].baseAddress else { return false }
                return start < end && luma < start + planes[index].count
            }
        }
    }

    /// A number for all the bytes that show (FNV-1a over words): changes when one of them does.
    var fingerprint: UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        withUnsafePlanes { planes in
            for plane in 0..<planes.count {
                let layout = format.layout(ofPlane: plane)
                let bytes = planes[plane]
                for row in 0..<layout.rows {
                    let start = row * layout.stride
                    var offset = start
                    while offset + 8 <= start + layout.rowBytes {
                        hash = (hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x100_0000_01B3
                        offset += 8
                    }
                    while offset < start + layout.rowBytes {
                        hash = (hash ^ UInt64(bytes[offset])) &* 0x100_0000_01B3
                        offset += 1
                    }
                }
            }
        }
        return hash
    }
}
