import EmisoraCore
import EmisoraVideo

/// Reads the mark out of a picture of ``PatternCapture``, whatever its pixel format, after coding, scaling of the
/// whole picture, turning or mirroring.
///
/// ```swift
/// if let mark = PatternReader.read(frame) {
///     print(mark.frameNumber, (MonotonicClock.now - mark.captureTime).inMilliseconds)
/// }
/// ```
public enum PatternReader {
    /// The mark, or `nil` if there is none that can be read without doubt.
    public static func read(_ frame: VideoFrame) -> PatternMark? {
        let format = frame.format
        return frame.withUnsafePlanes { planes in
            let luma = LumaSampler(format, plane: planes[0])
            for isMirrored in [false, true] {
                for rotation in VideoRotation.allCases {
                    let view = PatternView(luma: luma, rotation: rotation, isMirrored: isMirrored)
                    guard let (number, time) = view.readPanel() else { continue }
                    return PatternMark(
                        frameNumber: number, captureTime: time, rotation: rotation, isMirrored: isMirrored)
                }
            }
            return nil
        }
    }
}

/// Brightness of single pixels.
private struct LumaSampler {
    let format: VideoFormat
    private let plane: UnsafeRawBufferPointer
    private let stride: Int

    init(_ format: VideoFormat, plane: UnsafeRawBufferPointer) {
        self.format = format
        self.plane = plane
        stride = format.stride(ofPlane: 0)
    }

    /// `x` and `y` must lie within the picture.
    func luma(_ x: Int, _ y: Int) -> Int {
        let row = y * stride
        switch format.pixelFormat {
        case .i420, .nv12, .nv21: return Int(plane[row + x])
        case .yuy2: return Int(plane[row + 2 * x])
        case .uyvy: return Int(plane[row + 2 * x + 1])
        case .argb: return weigh(red: row + 4 * x + 1, green: row + 4 * x + 2, blue: row + 4 * x + 3)
        case .bgra: return weigh(red: row + 4 * x + 2, green: row + 4 * x + 1, blue: row + 4 * x)
        case .rgba: return weigh(red: row + 4 * x, green: row + 4 * x + 1, blue: row + 4 * x + 2)
        case .rgb24: return weigh(red: row + 3 * x, green: row + 3 * x + 1, blue: row + 3 * x + 2)
        }
    }

    private func weigh(red: Int, green: Int, blue: Int) -> Int {
        (77 * Int(plane[red]) + 150 * Int(plane[green]) + 29 * Int(plane[blue])) >> 8
    }
}

/// A picture as it looks after mirroring it and turning it upright.
private struct PatternView {
    let luma: LumaSampler
    let rotation: VideoRotation
    let isMirrored: Bool

    /// Cells must differ by this much between black and white, of 219.
    private static let leastContrast = 40

    private var width: Int { rotation.swapsSides ? luma.format.height : luma.format.width }
    private var height: Int { rotation.swapsSides ? luma.format.width : luma.format.height }

    func readPanel() -> (frameNumber: UInt32, captureTime: Instant)? {
        guard width >= PatternPanel.gridColumns, height >= PatternPanel.gridRows else { return nil }
        guard let threshold = threshold() else { return nil }
        var rows: [UInt16] = []
        for row in 0..<PatternPanel.rows {
            var word: UInt16 = 0
            for column in 0..<PatternPanel.columns {
                word = word << 1 | (brightness(column, row) > threshold ? 1 : 0)
            }
            rows.append(word)
            if row == 0, word != PatternPanel.sync { return nil }
        }
        return PatternPanel.decode(rows)
    }

    /// Half-way between the cells of the sync row that should be white and those that should be black.
    private func threshold() -> Int? {
        var (white, black) = (0, 0)
        for column in 0..<PatternPanel.columns {
            let isWhite = PatternPanel.sync >> UInt16(15 - column) & 1 == 1
            if isWhite { white += brightness(column, 0) } else { black += brightness(column, 0) }
        }
        let half = PatternPanel.columns / 2
        guard white - black >= Self.leastContrast * half else { return nil }
        return (white + black) / (2 * half)
    }

    /// The mean over the inner half of a cell, where coding and scaling have not mixed it with its neighbours.
    private func brightness(_ column: Int, _ row: Int) -> Int {
        let left = PatternPanel.x(PatternPanel.firstColumn + column, width: width)
        let right = PatternPanel.x(PatternPanel.firstColumn + column + 1, width: width)
        let top = PatternPanel.y(PatternPanel.firstRow + row, height: height)
        let bottom = PatternPanel.y(PatternPanel.firstRow + row + 1, height: height)
        let (marginX, marginY) = ((right - left) / 4, (bottom - top) / 4)
        // Eight points a side are enough in large pictures.
        let stepX = max(1, (right - left) / 16)
        let stepY = max(1, (bottom - top) / 16)
        var (sum, count) = (0, 0)
        for y in stride(from: top + marginY, to: max(bottom - marginY, top + marginY + 1), by: stepY) {
            for x in stride(from: left + marginX, to: max(right - marginX, left + marginX + 1), by: stepX) {
                sum += pixel(x, y)
                count += 1
            }
        }
        return sum / count
    }

    private func pixel(_ x: Int, _ y: Int) -> Int {
        let (frameX, frameY) =
            switch rotation {
            case .none: (x, y)
            case .clockwise90: (y, width - 1 - x)
            case .clockwise180: (width - 1 - x, height - 1 - y)
            case .clockwise270: (height - 1 - y, x)
            }
        return luma.luma(isMirrored ? luma.format.width - 1 - frameX : frameX, frameY)
    }
}
