import EmisoraCore
import EmisoraVideo
import Synchronization

/// Moving coloured noise, in ARGB: a picture source that needs nothing.
///
/// ```swift
/// let capture = NoiseCapture(width: 640, height: 480, frameRate: 30)
/// ```
///
/// White noise cannot be compressed: 640×480 would take 15–23 Mbit/s. By default the grain is coarse and soft enough
/// for VP8 to hold 640×480 at 30 pictures a second in 1.5 Mbit/s. `grain: 1, amplitude: 127` is the full storm.
///
/// Each picture costs about as much as copying it: rows are cut at random places out of a sheet of noise drawn once.
/// Pictures are made no larger and no more often than ``VideoCaptureConsumer/wants`` asks.
public final class NoiseCapture: VideoCapture {
    public let format: VideoFormat
    /// How far samples lie from mid grey at most, 0…127.
    public let amplitude: Int
    /// The side of a grain in pixels, 1…256.
    public let grain: Int
    private let seed: UInt64
    private let pacer = Pacer()

    /// - Parameters:
    ///   - amplitude: How far samples lie from mid grey at most, 0…127.
    ///   - grain: The side of a grain in pixels, 1…256. Multiples of 16 suit VP8's blocks.
    ///   - seed: The same seed gives the same pictures; `nil` takes one at random.
    public init(
        width: Int = 640, height: Int = 480, frameRate: FrameRate = 30, amplitude: Int = 48, grain: Int = 16,
        seed: UInt64? = nil
    ) {
        format = VideoFormat(.argb, width: width, height: height, frameRate: frameRate)
        self.amplitude = amplitude
        self.grain = grain
        self.seed = seed ?? UInt64.random(in: .min ... .max)
    }

    public var isCapturing: Bool { pacer.isRunning }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        let rate = try format.checkForPacing()
        guard (0...127).contains(amplitude) else {
            throw .invalidOption("amplitude \(amplitude): must be 0 to 127")
        }
        guard (1...256).contains(grain) else { throw .invalidOption("grain \(grain): must be 1 to 256") }
        let format = format
        let source = Mutex(NoiseSheet(width: format.width, amplitude: amplitude, grain: grain, seed: seed))
        try pacer.start(rate, into: consumer) { tick, consumer in
            var picture = try consumer.makeFrame(format.scaled(for: consumer.wants))
            source.withLock { $0.draw(into: &picture) }
            return picture.finish(timestamp: tick.time)
        }
    }

    public func stop() {
        pacer.stop()
    }
}

/// Rows of noise, wider than the picture, from which pictures are cut.
package struct NoiseSheet: Sendable {
    private static let rows = 64
    private static let shifts = 64

    private let grain: Int
    /// Rows of ``rowBytes`` bytes, each grain already as wide as it will be seen.
    private let sheet: [UInt8]
    private let rowBytes: Int
    private var random: SplitMix64

    package init(width: Int, amplitude: Int, grain: Int, seed: UInt64) {
        self.grain = grain
        random = SplitMix64(seed: seed)
        let columns = (width + grain - 1) / grain + Self.shifts
        rowBytes = columns * grain * 4
        var sheet: [UInt8] = []
        sheet.reserveCapacity(rowBytes * Self.rows)
        for _ in 0..<Self.rows * columns {
            let red = Self.level(amplitude, &random)
            let green = Self.level(amplitude, &random)
            let blue = Self.level(amplitude, &random)
            for _ in 0..<grain { sheet.append(contentsOf: [0xFF, red, green, blue]) }
        }
        self.sheet = sheet
    }

    /// Fills an ARGB picture, at most as wide as the sheet was made for: each band of grains is a stretch of a random row from a random place.
    package mutating func draw(into picture: inout MutableVideoFrame) {
        let layout = picture.format.layout(ofPlane: 0)
        picture.withUnsafeMutablePlane(0) { pixels in
            var top = 0
            while top < layout.rows {
                let row = random.below(Self.rows)
                let shift = random.below(Self.shifts) * grain * 4
                let bottom = min(top + grain, layout.rows)
                sheet.withUnsafeBytes { sheet in
                    let cut = UnsafeRawBufferPointer(rebasing: sheet[row * rowBytes + shift..<(row + 1) * rowBytes])
                    let source = UnsafeRawBufferPointer(rebasing: cut[..<layout.rowBytes])
                    for line in top..<bottom {
                        let start = line * layout.stride
                        UnsafeMutableRawBufferPointer(rebasing: pixels[start..<start + layout.rowBytes])
                            .copyMemory(from: source)
                    }
                }
                top = bottom
            }
        }
    }

    private static func level(_ amplitude: Int, _ random: inout SplitMix64) -> UInt8 {
        UInt8(clamping: 128 - amplitude + random.below(2 * amplitude + 1))
    }
}
