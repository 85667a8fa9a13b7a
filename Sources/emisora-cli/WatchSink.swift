import Emisora
import Glibc
import Synchronization

/// Counts, measures and keeps decoded pictures.
final class WatchSink: VideoFrameSink, AudioFrameSink {
    private struct State {
        var count = 0
        var audioLevel = 0.0
        /// How often each level was heard, in steps of a thousandth.
        var levels = [UInt32](repeating: 0, count: 1_001)
        var firstPictureAt: Instant?
        var lastPictureAt: Instant?
        var longestGap = Duration.zero
        var marks: UInt64 = 0
        var outOfOrder: UInt64 = 0
        var missed: UInt64 = 0
        var lastNumber: UInt32?
        var latencies: [Double] = []
        var lastFrame: VideoFrame?
        var rotation = VideoRotation.none
        var saveFailure: CaptureError?
    }

    private let wanted: Int
    private let path: String?
    private let state = Mutex(State())
    private let recording: Recording?
    private let done: AsyncStream<Void>
    private let doneContinuation: AsyncStream<Void>.Continuation

    /// The open clip; touched on the decoder thread alone.
    private final class Recording: @unchecked Sendable {
        // Invariant behind `@unchecked Sendable`: only `receive(_ frame: VideoFrame)` uses it, which one thread calls.
        private let path: String
        private var writer: Y4MWriter?
        private let converter = VideoConverter()

        /// Creates the file at once, so that a path that cannot be written is told before anything is received.
        init(path: String) throws(CaptureError) {
            self.path = path
            _ = try Y4MWriter(path: path, size: VideoSize(width: 16, height: 16), frameRate: 30)
        }

        /// Appends a picture, upright, since a clip cannot say how it lies. The first one sets the size of the clip.
        func append(_ received: VideoFrame) throws(CaptureError) {
            let frame: VideoFrame
            do throws(ConversionError) {
                frame = try converter.upright(received)
            } catch {
                throw .custom(error)
            }
            if writer == nil {
                writer = try Y4MWriter(
                    path: path, size: frame.size, frameRate: frame.format.frameRate ?? 30,
                    colorRange: frame.format.colorRange)
            }
            try writer?.append(frame)
        }
    }

    init(wanted: Int, save path: String?) throws(CaptureError) {
        self.wanted = wanted
        self.path = path
        recording = if let path, path.hasSuffix(".y4m") { try Recording(path: path) } else { nil }
        if let path, path.hasSuffix(".png") {
            // Made at once, so that a path that cannot be written is told before anything is received.
            let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o644)
            guard descriptor >= 0 else { throw .file(path: path, code: errno) }
            close(descriptor)
        }
        (done, doneContinuation) = AsyncStream.makeStream()
    }

    var count: Int { state.withLock { $0.count } }

    /// Returns when the wanted pictures are there, or when the task is cancelled.
    func waitUntilDone() async {
        for await _ in done { return }
    }

    func receive(_ frame: VideoFrame) {
        let now = MonotonicClock.now
        let mark = PatternReader.read(frame)
        let (isWanted, isLast) = state.withLock { state in
            guard state.count < wanted else { return (false, false) }
            state.count += 1
            if let last = state.lastPictureAt { state.longestGap = max(state.longestGap, now - last) }
            state.firstPictureAt = state.firstPictureAt ?? now
            state.lastPictureAt = now
            if let mark { Self.note(mark, now: now, in: &state) }
            state.rotation = frame.rotation
            if recording == nil, path != nil { state.lastFrame = frame }
            return (true, state.count == wanted)
        }
        if isWanted, let recording {
            do {
                try recording.append(frame)
            } catch {
                state.withLock { $0.saveFailure = $0.saveFailure ?? error }
            }
        }
        if isLast { doneContinuation.yield() }
    }

    func receive(_ frame: AudioFrame) {
        let level = frame.level
        state.withLock { state in
            state.audioLevel = max(state.audioLevel, level)
            // Before the first packet there is nothing to hear, which is no level of the sender's.
            if state.audioLevel > 0 { state.levels[min(1_000, Int((max(0, level) * 1_000).rounded()))] += 1 }
        }
    }

    private static func note(_ mark: PatternMark, now: Instant, in state: inout State) {
        state.marks += 1
        state.latencies.append((now - mark.captureTime).inMilliseconds)
        if let last = state.lastNumber {
            if mark.frameNumber <= last {
                state.outOfOrder += 1
            } else {
                state.missed += UInt64(mark.frameNumber - last - 1)
            }
        }
        state.lastNumber = mark.frameNumber
    }

    private static func median(of levels: [UInt32]) -> Double {
        var rest = levels.reduce(0) { $0 + Int($1) } / 2
        for (level, count) in levels.enumerated() {
            rest -= Int(count)
            if rest < 0 { return Double(level) / 1_000 }
        }
        return 0
    }

    func fill(_ figures: inout WatchFigures) {
        let state = state.withLock { $0 }
        figures.audioLevel = state.audioLevel
        figures.rotation = state.rotation.degrees
        figures.audioLevelP50 = Self.median(of: state.levels)
        if let first = state.firstPictureAt, let last = state.lastPictureAt, last > first {
            figures.framesPerSecond = Double(state.count - 1) / (last - first).inSeconds
        }
        figures.longestFrameGapMs = state.longestGap.inMilliseconds
        figures.patternFrames = state.marks
        figures.patternFramesOutOfOrder = state.outOfOrder
        figures.patternFramesMissed = state.missed
        let sorted = state.latencies.sorted()
        if !sorted.isEmpty {
            figures.latencyP50Ms = sorted[sorted.count / 2]
            figures.latencyP95Ms = sorted[min(sorted.count - 1, sorted.count * 95 / 100)]
        }
    }

    /// Writes the picture where one was asked for; answers whether everything wanted is there.
    func finish() -> Bool {
        let state = state.withLock { $0 }
        if let path, recording == nil, let frame = state.lastFrame {
            do {
                try PictureFile.writePNG(frame, to: path)
            } catch {
                Terminal.note("\(path): \(error)", as: "save.failed", .error)
                return false
            }
        }
        if let failure = state.saveFailure {
            Terminal.note("Not all pictures could be written: \(failure)", as: "save.failed", .error)
            return false
        }
        return state.count >= wanted
    }
}
