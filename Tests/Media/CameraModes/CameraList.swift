import EmisoraCapture
import EmisoraVideo
import Testing

/// A camera's modes in a text that people can read, with what it is to answer to wishes.
struct CameraList: Sendable, CustomTestStringConvertible {
    let modes: CameraModes
    let wishes: [Wish]

    var testDescription: String { modes.label }

    struct Wish: Sendable {
        /// `1280x720@30`, `@30000/1001`, `640x480` or nothing.
        let wish: String
        /// `MJPG 1280x720 1/30`, `-` for an interval that is left to the driver; `nil` where there is no choice.
        let expected: String?
        let reason: String

        init(_ wish: String, _ expected: String?, _ reason: String) {
            self.wish = wish
            self.expected = expected
            self.reason = reason
        }
    }

    init(
        _ label: String = "", driver: String = "", bus: String = "", multiplanar: Bool = false,
        isPartial: Bool = false, current: CameraModes.Current? = nil, _ text: String, wishes: [Wish]
    ) {
        modes = CameraModes(
            label: label, driver: driver, bus: bus, multiplanar: multiplanar, formats: Self.formats(text),
            isPartial: isPartial, current: current)
        self.wishes = wishes
    }

    /// Formats of lines `FOUR`, sizes of lines `  640x480 32..64+2x32..64+2 : 1/30 1/30..1/1+1/30`.
    private static func formats(_ text: String) -> [CameraModes.Format] {
        var formats: [CameraModes.Format] = []
        // Formats in a row share the sizes after them.
        var open: [FourCC] = []
        var sizes: [CameraModes.Size] = []
        var waiting: [CameraModes.Extent] = []
        func close() {
            formats += open.map { .init($0, sizes: sizes) }
            open = []
            sizes = []
        }
        for line in text.split(separator: "\n") {
            guard line.hasPrefix("  ") else {
                if !sizes.isEmpty { close() }
                open.append(FourCC(String(line))!)
                continue
            }
            let halves = line.split(separator: ":", omittingEmptySubsequences: false)
            waiting += halves[0].split(separator: " ").map { extent(String($0)) }
            guard halves.count == 2 else { continue }
            let intervals = halves[1].split(separator: " ").map { Self.intervals(String($0)) }
            sizes += waiting.map { .init($0, intervals: intervals) }
            waiting = []
        }
        close()
        return formats
    }

    private static func extent(_ text: String) -> CameraModes.Extent {
        let sides = text.split(separator: "x").map { numbers(String($0)) }
        guard sides[0].count > 1 else { return .discrete(width: sides[0][0], height: sides[1][0]) }
        let range = CameraModes.SizeRange(
            minWidth: sides[0][0], maxWidth: sides[0][1], stepWidth: sides[0].count > 2 ? sides[0][2] : 1,
            minHeight: sides[1][0], maxHeight: sides[1][1], stepHeight: sides[1].count > 2 ? sides[1][2] : 1)
        return sides[0].count > 2 ? .stepwise(range) : .continuous(range)
    }

    private static func intervals(_ text: String) -> CameraModes.Intervals {
        let parts = text.split(whereSeparator: { $0 == "." || $0 == "+" }).map { part -> FrameInterval in
            let sides = part.split(separator: "/").map { UInt32($0)! }
            return FrameInterval(sides[0], sides[1])
        }
        switch parts.count {
        case 1: return .discrete(parts[0])
        case 2: return .continuous(min: parts[0], max: parts[1])
        default: return .stepwise(min: parts[0], max: parts[1], step: parts[2])
        }
    }

    private static func numbers(_ text: String) -> [Int] {
        text.split(whereSeparator: { $0 == "." || $0 == "+" }).map { Int($0)! }
    }
}

extension CameraWish {
    /// `1280x720@30000/1001`, either half may be missing.
    init(_ text: String) {
        self.init()
        let halves = text.split(separator: "@", omittingEmptySubsequences: false)
        let size = (halves.first ?? "").split(separator: "x").compactMap { Int($0) }
        if size.count == 2 { (width, height) = (size[0], size[1]) }
        guard halves.count > 1 else { return }
        let rate = halves[1].split(separator: "/").compactMap { Int($0) }
        frameRate = FrameRate(rate[0], rate.count > 1 ? rate[1] : 1)
    }
}

extension CameraMode {
    /// As in the lists.
    var listText: String { "\(fourcc) \(width)x\(height) \(interval?.description ?? "-")" }
}
