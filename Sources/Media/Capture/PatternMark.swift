import EmisoraCore
import EmisoraVideo

/// What a `PatternCapture` writes into the pixels of each picture: 112 bits of big black and white cells, which survive
/// VP8 at low rates, with a checksum that tells whether they did.
///
/// Four rows of 28 cells: frame number (32 bits), capture time (64 bits), CRC-16 (16 bits), most significant first. A
/// cell is a fortieth of the picture's width; the field begins two cells from the left and one from the top.
public struct PatternMark: Hashable, Sendable {
    public let frameNumber: UInt32
    /// When the picture was made, on the maker's monotonic clock.
    public let captureTime: Instant
    /// How the picture lay that the mark was read from: `.none` is upright.
    public let rotation: VideoRotation

    static let columns = 28
    static let rows = 4
    static let bitCount = columns * rows

    static func cellSide(width: Int) -> Int { max(4, width / 40 & ~1) }
    static let dark: UInt8 = 32
    static let bright: UInt8 = 220

    static func bits(frameNumber: UInt32, captureTime: Instant) -> [Bool] {
        var bytes: [UInt8] = (0..<4).map { UInt8(truncatingIfNeeded: frameNumber >> (24 - 8 * $0)) }
        let time = UInt64(bitPattern: captureTime.nanoseconds)
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        let check = crc16(bytes)
        bytes += [UInt8(check >> 8), UInt8(truncatingIfNeeded: check)]
        return bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 == 1 } }
    }

    init?(bits: [Bool], rotation: VideoRotation) {
        guard bits.count == Self.bitCount else { return nil }
        let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
        guard Self.crc16(Array(bytes[..<12])) == UInt16(bytes[12]) << 8 | UInt16(bytes[13]) else { return nil }
        frameNumber = bytes[..<4].reduce(0) { $0 << 8 | UInt32($1) }
        captureTime = Instant(
            nanoseconds: Int64(bitPattern: bytes[4..<12].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }))
        self.rotation = rotation
    }

    /// CRC-16/CCITT-FALSE: never zero for zero bytes, so a black picture is no mark.
    private static func crc16(_ bytes: [UInt8]) -> UInt16 {
        bytes.reduce(0xFFFF) { crc, byte in
            (0..<8).reduce(crc ^ UInt16(byte) << 8) { crc, _ in crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
        }
    }
}

/// Finds the mark of a `PatternCapture` in a decoded picture.
public enum PatternReader {
    /// The mark, or `nil` where the picture has none that is intact. Reads the luma of I420, NV12 and NV21 pictures in
    /// any of the four orientations.
    public static func read(_ frame: VideoFrame) -> PatternMark? {
        switch frame.format.pixelFormat {
        case .i420, .nv12, .nv21: break
        case .yuy2, .uyvy, .argb, .bgra, .rgba, .rgb24: return nil
        }
        return frame.withPlane(0) { luma in
            for rotation in VideoRotation.allCases {
                if let mark = read(luma, frame.format, rotation) { return mark }
            }
            return nil
        }
    }

    private static func read(_ luma: RawSpan, _ format: VideoFormat, _ rotation: VideoRotation) -> PatternMark? {
        let isUpright = rotation == .none || rotation == .clockwise180
        let width = isUpright ? format.width : format.height
        let height = isUpright ? format.height : format.width
        let side = PatternMark.cellSide(width: width)
        guard (PatternMark.columns + 4) * side <= width, (PatternMark.rows + 2) * side <= height else { return nil }
        /// The sample at a place of the upright picture, wherever it lies in this one.
        func sample(_ x: Int, _ y: Int) -> Int {
            let (column, row) =
                switch rotation {
                case .none: (x, y)
                // The picture has to be turned clockwise by `rotation` to stand upright, so it lies turned back.
                case .clockwise90: (y, format.height - 1 - x)
                case .clockwise180: (format.width - 1 - x, format.height - 1 - y)
                case .clockwise270: (format.width - 1 - y, x)
                }
            return Int(luma.unsafeLoad(fromByteOffset: row * format.strides[0] + column, as: UInt8.self))
        }
        let inner = side / 4..<side - side / 4
        let threshold = (Int(PatternMark.dark) + Int(PatternMark.bright)) / 2 * inner.count * inner.count
        var bits: [Bool] = []
        bits.reserveCapacity(PatternMark.bitCount)
        for row in 1...PatternMark.rows {
            for column in 2..<PatternMark.columns + 2 {
                var sum = 0
                for y in inner { for x in inner { sum += sample(column * side + x, row * side + y) } }
                bits.append(sum > threshold)
            }
        }
        return PatternMark(bits: bits, rotation: rotation)
    }
}
