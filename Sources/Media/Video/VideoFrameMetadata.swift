/// Up to 32 bytes of the application's own that travel with a frame inside the process. Stored in place.
public struct VideoFrameMetadata: Hashable, Sendable {
    public static let maximumByteCount = 32
    public static let none = VideoFrameMetadata()

    private var words: SIMD4<UInt64> = .zero
    public private(set) var byteCount = 0

    private init() {}

    public init(_ bytes: some Collection<UInt8>) throws(VideoFrameError) {
        guard bytes.count <= Self.maximumByteCount else { throw .metadataTooLong(given: bytes.count) }
        byteCount = bytes.count
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
    }

    public var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0.prefix(byteCount)) } }
}
