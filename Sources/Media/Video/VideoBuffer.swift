/// Memory of the application's or a driver's that frames can be made on without copying it.
///
/// Make one for each buffer when capturing starts; each frame made on it calls `release` exactly once, when its last
/// reference is dropped, on whatever thread that happens, also when making the frame throws. The memory must stay
/// mapped and unchanged until then, even after capturing has stopped.
///
/// ```swift
/// let memory = BorrowedMemory(mapped) { driver.requeue(index) }
/// consumer.consume(try VideoFrame(borrowing: memory, format: format, timestamp: time))
/// ```
public final class BorrowedMemory: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: the pointer is constant and only read through; the closure is Sendable.
    let bytes: UnsafeRawBufferPointer
    let release: @Sendable () -> Void

    public init(_ bytes: UnsafeRawBufferPointer, release: @escaping @Sendable () -> Void) {
        self.bytes = bytes
        self.release = release
    }
}

/// The reference-counted memory behind frames: written by one `MutableVideoFrame`, then only read.
final class VideoBuffer: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: only the unique `MutableVideoFrame` that holds the sole reference beside
    // the pool's writes; from `finish` on the memory is read only, and the pool hands it out again only when
    // nobody else refers to it.
    let bytes: UnsafeRawBufferPointer
    private let borrowed: BorrowedMemory?

    /// Owned memory, 64-byte aligned for the vector units.
    init(byteCount: Int) {
        bytes = UnsafeRawBufferPointer(
            UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, byteCount), alignment: 64))
        borrowed = nil
    }

    init(borrowing memory: BorrowedMemory) {
        bytes = memory.bytes
        borrowed = memory
    }

    deinit {
        if let borrowed { borrowed.release() } else { bytes.deallocate() }
    }

    /// Only for the unique writer.
    var mutableBytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(mutating: bytes) }
}
