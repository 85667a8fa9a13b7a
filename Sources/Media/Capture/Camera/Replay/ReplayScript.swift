import EmisoraCore
import Glibc

/// What one opened device answered, and where its playing stands.
struct ReplayScript: Sendable {
    /// Larger mappings are none of a camera's.
    private static let largestMapping = 256 << 20

    private struct Answers: Sendable {
        var outcomes: [V4L2Outcome] = []
        var next = 0
    }

    /// What comes at its time: a frame, an event, or the failure to get one.
    private struct Timed: Sendable {
        let time: Instant
        let outcome: V4L2Outcome
        var pixels: [(plane: Int, bytes: [UInt8])] = []
    }

    private var answers: [V4L2Request: Answers] = [:]
    private var frames: [Timed] = []
    private var nextFrame = 0
    private var events: [Timed] = []
    private var nextEvent = 0
    /// The buffers that the driver has.
    private var queued: Set<UInt32> = []
    /// Where each plane of a buffer is mapped from, and the memory.
    private var offsets: [Int64: (buffer: UInt32, plane: Int)] = [:]
    private var memories: [UInt32: [Int: ReplayMemory]] = [:]
    var isClosed = false

    init(_ lines: [V4L2Recording.Line], device: Int) {
        for line in lines {
            switch line.entry {
            case .request(device, let request, let outcome):
                switch request {
                case .dequeueBuffer: frames.append(Timed(time: line.time, outcome: outcome))
                case .dequeueEvent: events.append(Timed(time: line.time, outcome: outcome))
                default: answers[request, default: Answers()].outcomes.append(outcome)
                }
                if case .queryBuffer = request, case .answer(.buffer(let buffer)) = outcome {
                    for plane in 0..<buffer.planes.count {
                        offsets[Int64(buffer.planes[plane].memoryOffset)] = (buffer.index, plane)
                    }
                }
            case .pixels(device, _, let plane, let bytes) where !frames.isEmpty:
                frames[frames.count - 1].pixels.append((plane, bytes))
            default: break
            }
        }
        // Events that there were none of are no events.
        events.removeAll { if case .error = $0.outcome { true } else { false } }
    }

    /// When the device next has something to be fetched, and what.
    var upcoming: (Instant, V4L2Readiness)? {
        let frame = nextFrame < frames.count ? frames[nextFrame].time : nil
        let event = nextEvent < events.count ? events[nextEvent].time : nil
        if let event, frame.map({ event <= $0 }) ?? true { return (event, .event) }
        return frame.map { ($0, .frame) }
    }

    mutating func outcome(of request: V4L2Request, _ now: Instant) -> V4L2Outcome {
        guard !isClosed else { return .error(EBADF) }
        switch request {
        case .dequeueBuffer: return frame(now)
        case .dequeueEvent:
            guard nextEvent < events.count, events[nextEvent].time <= now else { return .error(ENOENT) }
            defer { nextEvent += 1 }
            return events[nextEvent].outcome
        case .queueBuffer(_, let index, _):
            let outcome = recorded(request) ?? .answer(.done)
            if case .answer = outcome { queued.insert(index) }
            return outcome
        case .streamOff, .requestBuffers:
            queued.removeAll()
            return recorded(request) ?? .answer(request == .requestBuffers(.videoCapture, count: 0) ? .count(0) : .done)
        default: return recorded(request) ?? .error(EINVAL)
        }
    }

    /// What this request, or else one of its kind, was answered with.
    private mutating func recorded(_ request: V4L2Request) -> V4L2Outcome? {
        guard var found = answers[request] else {
            return answers.first { $0.key.name == request.name && request.isWish }?.value.outcomes.last
        }
        defer { answers[request] = found }
        let outcome = found.outcomes[min(found.next, found.outcomes.count - 1)]
        found.next += 1
        return outcome
    }

    private mutating func frame(_ now: Instant) -> V4L2Outcome {
        guard nextFrame < frames.count, frames[nextFrame].time <= now else { return .error(EAGAIN) }
        let timed = frames[nextFrame]
        guard case .answer(.buffer(var buffer)) = timed.outcome else {
            nextFrame += 1
            return timed.outcome
        }
        nextFrame += 1
        // Frames may be held longer than they were: the picture then takes another buffer, or is lost as it would be.
        guard let index = queued.contains(buffer.index) ? buffer.index : queued.min() else { return .error(EAGAIN) }
        queued.remove(index)
        for (plane, bytes) in timed.pixels { memories[index]?[plane]?.fill(bytes) }
        buffer.index = index
        return .answer(.buffer(buffer))
    }

    mutating func memory(_ length: Int, _ offset: Int64) -> ReplayMemory? {
        guard (1...Self.largestMapping).contains(length) else { return nil }
        let memory = ReplayMemory(byteCount: length)
        if let (buffer, plane) = offsets[offset] { memories[buffer, default: [:]][plane] = memory }
        return memory
    }
}

extension V4L2Request {
    /// Whether another wish of the same kind may be answered like this one.
    fileprivate var isWish: Bool {
        switch self {
        case .setFormat, .tryFormat, .setInterval, .requestBuffers: true
        default: false
        }
    }
}

/// A buffer's memory without a driver.
final class ReplayMemory: @unchecked Sendable {
    // Invariant: written only while no frame has the buffer, with the device's lock held.

    private let memory: UnsafeMutableRawBufferPointer

    init(byteCount: Int) {
        memory = .allocate(byteCount: byteCount, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        memory.deallocate()
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

    func fill(_ bytes: [UInt8]) {
        memory.copyBytes(from: bytes.prefix(memory.count))
    }
}
