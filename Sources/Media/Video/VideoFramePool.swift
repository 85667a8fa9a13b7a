import EmisoraCore
import Synchronization

/// Reuses the memory of pictures. Safe from any thread; frames may outlive the pool's last other reference.
///
/// Memory is taken from the system when no free buffer fits, and given back when pictures change their size, so a
/// steady stream allocates no picture memory after its first few frames.
public final class VideoFramePool: Sendable {
    /// The most frames in use at a time.
    public let limit: Int
    /// What new memory holds.
    private let fill: UInt8
    private let state = Mutex(State())

    private struct State: ~Copyable {
        var free: [PoolMemory] = []
        var inUse = 0
        var allocations = 0

        deinit {
            for memory in free { memory.deallocate() }
        }
    }

    public convenience init(limit: Int = 12) {
        self.init(limit: limit, fill: 0)
    }

    /// - Parameter fill: What new memory holds, for tests that look for what was not written.
    package init(limit: Int, fill: UInt8) {
        self.limit = max(1, limit)
        self.fill = fill
        state.withLock { $0.free.reserveCapacity(self.limit) }
    }

    /// Frames that have not come back yet, written or being written.
    public var framesInUse: Int { state.withLock { $0.inUse } }
    /// How often picture memory was taken from the system since the pool was made.
    public var allocations: Int { state.withLock { $0.allocations } }

    /// A frame to write into. Its memory holds what an earlier picture left there; new memory is zero.
    ///
    /// - Throws: ``VideoFrameError/poolExhausted(limit:)``, or what ``VideoFormat/validate()`` throws.
    public func makeFrame(_ format: VideoFormat) throws(VideoFrameError) -> MutableVideoFrame {
        try format.validate()
        let memory = try takeMemory(byteCount: format.byteCount)
        let planes: UnsafeFramePlanes
        do throws(VideoFrameError) {
            planes = try UnsafeFramePlanes(format, in: UnsafeRawBufferPointer(memory.bytes), at: nil)
        } catch {
            takeBack(memory)
            throw error
        }
        return MutableVideoFrame(storage: FrameStorage(planes: planes, owner: .pool(self, memory)), format: format)
    }

    private func takeMemory(byteCount: Int) throws(VideoFrameError) -> PoolMemory {
        let limit = limit
        let taken: PoolMemory? = try state.withLock { state throws(VideoFrameError) in
            guard state.inUse < limit else { throw .poolExhausted(limit: limit) }
            state.inUse += 1
            while let last = state.free.popLast() {
                if last.bytes.count == byteCount { return last }
                last.deallocate()
            }
            state.allocations += 1
            return nil
        }
        return taken ?? PoolMemory.allocate(byteCount: byteCount, fill: fill)
    }

    func takeBack(_ memory: PoolMemory) {
        state.withLock {
            $0.inUse -= 1
            $0.free.append(memory)
        }
    }
}

/// A piece of memory that a pool owns.
struct PoolMemory: @unchecked Sendable {
    // Invariant: held either by the pool's free list or by the one `FrameStorage` that uses it.

    let bytes: UnsafeMutableRawBufferPointer

    /// Filled, so that a frame that is not fully written never shows what the process had in its memory; aligned to
    /// cache lines.
    static func allocate(byteCount: Int, fill: UInt8) -> PoolMemory {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: fill)
        return PoolMemory(bytes: bytes)
    }

    func deallocate() {
        bytes.deallocate()
    }
}
