import EmisoraCore
import EmisoraVideo
import Glibc

/// Draws the test picture: what stands still once, what moves for each picture, in luma alone.
package struct PatternPicture: Sendable {
    package let format: VideoFormat
    private let luma: [UInt8]
    /// Chroma as the format has it: U then V, or interleaved.
    private let chroma: [UInt8]

    /// - Parameter format: I420 or NV12, at least 160 × 120, BT.601 limited range.
    package init(_ format: VideoFormat) {
        self.format = format
        var canvas = PatternCanvas(width: format.width, height: format.height)
        canvas.drawBackground()
        luma = canvas.luma
        chroma = format.pixelFormat == .i420 ? canvas.u + canvas.v : zip(canvas.u, canvas.v).flatMap { [$0, $1] }
    }

    /// - Parameters:
    ///   - time: Written into the picture as its capture time.
    ///   - elapsed: What the movement follows.
    ///   - flashes: Whether the box on the left lights up.
    package func draw(
        into picture: inout MutableVideoFrame, frameNumber: UInt32, time: Instant, elapsed: Duration, flashes: Bool
    ) {
        let layout = format.layout(ofPlane: 0)
        picture.withUnsafeMutablePlane(0) { pixels in
            copy(luma[...], into: pixels, layout)
            var painter = LumaPainter(pixels: pixels, width: format.width, height: format.height, stride: layout.stride)
            painter.drawSweep(elapsed)
            painter.drawHand(elapsed)
            if flashes { painter.fill(columns: 3..<9, rows: 21..<27, with: 235) }
            painter.drawPanel(PatternPanel.encode(frameNumber: frameNumber, captureTime: time))
        }
        var rest = chroma[...]
        for plane in 1..<format.planeCount {
            let layout = format.layout(ofPlane: plane)
            picture.withUnsafeMutablePlane(plane) { copy(rest, into: $0, layout) }
            rest = rest.dropFirst(layout.rowBytes * layout.rows)
        }
    }

    private func copy(_ rows: ArraySlice<UInt8>, into plane: UnsafeMutableRawBufferPointer, _ layout: PlaneLayout) {
        rows.withUnsafeBytes { rows in
            for row in 0..<layout.rows {
                let line = UnsafeRawBufferPointer(rebasing: rows[row * layout.rowBytes..<(row + 1) * layout.rowBytes])
                let start = row * layout.stride
                UnsafeMutableRawBufferPointer(rebasing: plane[start..<start + layout.rowBytes]).copyMemory(from: line)
            }
        }
    }
}

/// What moves, drawn straight into the picture.
private struct LumaPainter {
    let pixels: UnsafeMutableRawBufferPointer
    let width: Int
    let height: Int
    let stride: Int

    mutating func fill(columns: Range<Int>, rows: Range<Int>, with luma: UInt8) {
        let left = PatternPanel.x(columns.lowerBound, width: width)
        let right = PatternPanel.x(columns.upperBound, width: width)
        let top = PatternPanel.y(rows.lowerBound, height: height)
        let bottom = PatternPanel.y(rows.upperBound, height: height)
        fill(left: left, right: right, top: top, bottom: bottom, with: luma)
    }

    mutating func fill(left: Int, right: Int, top: Int, bottom: Int, with luma: UInt8) {
        guard left < right else { return }
        for y in top..<bottom {
            UnsafeMutableRawBufferPointer(rebasing: pixels[y * stride + left..<y * stride + right])
                .initializeMemory(as: UInt8.self, repeating: luma)
        }
    }

    /// A bright line that crosses the colour bars in four seconds.
    mutating func drawSweep(_ elapsed: Duration) {
        let period: Int64 = 4_000_000_000
        let x = Int(Int64(width) * (max(0, elapsed.nanoseconds) % period) / period)
        let bottom = PatternPanel.y(17, height: height)
        fill(left: x, right: min(width, x + max(2, width / 160)), top: 0, bottom: bottom, with: 235)
    }

    /// The hand of the dial, one turn in two seconds.
    mutating func drawHand(_ elapsed: Duration) {
        let dial = Dial(width: width, height: height)
        let turn = Double(max(0, elapsed.nanoseconds) % 2_000_000_000) / 2_000_000_000
        let (dx, dy) = (sin(2 * .pi * turn), -cos(2 * .pi * turn))
        let length = Double(dial.radius) * 0.85
        let halfWidth = max(1, Double(dial.radius) / 14)
        for y in dial.centerY - dial.radius..<dial.centerY + dial.radius {
            for x in dial.centerX - dial.radius..<dial.centerX + dial.radius {
                let (px, py) = (Double(x - dial.centerX), Double(y - dial.centerY))
                let along = px * dx + py * dy
                if along >= 0, along <= length, abs(px * dy - py * dx) <= halfWidth {
                    pixels.storeBytes(of: 235, toByteOffset: y * stride + x, as: UInt8.self)
                }
            }
        }
    }

    mutating func drawPanel(_ words: [UInt16]) {
        for (row, word) in words.enumerated() {
            let rows = PatternPanel.firstRow + row..<PatternPanel.firstRow + row + 1
            for column in 0..<PatternPanel.columns {
                let first = PatternPanel.firstColumn + column
                let isWhite = word >> UInt16(PatternPanel.columns - 1 - column) & 1 == 1
                fill(columns: first..<first + 1, rows: rows, with: isWhite ? 235 : 16)
            }
        }
    }
}

/// The disc in the middle of the colour bars.
private struct Dial {
    let centerX: Int
    let centerY: Int
    let radius: Int

    init(width: Int, height: Int) {
        centerX = width / 2
        centerY = PatternPanel.y(8, height: height) + height / 60
        radius = min(PatternPanel.x(8, width: width), PatternPanel.y(7, height: height))
    }
}

/// What stands still, with its colours.
private struct PatternCanvas {
    let width: Int
    let height: Int
    let chromaWidth: Int
    var luma: [UInt8]
    var u: [UInt8]
    var v: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        chromaWidth = (width + 1) / 2
        luma = [UInt8](repeating: 40, count: width * height)
        u = [UInt8](repeating: 128, count: chromaWidth * ((height + 1) / 2))
        v = u
    }

    mutating func drawBackground() {
        drawBars()
        drawRamp()
        drawDetail()
        drawDial()
        // The panel's dark frame keeps its cells clear of what lies around; the box on the left is for flashes.
        fill(columns: 11..<29, rows: 19..<29, color: (16, 128, 128))
        fill(columns: 3..<9, rows: 21..<27, color: (16, 128, 128))
    }

    /// Colour bars at 75 %, in BT.601 limited range.
    private mutating func drawBars() {
        let bars: [(UInt8, UInt8, UInt8)] = [
            (180, 128, 128), (162, 44, 142), (131, 156, 44), (112, 72, 58), (84, 184, 198), (65, 100, 212),
            (35, 212, 114), (16, 128, 128),
        ]
        for (index, bar) in bars.enumerated() {
            fill(columns: index * 5..<index * 5 + 5, rows: 0..<17, color: bar)
        }
    }

    /// A grey ramp from black to white.
    private mutating func drawRamp() {
        fill(columns: 0..<40, rows: 17..<18, color: (16, 128, 128))
        for y in PatternPanel.y(17, height: height)..<PatternPanel.y(18, height: height) {
            for x in 0..<width { luma[y * width + x] = UInt8(16 + 219 * x / width) }
        }
    }

    /// Rings that get finer outward, on the right: what the codec loses first.
    private mutating func drawDetail() {
        let (left, right) = (PatternPanel.x(31, width: width), PatternPanel.x(37, width: width))
        let (top, bottom) = (PatternPanel.y(21, height: height), PatternPanel.y(27, height: height))
        let scale = Double(max(1, right - left))
        for y in top..<bottom {
            for x in left..<right {
                let (dx, dy) = (Double(x - left) / scale - 0.5, Double(y - top) / scale - 0.5)
                luma[y * width + x] = UInt8(clamping: Int(126 + 80 * cos(90 * (dx * dx + dy * dy))))
            }
        }
    }

    private mutating func drawDial() {
        let dial = Dial(width: width, height: height)
        let inner = dial.radius - max(1, dial.radius / 20)
        for y in dial.centerY - dial.radius..<dial.centerY + dial.radius {
            for x in dial.centerX - dial.radius..<dial.centerX + dial.radius {
                let (dx, dy) = (x - dial.centerX, y - dial.centerY)
                let distance = dx * dx + dy * dy
                guard distance <= dial.radius * dial.radius else { continue }
                set(x, y, (distance > inner * inner ? 235 : 60, 128, 128))
            }
        }
    }

    private mutating func fill(columns: Range<Int>, rows: Range<Int>, color: (UInt8, UInt8, UInt8)) {
        let xs = PatternPanel.x(columns.lowerBound, width: width)..<PatternPanel.x(columns.upperBound, width: width)
        let ys = PatternPanel.y(rows.lowerBound, height: height)..<PatternPanel.y(rows.upperBound, height: height)
        for y in ys {
            for x in xs { set(x, y, color) }
        }
    }

    private mutating func set(_ x: Int, _ y: Int, _ color: (UInt8, UInt8, UInt8)) {
        luma[y * width + x] = color.0
        u[y / 2 * chromaWidth + x / 2] = color.1
        v[y / 2 * chromaWidth + x / 2] = color.2
    }
}
