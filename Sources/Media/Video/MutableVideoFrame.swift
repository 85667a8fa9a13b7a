import EmisoraCore

/// A picture that is still being written: the only reference to its memory, from a ``VideoFramePool``.
///
/// ```swift
/// var picture = try consumer.makeFrame(format)
/// picture.withPlane(0) { bytes, layout in … }
/// let frame = picture.finish(timestamp: now)
/// ```
///
/// The memory holds what an earlier picture left there; write all of it. Dropped unfinished, it returns to the pool.
public struct MutableVideoFrame: ~Copyable, Sendable {
    public let format: VideoFormat
    private let storage: FrameStorage

    init(storage: FrameStorage, format: VideoFormat) {
        self.storage = storage
        self.format = format
    }

    public var width: Int { format.width }
    public var height: Int { format.height }

    /// The writable bytes of a plane: `format.layout(ofPlane:)` says where its rows are. Traps if there is no such
    /// plane.
    @_lifetime(&self)
    public mutating func mutablePlane(_ index: Int) -> MutableRawSpan {
        let span = MutableRawSpan(_unsafeBytes: mutableBytes(ofPlane: index))
        return _overrideLifetime(span, mutating: &self)
    }

    /// Calls `body` with the writable bytes of a plane and its layout. Traps if there is no such plane.
    public mutating func withPlane<Result: ~Copyable, Failure: Error>(
        _ index: Int, _ body: (inout MutableRawSpan, PlaneLayout) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let layout = format.layout(ofPlane: index)
        var span = mutablePlane(index)
        return try body(&span, layout)
    }

    /// Calls `body` with a plane as a bare pointer, to hand to C. It must not be kept beyond the call.
    public mutating func withUnsafeMutablePlane<Result: ~Copyable, Failure: Error>(
        _ index: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let bytes = mutableBytes(ofPlane: index)
        defer { withExtendedLifetime(storage) {} }
        return try body(bytes)
    }

    /// Calls `body` with all planes as bare pointers; those beyond the format's number of planes are empty.
    public mutating func withUnsafeMutablePlanes<Result: ~Copyable, Failure: Error>(
        _ body: (
            UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer
        ) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        let count = format.planeCount
        let plane1 = count > 1 ? mutableBytes(ofPlane: 1) : none
        let plane2 = count > 2 ? mutableBytes(ofPlane: 2) : none
        defer { withExtendedLifetime(storage) {} }
        return try body(mutableBytes(ofPlane: 0), plane1, plane2)
    }

    /// Ends writing: the picture becomes an immutable value.
    ///
    /// - Parameter timestamp: When the picture was taken, on the monotonic clock.
    public consuming func finish(
        timestamp: Instant, rotation: VideoRotation = .none, metadata: FrameMetadata = FrameMetadata()
    ) -> VideoFrame {
        VideoFrame(storage: storage, format: format, timestamp: timestamp, rotation: rotation, metadata: metadata)
    }

    /// Sound because the memory came from the pool as mutable and this value is the only one to refer to it.
    private func mutableBytes(ofPlane index: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(mutating: storage.planes[index])
    }
}
