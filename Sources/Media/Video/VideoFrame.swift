import EmisoraCore

/// A picture: immutable samples with their format, time and orientation. Copying the value copies no samples; it may
/// be kept and passed to any thread.
///
/// `timestamp` is the instant of capture on the monotonic clock; it becomes the RTP timestamp.
public struct VideoFrame: Sendable {
    public let format: VideoFormat
    public let timestamp: Instant
    public let rotation: VideoRotation
    public let metadata: VideoFrameMetadata

    let buffer: VideoBuffer
    private let offsets: [Int]

    public var width: Int { format.width }
    public var height: Int { format.height }
    public var planeCount: Int { format.pixelFormat.planeCount }

    /// A frame on memory that is not copied. `memory`'s release closure is called once, also when this throws.
    ///
    /// - Parameter planeOffsets: where each plane begins in the memory; `nil`: one behind the other.
    public init(
        borrowing memory: BorrowedMemory, format: VideoFormat, planeOffsets: [Int]? = nil, timestamp: Instant,
        rotation: VideoRotation = .none, metadata: VideoFrameMetadata = .none
    ) throws(VideoFrameError) {
        try self.init(
            buffer: VideoBuffer(borrowing: memory), format: format, offsets: planeOffsets ?? format.planeOffsets,
            timestamp: timestamp, rotation: rotation, metadata: metadata)
    }

    /// A frame on a copy of `bytes`, whose planes lie one behind the other.
    public init(
        copying bytes: UnsafeRawBufferPointer, format: VideoFormat, timestamp: Instant,
        rotation: VideoRotation = .none, metadata: VideoFrameMetadata = .none
    ) throws(VideoFrameError) {
        let buffer = VideoBuffer(byteCount: format.byteCount)
        buffer.mutableBytes.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: bytes.prefix(min(bytes.count, format.byteCount))))
        try Self.check(format, offsets: format.planeOffsets, byteCount: bytes.count)
        try self.init(
            buffer: buffer, format: format, offsets: format.planeOffsets, timestamp: timestamp, rotation: rotation,
            metadata: metadata)
    }

    init(
        buffer: VideoBuffer, format: VideoFormat, offsets: [Int], timestamp: Instant, rotation: VideoRotation,
        metadata: VideoFrameMetadata
    ) throws(VideoFrameError) {
        try Self.check(format, offsets: offsets, byteCount: buffer.bytes.count)
        self.init(
            checked: buffer, format: format, offsets: offsets, timestamp: timestamp, rotation: rotation,
            metadata: metadata)
    }

    init(
        checked buffer: VideoBuffer, format: VideoFormat, offsets: [Int], timestamp: Instant, rotation: VideoRotation,
        metadata: VideoFrameMetadata
    ) {
        self.buffer = buffer
        self.format = format
        self.offsets = offsets
        self.timestamp = timestamp
        self.rotation = rotation
        self.metadata = metadata
    }

    private static func check(_ format: VideoFormat, offsets: [Int], byteCount: Int) throws(VideoFrameError) {
        guard offsets.count == format.pixelFormat.planeCount else {
            throw .wrongPlaneCount(needed: format.pixelFormat.planeCount, given: offsets.count)
        }
        for (plane, offset) in offsets.enumerated() {
            let needed = format.byteCount(plane: plane)
            let given = offset < 0 || offset > byteCount ? 0 : byteCount - offset
            guard given >= needed else { throw .planeTooSmall(plane: plane, needed: needed, given: given) }
        }
    }

    /// The bytes of one plane, first row first, rows `format.strides[plane]` apart.
    ///
    /// - Precondition: `plane` is below `planeCount`.
    public func withPlane<Result>(_ plane: Int, _ body: (RawSpan) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(buffer) { try body(unsafePlane(plane).bytes) }
    }

    /// All planes as pointers, for C libraries; valid during the call.
    public func withUnsafePlanes<Result>(
        _ body: ([UnsafeRawBufferPointer]) throws -> Result
    ) rethrows -> Result {
        try withExtendedLifetime(buffer) { try body((0..<planeCount).map(unsafePlane)) }
    }

    private func unsafePlane(_ plane: Int) -> UnsafeRawBufferPointer {
        let start = offsets[plane]
        return UnsafeRawBufferPointer(rebasing: buffer.bytes[start..<start + format.byteCount(plane: plane)])
    }

    /// The same picture at another time, such as that of a clock it was not captured by.
    public func withTimestamp(_ timestamp: Instant) -> VideoFrame {
        VideoFrame(
            checked: buffer, format: format, offsets: offsets, timestamp: timestamp, rotation: rotation,
            metadata: metadata)
    }

    /// The same samples under another colour label; `nil` where the format would not be valid.
    public func relabelled(colorMatrix: ColorMatrix, colorRange: ColorRange) -> VideoFrame? {
        let relabelled = try? VideoFormat(
            format.pixelFormat, width: format.width, height: format.height, strides: format.strides,
            colorMatrix: colorMatrix, colorRange: colorRange, frameRate: format.frameRate)
        return relabelled.map {
            VideoFrame(
                checked: buffer, format: $0, offsets: offsets, timestamp: timestamp, rotation: rotation,
                metadata: metadata)
        }
    }
}
