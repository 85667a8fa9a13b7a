import EmisoraCore
import EmisoraVideo
import Synchronization

/// Random pixels in ARGB, the capturer of OpenTok's example: the source that needs no hardware.
///
/// Independent noise in every pixel would need some 20 Mbit/s at 640×480. So each noise sample is a block of `grain`
/// pixels, `amplitude` bounds how far it strays from grey, and by default both are such that VP8 holds 640×480 at 30
/// pictures a second in 1.5 Mbit/s. Rows are copied from a sheet of noise at random offsets, which costs less than
/// three times what clearing the memory would.
public final class NoiseCapture: VideoCapture {
    public struct Options: Hashable, Sendable {
        /// How far a sample strays from middle grey, 0…127.
        public var amplitude: Int
        /// Pixels on each side of a block that has one colour, 1…64.
        public var grain: Int
        /// The same seed gives the same pictures.
        public var seed: UInt64

        public init(amplitude: Int = 28, grain: Int = 16, seed: UInt64 = 1) {
            self.amplitude = amplitude
            self.grain = grain
            self.seed = seed
        }
    }

    public let format: VideoFormat
    private let pace: PacedCapture
    private let sheet: NoiseSheet

    /// - Throws: `CaptureError.unsupportedFormat` when size or options are out of range.
    public init(
        width: Int = 640, height: Int = 480, frameRate: FrameRate = .fps30, options: Options = Options()
    ) throws(CaptureError) {
        guard (0...127).contains(options.amplitude), (1...64).contains(options.grain) else {
            throw .unsupportedFormat("Noise needs an amplitude of 0 to 127 and a grain of 1 to 64.")
        }
        do throws(VideoFrameError) {
            format = try VideoFormat(.argb, width: width, height: height, frameRate: frameRate)
        } catch {
            throw .unsupportedFormat(error.description)
        }
        pace = PacedCapture(rate: frameRate)
        sheet = NoiseSheet(rowByteCount: 4 * width, options: options)
    }

    public var isCapturing: Bool { pace.isRunning }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        let format = format
        let sheet = sheet
        let random = Mutex(Xorshift(sheet.seed))
        try pace.start { tick in
            if tick.skipped > 0 { consumer.didDrop(.capturerOverrun, count: tick.skipped) }
            var frame = consumer.makeFrame(format)
            random.withLock { random in
                frame.withMutablePlane(0) { sheet.fill(&$0, format: format, using: &random) }
            }
            consumer.consume(frame.finish(timestamp: tick.timestamp))
        }
    }

    public func stop() {
        pace.stop()
    }
}

/// Rows of noise made once, longer than a picture is wide, to be copied from at random places.
struct NoiseSheet: Sendable {
    private static let rowCount = 16
    private static let extraBlocks = 64

    let seed: UInt64
    private let grain: Int
    private let sheetRowByteCount: Int
    private let bytes: [UInt8]

    init(rowByteCount: Int, options: NoiseCapture.Options) {
        seed = options.seed | 1
        grain = options.grain
        var random = Xorshift(seed)
        let blocks = rowByteCount / 4 / grain + 1 + Self.extraBlocks
        sheetRowByteCount = 4 * grain * blocks
        let spread = UInt64(2 * options.amplitude + 1)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sheetRowByteCount * Self.rowCount)
        for _ in 0..<Self.rowCount * blocks {
            let pixel = [255] + (0..<3).map { _ in UInt8(128 - options.amplitude + Int(random.next() % spread)) }
            for _ in 0..<grain { bytes += pixel }
        }
        self.bytes = bytes
    }

    /// Fills a picture: each band of `grain` rows from one place of the sheet.
    func fill(_ pixels: inout MutableRawSpan, format: VideoFormat, using random: inout Xorshift) {
        let rowByteCount = format.rowByteCount(plane: 0)
        let stride = format.strides[0]
        let places = UInt64(sheetRowByteCount - rowByteCount) / 4 + 1
        pixels.withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes { source in
                var row = 0
                while row < format.height {
                    let drawn = random.next()
                    let sheetRow = Int(drawn % UInt64(Self.rowCount))
                    let place = Int(drawn >> 8 % places) * 4
                    let start = sheetRow * sheetRowByteCount + place
                    let band = UnsafeRawBufferPointer(rebasing: source[start..<start + rowByteCount])
                    for line in row..<min(row + grain, format.height) {
                        let end = line * stride + rowByteCount
                        UnsafeMutableRawBufferPointer(rebasing: target[line * stride..<end]).copyMemory(from: band)
                    }
                    row += grain
                }
            }
        }
    }
}

/// xorshift64*: fast, and good enough to look at.
struct Xorshift: Sendable {
    private var state: UInt64

    init(_ seed: UInt64) {
        state = seed | 1
    }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return (state &* 0x2545_F491_4F6C_DD1D) >> 8
    }
}
