import EmisoraCore
import EmisoraVideo

/// A moving test picture in I420 that says in its own pixels which frame it is and when it was made.
///
/// Colour bars and a fine grating tell whether colours and detail survive, a ball and a sweep whether it moves, the
/// marks on top (`PatternMark`) which picture this is, and a square in the corner flashes with the clicks of a
/// `ToneCapture` on the same `ClickTrack`.
public final class PatternCapture: VideoCapture {
    public let format: VideoFormat
    private let pace: PacedCapture
    private let canvas: PatternCanvas
    private let clicks: ClickTrack?
    private let clickInterval: Int64

    /// - Parameters:
    ///   - clicks: where flashes are announced to a tone.
    ///   - clickInterval: pictures from one flash to the next.
    /// - Throws: `CaptureError.unsupportedFormat` for pictures too small for the marks (below 160×96).
    public init(
        width: Int = 640, height: Int = 480, frameRate: FrameRate = .fps30, clicks: ClickTrack? = nil,
        clickInterval: Int = 60
    ) throws(CaptureError) {
        guard width >= 160, height >= 96 else {
            throw .unsupportedFormat("The pattern needs at least 160×96 pixels; \(width)×\(height) were asked for.")
        }
        do throws(VideoFrameError) {
            format = try VideoFormat(.i420, width: width, height: height, frameRate: frameRate)
        } catch {
            throw .unsupportedFormat(error.description)
        }
        pace = PacedCapture(rate: frameRate)
        canvas = PatternCanvas(format: format)
        self.clicks = clicks
        self.clickInterval = Int64(max(1, clickInterval))
    }

    public var contentHint: VideoContentHint { .motion }
    public var isCapturing: Bool { pace.isRunning }

    public func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        try pace.start { [canvas, clicks, clickInterval, format] tick in
            if tick.skipped > 0 { consumer.didDrop(.capturerOverrun, count: tick.skipped) }
            let isFlash = tick.index % clickInterval == clickInterval - 1
            if isFlash { clicks?.add(tick.timestamp) }
            var frame = consumer.makeFrame(format)
            canvas.draw(
                into: &frame, frameNumber: UInt32(truncatingIfNeeded: tick.index), captureTime: tick.timestamp,
                isFlash: isFlash)
            consumer.consume(frame.finish(timestamp: tick.timestamp))
        }
    }

    public func stop() {
        pace.stop()
    }
}

/// Draws the pattern: a background made once, and a few moving things for each picture.
struct PatternCanvas: Sendable {
    private struct Color {
        let y, u, v: UInt8
    }

    /// The colour bars of ITU-R BT.801 at 100 %, limited range.
    private static let bars = [
        Color(y: 235, u: 128, v: 128), Color(y: 210, u: 16, v: 146), Color(y: 170, u: 166, v: 16),
        Color(y: 145, u: 54, v: 34), Color(y: 106, u: 202, v: 222), Color(y: 81, u: 90, v: 240),
        Color(y: 41, u: 240, v: 110), Color(y: 24, u: 128, v: 128),
    ]
    private static let ballColor = Color(y: 180, u: 60, v: 190)
    private static let sweepColor = Color(y: 220, u: 128, v: 128)

    private let format: VideoFormat
    private let background: [[UInt8]]
    private let cell: Int

    init(format: VideoFormat) {
        self.format = format
        cell = PatternMark.cellSide(width: format.width)
        background = Self.makeBackground(format, cell: cell)
    }

    private static func makeBackground(_ format: VideoFormat, cell: Int) -> [[UInt8]] {
        let width = format.width
        let height = format.height
        let top = (PatternMark.rows + 2) * cell
        let barsEnd = top + (height - top) * 5 / 8
        var luma = [UInt8](repeating: PatternMark.bright, count: width * height)
        let chromaWidth = format.strides[1]
        let chromaHeight = format.rowCount(plane: 1)
        var u = [UInt8](repeating: 128, count: chromaWidth * chromaHeight)
        var v = u
        for y in top..<height {
            for x in 0..<width {
                // Below the bars a grating that gets finer to the right, over a soft ramp.
                let ramp = 60 + 120 * x / width
                let period = max(2, 24 - 22 * x / width)
                luma[y * width + x] =
                    y < barsEnd ? bars[x * bars.count / width].y : UInt8(ramp + (x / period % 2 == 0 ? 18 : -18))
            }
        }
        for y in top / 2..<barsEnd / 2 {
            for x in 0..<chromaWidth {
                let bar = bars[min(2 * x, width - 1) * bars.count / width]
                u[y * chromaWidth + x] = bar.u
                v[y * chromaWidth + x] = bar.v
            }
        }
        return [luma, u, v]
    }

    func draw(into frame: inout MutableVideoFrame, frameNumber: UInt32, captureTime: Instant, isFlash: Bool) {
        frame.withUnsafeMutablePlanes { planes in
            for (plane, bytes) in background.enumerated() {
                bytes.withUnsafeBytes { source in
                    planes[plane].copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<planes[plane].count]))
                }
            }
            drawMark(PatternMark.bits(frameNumber: frameNumber, captureTime: captureTime), planes[0])
            drawBall(frameNumber, planes)
            drawSweep(frameNumber, planes)
            if isFlash {
                fill(planes, x: 0, y: format.height - 4 * cell, width: 4 * cell, height: 4 * cell, Self.bars[0])
            }
        }
    }

    private func drawMark(_ bits: [Bool], _ luma: UnsafeMutableRawBufferPointer) {
        for (index, bit) in bits.enumerated() where !bit {
            let column = index % PatternMark.columns + 2
            let row = index / PatternMark.columns + 1
            for y in row * cell..<(row + 1) * cell {
                let start = y * format.strides[0] + column * cell
                memset(luma, start, cell, PatternMark.dark)
            }
        }
    }

    private func drawBall(_ frameNumber: UInt32, _ planes: [UnsafeMutableRawBufferPointer]) {
        let radius = format.height / 10
        let top = (PatternMark.rows + 2) * cell
        let x = Self.bounce(Int(frameNumber) * 5, limit: format.width - 2 * radius) + radius
        let y = top + Self.bounce(Int(frameNumber) * 3, limit: max(1, format.height - top - 2 * radius)) + radius
        for dy in -radius..<radius {
            let half = Int(Double(radius * radius - dy * dy).squareRoot())
            fill(planes, x: x - half, y: y + dy, width: 2 * half, height: 1, Self.ballColor)
        }
    }

    private func drawSweep(_ frameNumber: UInt32, _ planes: [UnsafeMutableRawBufferPointer]) {
        let height = max(4, cell / 2)
        let width = format.width / 8
        let x = Self.bounce(Int(frameNumber) * 7, limit: format.width - width)
        fill(planes, x: x, y: format.height - height, width: width, height: height, Self.sweepColor)
    }

    /// Back and forth between 0 and `limit`.
    private static func bounce(_ distance: Int, limit: Int) -> Int {
        guard limit > 0 else { return 0 }
        let place = distance % (2 * limit)
        return place < limit ? place : 2 * limit - place
    }

    private func fill(
        _ planes: [UnsafeMutableRawBufferPointer], x: Int, y: Int, width: Int, height: Int, _ color: Color
    ) {
        let left = max(0, x)
        let right = min(format.width, x + width)
        guard left < right else { return }
        for row in max(0, y)..<min(format.height, y + height) {
            memset(planes[0], row * format.strides[0] + left, right - left, color.y)
            if row % 2 == 0 {
                let start = row / 2 * format.strides[1] + left / 2
                let count = min((right - left + 1) / 2, format.rowByteCount(plane: 1) - left / 2)
                memset(planes[1], start, count, color.u)
                memset(planes[2], start, count, color.v)
            }
        }
    }

    private func memset(_ bytes: UnsafeMutableRawBufferPointer, _ start: Int, _ count: Int, _ value: UInt8) {
        guard count > 0, start >= 0, start + count <= bytes.count else { return }
        UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + count]).initializeMemory(
            as: UInt8.self, repeating: value)
    }
}
