import EmisoraCore
import EmisoraVideo
import Glibc

/// SplitMix64: the same seed gives the same numbers.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

enum Picture {
    static func time(_ index: Int) -> Instant { Instant(nanoseconds: 1_000_000_000 + Int64(index) * 33_333_333) }

    /// A gradient that moves with the index, in I420 or NV12, rows `padding` bytes longer than needed.
    static func gradient(
        _ pixelFormat: PixelFormat = .i420, width: Int = 320, height: Int = 240, index: Int = 0, padding: Int = 0
    ) throws -> VideoFrame {
        let strides = (0..<pixelFormat.planeCount).map {
            VideoFormat(pixelFormat, width: width, height: height).layout(ofPlane: $0).rowBytes + padding
        }
        let format = VideoFormat(pixelFormat, width: width, height: height, strides: strides)
        return try make(format, index: index) { plane, row, byte in
            if plane == 0 { return UInt8(truncatingIfNeeded: 40 + (byte + 2 * index + row) / 3 % 160) }
            let column = pixelFormat == .i420 ? byte : byte / 2
            let isU = pixelFormat == .i420 ? plane == 1 : byte % 2 == 0
            return UInt8(truncatingIfNeeded: isU ? 90 + (column + index) / 4 % 70 : 160 - (row + index) / 4 % 70)
        }
    }

    static func noise(width: Int = 320, height: Int = 240, index: Int, random: inout SeededRandom) throws -> VideoFrame
    {
        try make(VideoFormat(.i420, width: width, height: height), index: index) { _, _, _ in
            UInt8(truncatingIfNeeded: random.next())
        }
    }

    /// The samples of each plane repeat the given values.
    static func flat(
        _ pixelFormat: PixelFormat, _ values: [[UInt8]], width: Int = 32, height: Int = 32,
        matrix: ColorMatrix = .bt601, range: ColorRange = .limited
    ) throws -> VideoFrame {
        let format = VideoFormat(pixelFormat, width: width, height: height, colorMatrix: matrix, colorRange: range)
        return try make(format, index: 0) { plane, _, byte in values[plane][byte % values[plane].count] }
    }

    static func make(
        _ format: VideoFormat, index: Int, _ sample: (_ plane: Int, _ row: Int, _ byte: Int) -> UInt8
    ) throws -> VideoFrame {
        // What lies between the rows differs from the picture, so that a reader that ignores strides is found out.
        var frame = try VideoFramePool().makeFrame(format)
        for plane in 0..<format.planeCount {
            frame.withPlane(plane) { bytes, layout in
                for offset in bytes.byteOffsets { bytes.storeBytes(of: 0xFF, toByteOffset: offset, as: UInt8.self) }
                for row in 0..<layout.rows {
                    for byte in 0..<layout.rowBytes {
                        let value = sample(plane, row, byte)
                        bytes.storeBytes(of: value, toByteOffset: row * layout.stride + byte, as: UInt8.self)
                    }
                }
            }
        }
        return frame.finish(timestamp: time(index))
    }
}

enum Sound {
    /// 20 ms of a sine, mono, following on for rising indices.
    static func tone(_ index: Int, frequency: Double = 440, amplitude: Double = 8_000) -> [Int16] {
        (0..<960).map { Int16(amplitude * sin(2 * .pi * frequency * Double(index * 960 + $0) / 48_000)) }
    }

    /// The amplitude of one frequency (Goertzel).
    static func amplitude(of frequency: Double, in samples: some Collection<Int16>) -> Double {
        let coefficient = 2 * cos(2 * Double.pi * frequency / 48_000)
        var first = 0.0
        var second = 0.0
        for sample in samples { (first, second) = (Double(sample) + coefficient * first - second, first) }
        let power = first * first + second * second - coefficient * first * second
        return 2 * max(0, power).squareRoot() / Double(samples.count)
    }

    static func level(_ samples: some Collection<Int16>) -> Double {
        (samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(1, samples.count))).squareRoot()
    }
}
