/// One use of a piece of picture memory. When the last frame that refers to it goes, the memory goes back to where
/// it came from, on the thread that let go.
///
/// This object is the one allocation a frame costs (about a hundred bytes); the picture's memory is reused.
final class FrameStorage: @unchecked Sendable {
    // Invariant: `planes` point into memory that `owner` keeps mapped and that nobody writes while a `VideoFrame`
    // refers to it. Writing happens only through the unique `MutableVideoFrame` before there is a `VideoFrame`.

    enum Owner {
        case pool(VideoFramePool, PoolMemory)
        case borrowed(BorrowedBuffer)
    }

    let planes: UnsafeFramePlanes
    private let owner: Owner

    init(planes: UnsafeFramePlanes, owner: Owner) {
        self.planes = planes
        self.owner = owner
    }

    deinit {
        switch owner {
        case .pool(let pool, let memory): pool.takeBack(memory)
        case .borrowed(let buffer): buffer.release()
        }
    }
}

/// The planes of a frame as bare pointers, to hand to C. Valid only inside the closure that received them.
///
/// Plane `i` has `format.layout(ofPlane: i).byteCount` readable bytes.
public struct UnsafeFramePlanes {
    private var plane0: UnsafeRawBufferPointer
    private var plane1 = UnsafeRawBufferPointer(start: nil, count: 0)
    private var plane2 = UnsafeRawBufferPointer(start: nil, count: 0)
    /// 1 to 3.
    public let count: Int

    public subscript(plane: Int) -> UnsafeRawBufferPointer {
        precondition(0 <= plane && plane < count, "the frame has \(count) planes, asked for \(plane)")
        return plane == 0 ? plane0 : plane == 1 ? plane1 : plane2
    }

    /// Planes of `format` that lie at `offsets`, or one after the other, in `memory`.
    init(_ format: VideoFormat, in memory: UnsafeRawBufferPointer, at offsets: [Int]?) throws(VideoFrameError) {
        count = format.planeCount
        if let offsets, offsets.count != count { throw .wrongPlaneCount(needed: count, given: offsets.count) }
        plane0 = memory
        var next = 0
        for plane in 0..<count {
            let layout = format.layout(ofPlane: plane)
            let offset = offsets.map { $0[plane] } ?? next
            let available = offset >= 0 ? max(0, memory.count - offset) : 0
            guard available >= layout.byteCount else {
                throw .planeTooSmall(plane: plane, needed: layout.byteCount, given: available)
            }
            set(plane, UnsafeRawBufferPointer(rebasing: memory[offset..<offset + layout.byteCount]))
            next = offset + min(layout.paddedByteCount, available)
        }
    }

    /// Planes of `format`, each at the start of a region of its own.
    init(_ format: VideoFormat, in regions: [UnsafeRawBufferPointer]) throws(VideoFrameError) {
        count = format.planeCount
        guard regions.count == count else { throw .wrongPlaneCount(needed: count, given: regions.count) }
        plane0 = regions[0]
        for plane in 0..<count {
            let needed = format.layout(ofPlane: plane).byteCount
            guard regions[plane].count >= needed else {
                throw .planeTooSmall(plane: plane, needed: needed, given: regions[plane].count)
            }
            set(plane, UnsafeRawBufferPointer(rebasing: regions[plane][..<needed]))
        }
    }

    private mutating func set(_ plane: Int, _ bytes: UnsafeRawBufferPointer) {
        switch plane {
        case 0: plane0 = bytes
        case 1: plane1 = bytes
        default: plane2 = bytes
        }
    }
}
