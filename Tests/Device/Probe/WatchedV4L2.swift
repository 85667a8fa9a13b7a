import EmisoraCapture
import EmisoraCore
import Synchronization

/// The kernel's Video4Linux, with a count of what is asked of it: an account of a capturer's behaviour that does not come
/// from the capturer. On request it shows the camera with one pixel format alone.
final class WatchedV4L2: V4L2System {
    struct Counts: Encodable, Sendable {
        /// All that the driver was asked.
        var requests = 0
        var buffersDequeued = 0
        var erroneousBuffers = 0
        /// Numbers missing between dequeued buffers of one stream.
        var sequenceGaps = 0
        /// Buffers whose number, or whose stamp, is lower than that of the one before in the same stream.
        var sequenceWraps = 0
        var backwardStamps = 0
        var opens = 0
        var openDevices = 0
        var mappings = 0
        var streamStarts = 0
    }

    private let kernel = LinuxV4L2()
    fileprivate let only: FourCC?
    fileprivate let state = Mutex(Counts())

    init(only: FourCC?) {
        self.only = only
    }

    var counts: Counts { state.withLock { $0 } }

    var now: Instant { kernel.now }

    func nodes() -> [String] { kernel.nodes() }

    func access(to path: String) -> V4L2Access? { kernel.access(to: path) }

    func makePoller() throws(V4L2Error) -> any V4L2Poller {
        WatchedPoller(try kernel.makePoller())
    }

    func open(_ path: String, converting: Bool) throws(V4L2Error) -> any V4L2Device {
        // A converting library would offer more formats than the driver has.
        let device = try kernel.open(path, converting: converting && only == nil)
        state.withLock {
            $0.opens += 1
            $0.openDevices += 1
        }
        return WatchedDevice(device, system: self)
    }
}

/// Hands the kernel's poller the kernel's device.
private final class WatchedPoller: V4L2Poller {
    private let kernel: any V4L2Poller

    init(_ kernel: any V4L2Poller) {
        self.kernel = kernel
    }

    func wait(for device: (any V4L2Device)?, until deadline: Instant) -> V4L2Readiness {
        kernel.wait(for: (device as? WatchedDevice)?.kernel ?? device, until: deadline)
    }

    func wake() { kernel.wake() }
}

private final class WatchedDevice: V4L2Device {
    let kernel: any V4L2Device
    private let system: WatchedV4L2
    private let state = Mutex(State())

    private struct State: Sendable {
        var isOpen = true
        /// Of the stream that runs.
        var last: V4L2Buffer?
    }

    init(_ kernel: any V4L2Device, system: WatchedV4L2) {
        self.kernel = kernel
        self.system = system
    }

    deinit {
        countClose()
    }

    func perform(_ request: V4L2Request) throws(V4L2Error) -> V4L2Answer {
        if case .enumerateFormat(let type, let index) = request, let only = system.only {
            return try enumerate(only, type, index)
        }
        let answer = try ask(request)
        switch (request, answer) {
        case (.streamOn, _):
            state.withLock { $0.last = nil }
            system.state.withLock { $0.streamStarts += 1 }
        case (.dequeueBuffer, .buffer(let buffer)): register(buffer)
        default: break
        }
        return answer
    }

    func map(length: Int, offset: Int64) throws(V4L2Error) -> V4L2Mapping {
        let mapping = try kernel.map(length: length, offset: offset)
        let system = system
        system.state.withLock { $0.mappings += 1 }
        return V4L2Mapping(mapping.bytes) {
            withExtendedLifetime(mapping) {}
            system.state.withLock { $0.mappings -= 1 }
        }
    }

    func close() {
        countClose()
        kernel.close()
    }

    private func ask(_ request: V4L2Request) throws(V4L2Error) -> V4L2Answer {
        system.state.withLock { $0.requests += 1 }
        return try kernel.perform(request)
    }

    /// A list of the one format, if the driver has it.
    private func enumerate(_ only: FourCC, _ type: V4L2BufferType, _ index: UInt32) throws(V4L2Error)
        -> V4L2Answer
    {
        var next: UInt32 = index == 0 ? 0 : .max
        while true {
            // Ends with the driver's EINVAL after its last format.
            let answer = try ask(.enumerateFormat(type, index: next))
            if case .formatDescription(let format) = answer, format.pixelFormat == only.rawValue {
                return answer
            }
            next += 1
        }
    }

    private func register(_ buffer: V4L2Buffer) {
        let last = state.withLock { state in
            defer { state.last = buffer }
            return state.last
        }
        system.state.withLock { counts in
            counts.buffersDequeued += 1
            if buffer.isErroneous { counts.erroneousBuffers += 1 }
            guard let last else { return }
            // The numbers wrap; that one comes twice is not a gap.
            counts.sequenceGaps += max(0, Int(Int32(bitPattern: buffer.sequence &- last.sequence &- 1)))
            if buffer.sequence < last.sequence { counts.sequenceWraps += 1 }
            if (buffer.seconds, buffer.microseconds) < (last.seconds, last.microseconds) {
                counts.backwardStamps += 1
            }
        }
    }

    private func countClose() {
        let wasOpen = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if wasOpen { system.state.withLock { $0.openDevices -= 1 } }
    }
}
