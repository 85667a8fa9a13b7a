import EmisoraCore
import EmisoraVideo

/// What a picture of ``PatternCapture`` says about itself in its pixels.
public struct PatternMark: Hashable, Sendable {
    /// The number of the picture, counted from 0.
    public var frameNumber: UInt32
    /// When it was captured, on the publisher's monotonic clock.
    public var captureTime: Instant
    /// How far the picture that was read must be turned clockwise to stand upright.
    public var rotation: VideoRotation
    /// Whether the picture that was read is reversed left to right (before turning).
    public var isMirrored: Bool

    public init(
        frameNumber: UInt32, captureTime: Instant, rotation: VideoRotation = .none, isMirrored: Bool = false
    ) {
        self.frameNumber = frameNumber
        self.captureTime = captureTime
        self.rotation = rotation
        self.isMirrored = isMirrored
    }
}

/// The panel of black and white cells that carries a mark: 16 columns, 8 rows, at a fixed place of the 40 × 30 grid
/// that divides any picture, so that it can be found again after scaling.
///
/// Row 0 is ``sync``; then, most significant bit first: frame number (32 bits), capture time in nanoseconds (64),
/// CRC-16 of both (CCITT, start value 0xFFFF).
enum PatternPanel {
    static let gridColumns = 40
    static let gridRows = 30
    static let columns = 16
    static let rows = 8
    static let firstColumn = 12
    static let firstRow = 20

    /// As many ones as zeros, and no symmetry: it reads differently from each side.
    static let sync: UInt16 = 0xB5C4

    /// The left edge of a grid column in a picture of `width` pixels.
    static func x(_ column: Int, width: Int) -> Int { width * column / gridColumns }
    /// The upper edge of a grid row in a picture of `height` pixels.
    static func y(_ row: Int, height: Int) -> Int { height * row / gridRows }

    /// The panel's rows, bit 15 the leftmost cell.
    static func encode(frameNumber: UInt32, captureTime: Instant) -> [UInt16] {
        let time = UInt64(bitPattern: captureTime.nanoseconds)
        var words = [UInt16(truncatingIfNeeded: frameNumber >> 16), UInt16(truncatingIfNeeded: frameNumber)]
        for shift in [48, 32, 16, 0] { words.append(UInt16(truncatingIfNeeded: time >> UInt64(shift))) }
        return [sync] + words + [crc(words)]
    }

    /// Frame number and capture time, if the rows are a panel's.
    static func decode(_ rows: [UInt16]) -> (frameNumber: UInt32, captureTime: Instant)? {
        guard rows.count == Self.rows, rows[0] == sync, crc(rows[1..<7]) == rows[7] else { return nil }
        let number = UInt32(rows[1]) << 16 | UInt32(rows[2])
        let time = rows[3..<7].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
        return (number, Instant(nanoseconds: Int64(bitPattern: time)))
    }

    private static func crc(_ words: some Sequence<UInt16>) -> UInt16 {
        var crc: UInt16 = 0xFFFF
        for word in words {
            crc ^= word
            for _ in 0..<16 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
        }
        return crc
    }
}
