import CEmisoraXCB
import EmisoraVideo
import Glibc
import Synchronization

/// Memory that the X server writes images into (MIT-SHM), made by the server and mapped here; the one owner of the
/// mapping. Frames on it may outlive the connection.
final class SharedSegment: @unchecked Sendable {
    // Invariant: written only by the capture thread (by asking the server, and the cursor) while it is not lent.

    let id: UInt32
    let bytes: UnsafeMutableRawBufferPointer

    init(_ x: XConnection, byteCount: Int) throws(XFailure) {
        guard let size = UInt32(exactly: byteCount), size > 0 else { throw .refused(code: Int(XCB_VALUE)) }
        let id = x.newIdentifier()
        let cookie = xcb_shm_create_segment(x.handle, id, size, 0)
        let reply = try x.reply { xcb_shm_create_segment_reply($0, cookie, $1) }
        guard reply.value.nfd == 1, let descriptors = xcb_shm_create_segment_reply_fds(x.handle, reply.pointer) else {
            throw .connectionLost
        }
        let descriptor = descriptors[0]
        defer { close(descriptor) }
        var status = stat()
        // A shorter file would be a bus error at its end.
        guard fstat(descriptor, &status) == 0, status.st_size >= byteCount,
            let memory = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
        else {
            xcb_shm_detach(x.handle, id)
            throw .refused(code: Int(XCB_ALLOC))
        }
        self.id = id
        bytes = UnsafeMutableRawBufferPointer(start: memory, count: byteCount)
    }

    deinit {
        munmap(bytes.baseAddress, bytes.count)
    }

    /// Tells the server to forget it.
    func detach(_ x: XConnection) {
        xcb_shm_detach(x.handle, id)
    }
}

/// Segments of one size, lent to frames one after another without a copy.
final class SegmentRing {
    /// One with the encoder, one that waits for it, one that is kept to be repeated, one that is being filled; and as
    /// many again for applications that keep frames.
    static let capacity = 8

    let byteCount: Int
    private let x: XConnection
    private var entries: [(segment: SharedSegment, buffer: BorrowedBuffer)] = []
    private let free = FreeList()

    init(_ x: XConnection, byteCount: Int) {
        self.x = x
        self.byteCount = byteCount
    }

    deinit {
        for entry in entries { entry.segment.detach(x) }
    }

    /// A segment that nobody uses, `nil` if all are in use. Making a frame with its buffer, or ``giveBack(_:)``, ends
    /// its being taken.
    func take() throws(XFailure) -> Int? {
        if let index = free.pop() { return index }
        guard entries.count < Self.capacity else { return nil }
        let segment = try SharedSegment(x, byteCount: byteCount)
        let index = entries.count
        let buffer = BorrowedBuffer(UnsafeRawBufferPointer(segment.bytes)) { [free] in
            withExtendedLifetime(segment) { free.push(index) }
        }
        entries.append((segment, buffer))
        return index
    }

    func giveBack(_ index: Int) {
        free.push(index)
    }

    func segment(_ index: Int) -> SharedSegment { entries[index].segment }
    func buffer(_ index: Int) -> BorrowedBuffer { entries[index].buffer }
}

/// Which segments are free; frames give theirs back from any thread.
private final class FreeList: Sendable {
    private let indices = Mutex<[Int]>([])

    func pop() -> Int? { indices.withLock { $0.popLast() } }
    func push(_ index: Int) { indices.withLock { $0.append(index) } }
}
