/// Picture memory that belongs to someone else, such as a camera driver's mapping: made once per buffer when
/// capturing starts, used by one frame after another without a copy.
///
/// ```swift
/// let buffer = BorrowedBuffer(mapping) { camera.requeue(index) }       // once
/// let frame = try VideoFrame(borrowing: buffer, format: format, timestamp: now)  // per picture
/// ```
///
/// `onRelease` is called exactly once for each use, when the last reference to that frame goes, on whatever thread
/// lets go of it — also after the capturer was stopped, and also when making the frame throws. Keep the mapping
/// alive through what the closure captures: the closure lives as long as this object and all frames made with it.
public final class BorrowedBuffer: @unchecked Sendable {
    // Invariant: the regions are only read, and only while a use is between its start and its release.

    private let regions: [UnsafeRawBufferPointer]
    private let onRelease: @Sendable () -> Void

    /// Memory that holds all planes of a picture.
    public init(_ memory: UnsafeRawBufferPointer, onRelease: @escaping @Sendable () -> Void) {
        regions = [memory]
        self.onRelease = onRelease
    }

    /// Memory with a region for each plane, as multi-planar drivers have it.
    public init(planes: [UnsafeRawBufferPointer], onRelease: @escaping @Sendable () -> Void) {
        regions = planes
        self.onRelease = onRelease
    }

    /// Starts a use of the memory. It ends with the last reference to the result, or at once if this throws.
    func use(_ format: VideoFormat, planeOffsets: [Int]?) throws(VideoFrameError) -> FrameStorage {
        do throws(VideoFrameError) {
            try format.validate()
            let planes =
                if regions.count == 1 {
                    try UnsafeFramePlanes(format, in: regions[0], at: planeOffsets)
                } else {
                    try UnsafeFramePlanes(format, in: regions)
                }
            return FrameStorage(planes: planes, owner: .borrowed(self))
        } catch {
            release()
            throw error
        }
    }

    func release() {
        onRelease()
    }
}
