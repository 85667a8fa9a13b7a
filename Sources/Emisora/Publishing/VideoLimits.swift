import EmisoraVideo

/// The most that encoded pictures may be, in the units in which VP8's receivers say it (RFC 7741 §6.1). Whatever else
/// comes to bound size or rate joins in by ``tightened(by:)``.
struct VideoLimits: Hashable, Sendable {
    /// In macroblocks of 16×16 pixels (`max-fs`); `nil`: any size.
    var frameSize: Int?
    /// In pictures a second (`max-fr`); `nil`: any rate.
    var frameRate: Int?

    /// What both allow.
    func tightened(by other: VideoLimits) -> VideoLimits {
        func least(_ a: Int?, _ b: Int?) -> Int? { [a, b].compactMap { $0 }.min() }
        return VideoLimits(
            frameSize: least(frameSize, other.frameSize), frameRate: least(frameRate, other.frameRate))
    }

    func allows(_ size: VideoSize) -> Bool {
        guard let frameSize else { return true }
        let columns = Self.macroblocks(size.width)
        let rows = Self.macroblocks(size.height)
        let (count, overflow) = columns.multipliedReportingOverflow(by: rows)
        return !overflow && count <= frameSize && max(columns, rows) <= Self.longestSide(frameSize)
    }

    /// The largest size of the same shape that is allowed, with even sides; `size` itself where it is.
    func size(for size: VideoSize) -> VideoSize {
        guard let frameSize, !allows(size), size.width > 0, size.height > 0 else { return size }
        let longest = Double(Self.longestSide(frameSize) * 16)
        let area = Double(max(1, frameSize) * 256)
        let byArea = (area / (Double(size.width) * Double(size.height))).squareRoot()
        let scale = min(1, byArea, longest / Double(max(size.width, size.height)))
        var width = max(2, Int(Double(size.width) * scale) & ~1)
        while width > 2 {
            let scaled = Self.scaled(size, toWidth: width)
            if allows(scaled) { return scaled }
            // Macroblocks at the edges are counted whole: a row or column less is enough.
            width -= 2
        }
        return VideoSize(width: 2, height: 2 * min(8, max(1, size.height / max(1, size.width))))
    }

    private static func scaled(_ size: VideoSize, toWidth width: Int) -> VideoSize {
        let exact = Double(width) * Double(size.height) / Double(size.width)
        return VideoSize(width: width, height: max(2, Int((exact / 2).rounded()) * 2))
    }

    private static func macroblocks(_ pixels: Int) -> Int { max(0, pixels) / 16 + (pixels % 16 > 0 ? 1 : 0) }

    /// Neither side may be longer than that many macroblocks.
    private static func longestSide(_ frameSize: Int) -> Int { Int((Double(max(1, frameSize)) * 8).squareRoot()) }
}
