import EmisoraCore

/// A picture being written: the only reference to its memory. Fill its planes, then `finish` it into a `VideoFrame`.
///
/// ```swift
/// var frame = try pool.makeFrame(format)
/// frame.withMutablePlane(0) { pixels in … }
/// consumer.consume(frame.finish(timestamp: now))
/// ```
public struct MutableVideoFrame: ~Copyable, Sendable {
    public let format: VideoFormat
    private let buffer: VideoBuffer
    private let offsets: [Int]

    init(buffer: VideoBuffer, format: VideoFormat, offsets: [Int]) {
        self.buffer = buffer
        self.format = format
        self.offsets = offsets
    }

    /// The bytes of one plane, writable. They hold whatever an earlier picture left in them.
    ///
    /// - Precondition: `plane` is below the format's number of planes.
    public mutating func withMutablePlane<Result>(
        _ plane: Int, _ body: (inout MutableRawSpan) throws -> Result
    ) rethrows -> Result {
        var span = unsafeMutablePlane(plane).mutableBytes
        return try body(&span)
    }

    /// All planes as pointers, for C libraries; valid during the call.
    public mutating func withUnsafeMutablePlanes<Result>(
        _ body: ([UnsafeMutableRawBufferPointer]) throws -> Result
    ) rethrows -> Result {
        var planes: [UnsafeMutableRawBufferPointer] = []
        for plane in 0..<offsets.count { planes.append(unsafeMutablePlane(plane)) }
        return try body(planes)
    }

    private func unsafeMutablePlane(_ plane: Int) -> UnsafeMutableRawBufferPointer {
        let start = offsets[plane]
        return UnsafeMutableRawBufferPointer(
            rebasing: buffer.mutableBytes[start..<start + format.byteCount(plane: plane)])
    }

    /// Ends writing. From here on the picture cannot change.
    public consuming func finish(
        timestamp: Instant, rotation: VideoRotation = .none, metadata: VideoFrameMetadata = .none
    ) -> VideoFrame {
        VideoFrame(
            checked: buffer, format: format, offsets: offsets, timestamp: timestamp, rotation: rotation,
            metadata: metadata)
    }
}
