import EmisoraCore
import Glibc
import Synchronization

@testable import EmisoraCapture

/// An opened ``ScriptedCamera``. Its own state is locked within the system's.
final class ScriptedDevice: V4L2Device {
    private let path: String
    private let system: Monitor<ScriptedV4L2.State>
    private let inner = Mutex(Inner())

    private struct Inner: Sendable {
        var isOpen = true
        var mode = 0
        var interval = V4L2Fraction(1, 30)
        var memories: [[ReplayMemory]] = []
        var queued: [UInt32] = []
        var done: [V4L2Buffer] = []
        var isStreaming = false
        var start = Instant.zero
        /// Frames since the start, those that were lost among them.
        var frames = 0

        var frameTime: Duration {
            .nanoseconds(Int64(interval.numerator) * 1_000_000_000 / Int64(max(1, interval.denominator)))
        }
        var due: Instant { start + frameTime * (frames + 1) }
    }

    init(_ path: String, _ system: Monitor<ScriptedV4L2.State>) {
        self.path = path
        self.system = system
    }

    deinit {
        close()
    }

    func close() {
        system.withLock { state in
            inner.withLock { inner in
                guard inner.isOpen else { return }
                inner.isOpen = false
                state.openDevices -= 1
            }
        }
    }

    // MARK: For the poller, with the system locked

    func ready(_ state: inout ScriptedV4L2.State) -> V4L2Readiness {
        inner.withLock { inner in
            guard let camera = state.cameras[path], camera.fatal == nil else { return .failure }
            advance(camera, state.now, &inner)
            var ready = V4L2Readiness()
            if !inner.done.isEmpty || camera.isStorming { ready.insert(.frame) }
            if !camera.events.isEmpty || camera.isStormingWithEvents { ready.insert(.event) }
            return ready
        }
    }

    func nextChange(_ state: ScriptedV4L2.State) -> Instant? {
        inner.withLock { inner in
            inner.isStreaming && state.cameras[path]?.isDelivering == true ? inner.due : nil
        }
    }

    /// Makes the frames that are due by `now`: those that find no buffer are lost.
    private func advance(_ camera: ScriptedCamera, _ now: Instant, _ inner: inout Inner) {
        guard inner.isStreaming else { return }
        guard camera.isDelivering else {
            // Frames that are not made have no numbers.
            inner.start = now - inner.frameTime * inner.frames
            return
        }
        while inner.due <= now {
            let (time, number) = (inner.due, inner.frames)
            inner.frames += 1
            guard let index = inner.queued.first else { continue }
            let format = camera.format(mode: inner.mode)
            var buffer = V4L2Buffer(
                index: index, planes: V4L2Planes(repeating: V4L2BufferPlane(), count: format.planes.count))
            for plane in 0..<format.planes.count {
                buffer.planes[plane].bytesUsed = format.planes[plane].sizeImage
                buffer.planes[plane].length = format.planes[plane].sizeImage
            }
            buffer.sequence = UInt32(truncatingIfNeeded: number)
            buffer.flags = 0x1_2000
            buffer.seconds = time.nanoseconds / 1_000_000_000
            buffer.microseconds = time.nanoseconds % 1_000_000_000 / 1000
            if let payload = camera.payload?(number) {
                inner.memories[Int(index)][0].fill(payload)
                buffer.planes[0].bytesUsed = UInt32(payload.count)
            } else {
                // Every byte of a picture is its number.
                for memory in inner.memories[Int(index)] {
                    memory.fill([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: memory.bytes.count))
                }
            }
            guard camera.onFrame?(number, &buffer) ?? true else { continue }
            inner.queued.removeFirst()
            inner.done.append(buffer)
        }
    }

    // MARK: V4L2Device

    func map(length: Int, offset: Int64) throws(V4L2Error) -> V4L2Mapping {
        let (index, plane) = (Int(offset / 4096), Int(offset % 4096))
        let memory = inner.withLock { inner in
            inner.memories.indices.contains(index) && inner.memories[index].indices.contains(plane)
                ? inner.memories[index][plane] : nil
        }
        guard let memory, memory.bytes.count == length else { throw V4L2Error("mmap", code: EINVAL) }
        let system = system
        system.withLock { $0.mappings += 1 }
        return V4L2Mapping(memory.bytes) {
            withExtendedLifetime(memory) { system.withLock { $0.mappings -= 1 } }
        }
    }

    func perform(_ request: V4L2Request) throws(V4L2Error) -> V4L2Answer {
        try system.withLock { state throws(V4L2Error) in
            state.requestCount += 1
            state.requests[request.name, default: 0] += 1
            guard let camera = state.cameras[path] else { throw V4L2Error(request.name, code: ENODEV) }
            if let code = state.cameras[path]?.faults[request.name]?.first {
                state.cameras[path]?.faults[request.name]?.removeFirst()
                if code != 0 { throw V4L2Error(request.name, code: code) }
            }
            return try inner.withLock { inner throws(V4L2Error) in
                guard inner.isOpen else { throw V4L2Error(request.name, code: EBADF) }
                if case .dequeueEvent = request {
                    guard !camera.events.isEmpty else { throw V4L2Error(request.name, code: ENOENT) }
                    return .event(state.cameras[path]!.events.removeFirst())
                }
                return try answer(request, camera, state.now, &inner)
            }
        }
    }

    private func answer(
        _ request: V4L2Request, _ camera: ScriptedCamera, _ now: Instant, _ inner: inout Inner
    ) throws(V4L2Error) -> V4L2Answer {
        func refuse(_ code: Int32 = EINVAL) -> V4L2Error { V4L2Error(request.name, code: code) }
        switch request {
        case .queryCapability:
            let capture: UInt32 = camera.type == .videoCapture ? 1 : 0x1000
            return .capability(
                V4L2Capability(
                    driver: "scripted", card: camera.card, busInfo: camera.busInfo,
                    capabilities: capture | 0x0400_0000))
        case .enumerateFormat(_, let index):
            var formats: [FourCC] = []
            for mode in camera.modes where !formats.contains(mode.format) { formats.append(mode.format) }
            guard Int(index) < formats.count else { throw refuse() }
            return .formatDescription(V4L2FormatDescription(pixelFormat: formats[Int(index)].rawValue))
        case .enumerateFrameSize(let format, let index):
            let modes = camera.modes.filter { $0.format.rawValue == format }
            guard Int(index) < modes.count else { throw refuse() }
            return .frameSize(.discrete(width: modes[Int(index)].width, height: modes[Int(index)].height))
        case .enumerateFrameInterval(let format, let width, let height, let index):
            let modes = camera.modes.filter {
                $0.format.rawValue == format && $0.width == width && $0.height == height
            }
            guard Int(index) < modes.count else { throw refuse() }
            return .frameInterval(.discrete(modes[Int(index)].interval))
        case .getFormat: return .format(camera.format(mode: inner.mode))
        case .setFormat(let wanted):
            guard inner.memories.isEmpty else { throw refuse(EBUSY) }
            inner.mode = camera.fits(wanted)
            inner.interval = camera.modes[inner.mode].interval
            return .format(camera.format(mode: inner.mode))
        case .setInterval:
            inner.interval = camera.realInterval ?? camera.modes[inner.mode].interval
            return .interval(inner.interval)
        case .getInterval: return .interval(inner.interval)
        case .requestBuffers(_, let count):
            inner.queued = []
            inner.done = []
            let granted = min(count, camera.mostBuffers)
            let format = camera.format(mode: inner.mode)
            inner.memories = (0..<granted).map { _ in
                (0..<format.planes.count).map { ReplayMemory(byteCount: Int(format.planes[$0].sizeImage)) }
            }
            return .count(granted)
        case .queryBuffer(_, let index):
            guard Int(index) < inner.memories.count else { throw refuse() }
            var buffer = V4L2Buffer(
                index: index,
                planes: V4L2Planes(repeating: V4L2BufferPlane(), count: inner.memories[Int(index)].count))
            for plane in 0..<buffer.planes.count {
                buffer.planes[plane].length = UInt32(inner.memories[Int(index)][plane].bytes.count)
                buffer.planes[plane].memoryOffset = index * 4096 + UInt32(plane)
            }
            return .buffer(buffer)
        case .queueBuffer(_, let index, _):
            guard Int(index) < inner.memories.count, !inner.queued.contains(index),
                !inner.done.contains(where: { $0.index == index })
            else { throw refuse() }
            inner.queued.append(index)
            return .done
        case .dequeueBuffer:
            if let code = camera.fatal { throw refuse(code) }
            advance(camera, now, &inner)
            guard !inner.done.isEmpty else { throw refuse(EAGAIN) }
            return .buffer(inner.done.removeFirst())
        case .streamOn:
            inner.isStreaming = true
            inner.start = now
            inner.frames = 0
            return .done
        case .streamOff:
            inner.isStreaming = false
            inner.queued = []
            inner.done = []
            return .done
        case .subscribeEvent: return .done
        default: throw refuse(ENOTTY)
        }
    }
}
