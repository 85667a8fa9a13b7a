import EmisoraCore
import EmisoraVideo
import Synchronization

/// The buffers of a running stream: mapped once, lent to frames, given back to the driver.
///
/// A buffer is with the driver, with the capturer's thread, or with a frame. Frames give theirs back from any thread,
/// also after the stream ended: the memory stays mapped until its last frame is gone.
final class CameraBuffers: Sendable {
    private let desk: CameraBufferDesk
    private let borrowed: [BorrowedBuffer]
    private let mappings: [[V4L2Mapping]]

    var count: Int { mappings.count }

    /// Requests, maps and queues the buffers. On failure the driver keeps none.
    ///
    /// - Parameter onTrouble: Told, on whatever thread, that the driver did not take a buffer back.
    init(
        _ device: any V4L2Device, type: V4L2BufferType, picture: CameraPicture, count wanted: Int,
        onTrouble: @escaping @Sendable () -> Void
    ) throws(V4L2Error) {
        let granted = try device.requestBuffers(type, count: UInt32(clamping: wanted))
        var mappings: [[V4L2Mapping]] = []
        do throws(V4L2Error) {
            // With one buffer a driver has none to fill while a frame is read; more than the API's 32 are not used.
            guard granted >= 2 else { throw V4L2Error("VIDIOC_REQBUFS", code: V4L2Error.outOfMemory) }
            for index in 0..<min(granted, 32) {
                let buffer = try device.queryBuffer(type, index: index)
                guard buffer.planes.count >= picture.memoryPlanes else {
                    throw V4L2Error("VIDIOC_QUERYBUF", code: V4L2Error.protocolViolation)
                }
                var planes: [V4L2Mapping] = []
                for plane in 0..<picture.memoryPlanes {
                    let length = Int(buffer.planes[plane].length)
                    guard length >= picture.neededBytes(inPlane: plane) else {
                        throw V4L2Error("VIDIOC_QUERYBUF", code: V4L2Error.protocolViolation)
                    }
                    planes.append(try device.map(length: length, offset: Int64(buffer.planes[plane].memoryOffset)))
                }
                mappings.append(planes)
            }
        } catch {
            mappings.removeAll()
            _ = try? device.requestBuffers(type, count: 0)
            throw error
        }
        self.mappings = mappings
        let desk = CameraBufferDesk(
            device, type: type, planeCount: picture.memoryPlanes, count: mappings.count, onTrouble: onTrouble)
        self.desk = desk
        borrowed = mappings.enumerated().map { index, planes in
            BorrowedBuffer(planes: planes.map(\.bytes)) {
                withExtendedLifetime(planes) { desk.giveBack(index) }
            }
        }
        for index in mappings.indices { desk.giveBack(index) }
    }

    /// Takes note that the driver handed over a buffer; `false` if it is not one that the driver had.
    func take(_ buffer: V4L2Buffer) -> Bool {
        mappings.indices.contains(Int(buffer.index)) && desk.take(Int(buffer.index))
    }

    /// How many buffers the driver has.
    var withDriver: Int { desk.withDriver }

    /// The memory of a buffer that was taken.
    func memory(_ index: UInt32, plane: Int) -> UnsafeRawBufferPointer { mappings[Int(index)][plane].bytes }

    /// What a frame on the memory of a buffer that was taken is made with; the frame gives it back.
    func lend(_ index: UInt32) -> BorrowedBuffer { borrowed[Int(index)] }

    /// Gives a buffer that was taken back to the driver.
    func giveBack(_ index: UInt32) {
        desk.giveBack(Int(index))
    }

    /// Whether the driver has refused buffers, which are offered to it again by ``retry()``.
    var hasRefused: Bool { desk.hasRefused }

    func retry() {
        desk.retry()
    }

    /// Calls `stop`, after which the driver has no buffers any more, and offers them to it again.
    func reclaim(after stop: () throws(V4L2Error) -> Void) throws(V4L2Error) {
        try desk.reclaim(after: stop)
    }

    /// Frames that come back from now on stay here.
    func close() {
        desk.close()
    }
}

/// Who has which buffer. Knows nothing of memory, so that what frames hold does not hold them.
private final class CameraBufferDesk: Sendable {
    private enum Place: Hashable {
        case driver
        case away
        /// The driver refused it.
        case refused
    }

    private struct State: Sendable {
        var places: [Place]
        var withDriver = 0
        var refused = 0
        var isOpen = true
    }

    private let device: any V4L2Device
    private let type: V4L2BufferType
    private let planeCount: Int
    private let onTrouble: @Sendable () -> Void
    private let state: Mutex<State>

    init(
        _ device: any V4L2Device, type: V4L2BufferType, planeCount: Int, count: Int,
        onTrouble: @escaping @Sendable () -> Void
    ) {
        self.device = device
        self.type = type
        self.planeCount = planeCount
        self.onTrouble = onTrouble
        state = Mutex(State(places: [Place](repeating: .away, count: count)))
    }

    var withDriver: Int { state.withLock { $0.withDriver } }
    var hasRefused: Bool { state.withLock { $0.refused > 0 } }

    func take(_ index: Int) -> Bool {
        state.withLock { state in
            guard state.places[index] == .driver else { return false }
            state.places[index] = .away
            state.withDriver -= 1
            return true
        }
    }

    func giveBack(_ index: Int) {
        let isRefused = state.withLock { state in
            // With the lock held, so that no buffer is queued after the stream was closed.
            state.isOpen && state.places[index] == .away && !offer(index, &state)
        }
        if isRefused { onTrouble() }
    }

    func retry() {
        state.withLock { state in
            guard state.isOpen, state.refused > 0 else { return }
            for index in state.places.indices where state.places[index] == .refused {
                state.refused -= 1
                // One refusal stands for the rest.
                guard offer(index, &state) else { return }
            }
        }
    }

    func reclaim(after stop: () throws(V4L2Error) -> Void) throws(V4L2Error) {
        try state.withLock { state throws(V4L2Error) in
            // With the lock held: what a frame gives back is queued either before the stop or after all others.
            try stop()
            for index in state.places.indices where state.places[index] != .away { state.places[index] = .refused }
            state.withDriver = 0
            state.refused = state.places.count { $0 == .refused }
        }
        retry()
    }

    private func offer(_ index: Int, _ state: inout State) -> Bool {
        do throws(V4L2Error) {
            try device.queueBuffer(type, index: UInt32(index), planeCount: planeCount)
            state.places[index] = .driver
            state.withDriver += 1
            return true
        } catch {
            state.places[index] = .refused
            state.refused += 1
            return false
        }
    }

    func close() {
        state.withLock { $0.isOpen = false }
    }
}
