import EmisoraCore

/// A picture: a value on an immutable, reference-counted buffer. Copies share the buffer; any thread may read it.
///
/// Made by finishing a ``MutableVideoFrame``, or on borrowed memory. When the last copy goes, the memory returns to
/// its pool or its lender.
///
/// ```swift
/// let luma = frame.plane(0)                        // a RawSpan, bounds-checked
/// let stride = frame.format.stride(ofPlane: 0)
/// let topLeft = luma.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
/// ```
public struct VideoFrame: Sendable {
    public let format: VideoFormat
    /// When the picture was taken, on the monotonic clock; of a picture that was received, when it is to be shown.
    public var timestamp: Instant
    /// How far receivers must turn the picture clockwise to show it upright.
    public var rotation: VideoRotation
    public var metadata: FrameMetadata
    private let storage: FrameStorage

    /// A picture on borrowed memory, without a copy.
    ///
    /// - Parameters:
    ///   - planeOffsets: Where in a single region of memory each plane starts, in bytes; `nil` if the planes follow
    ///     one another, each with whole rows of its stride.
    /// - Throws: If `format` is not valid, or a plane does not fit its memory. The use of `buffer` ends then.
    public init(
        borrowing buffer: BorrowedBuffer, format: VideoFormat, planeOffsets: [Int]? = nil, timestamp: Instant,
        rotation: VideoRotation = .none, metadata: FrameMetadata = FrameMetadata()
    ) throws(VideoFrameError) {
        self.init(
            storage: try buffer.use(format, planeOffsets: planeOffsets), format: format, timestamp: timestamp,
            rotation: rotation, metadata: metadata)
    }

    init(
        storage: FrameStorage, format: VideoFormat, timestamp: Instant, rotation: VideoRotation,
        metadata: FrameMetadata
    ) {
        self.storage = storage
        self.format = format
        self.timestamp = timestamp
        self.rotation = rotation
        self.metadata = metadata
    }

    public var width: Int { format.width }
    public var height: Int { format.height }
    public var size: VideoSize { format.size }
    public var planeCount: Int { format.planeCount }

    /// The bytes of a plane: `format.layout(ofPlane:)` says where its rows are. Traps if there is no such plane.
    @_lifetime(borrow self)
    public func plane(_ index: Int) -> RawSpan {
        _overrideLifetime(RawSpan(_unsafeBytes: storage.planes[index]), borrowing: self)
    }

    /// Calls `body` with the planes as bare pointers, to hand to C. They must not be kept beyond the call.
    public func withUnsafePlanes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeFramePlanes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let planes = storage.planes
        defer { withExtendedLifetime(storage) {} }
        return try body(planes)
    }
}
