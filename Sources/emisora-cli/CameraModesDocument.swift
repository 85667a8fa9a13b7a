import Emisora
import FoundationEssentials

/// ``CameraModes`` in JSON, both ways: what VIDIOC_ENUM_FMT, VIDIOC_ENUM_FRAMESIZES and VIDIOC_ENUM_FRAMEINTERVALS give,
/// in the driver's order.
///
/// `modes[].fourcc`, `modes[].sizes[]` with `type` discrete, stepwise or continuous and `w h` or
/// `minW maxW stepW minH maxH stepH`, `intervals[]` in seconds per frame with `num den` or
/// `minNum minDen maxNum maxDen stepNum stepDen`.
struct CameraModesDocument: Codable {
    var modes: CameraModes

    private enum Key: String, CodingKey {
        case label, driver, bus, multiplanar, partial, current, modes
    }

    init(_ modes: CameraModes) {
        self.modes = modes
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        modes = CameraModes(
            label: try values.decodeIfPresent(String.self, forKey: .label) ?? "",
            driver: try values.decodeIfPresent(String.self, forKey: .driver) ?? "",
            bus: try values.decodeIfPresent(String.self, forKey: .bus) ?? "",
            multiplanar: try values.decodeIfPresent(Bool.self, forKey: .multiplanar) ?? false,
            formats: try values.decode([Format].self, forKey: .modes).map { .init($0.fourcc, sizes: $0.sizes) },
            isPartial: try values.decodeIfPresent(Bool.self, forKey: .partial) ?? false,
            current: try values.decodeIfPresent(Current.self, forKey: .current)?.value)
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(modes.label, forKey: .label)
        try values.encode(modes.driver, forKey: .driver)
        try values.encode(modes.bus, forKey: .bus)
        try values.encode(modes.multiplanar, forKey: .multiplanar)
        if modes.isPartial { try values.encode(true, forKey: .partial) }
        try values.encodeIfPresent(modes.current.map { Current(value: $0) }, forKey: .current)
        try values.encode(modes.formats.map { Format(fourcc: $0.fourcc, sizes: $0.sizes) }, forKey: .modes)
    }

    // MARK: Formats

    private struct Format: Codable {
        var fourcc: FourCC
        var sizes: [CameraModes.Size]

        private enum Key: String, CodingKey {
            case fourcc, sizes
        }

        init(fourcc: FourCC, sizes: [CameraModes.Size]) {
            self.fourcc = fourcc
            self.sizes = sizes
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            fourcc = try values.decodeFourCC(.fourcc)
            sizes = try values.decodeIfPresent([Size].self, forKey: .sizes)?.map(\.value) ?? []
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: Key.self)
            try values.encode(fourcc.description, forKey: .fourcc)
            try values.encode(sizes.map { Size(value: $0) }, forKey: .sizes)
        }
    }

    private struct Current: Codable {
        var value: CameraModes.Current

        private enum Key: String, CodingKey {
            case fourcc, w, h, num, den
        }

        init(value: CameraModes.Current) {
            self.value = value
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            value = CameraModes.Current(
                fourcc: values.contains(.fourcc) ? try values.decodeFourCC(.fourcc) : nil,
                width: Int(try values.decodeWhole(.w)),
                height: Int(try values.decodeWhole(.h)))
            if try !values.isEmpty(.num), try !values.isEmpty(.den) {
                value.interval = FrameInterval(try values.decodeWhole(.num), try values.decodeWhole(.den))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: Key.self)
            try values.encodeIfPresent(value.fourcc?.description, forKey: .fourcc)
            try values.encode(value.width, forKey: .w)
            try values.encode(value.height, forKey: .h)
            try values.encodeIfPresent(value.interval?.numerator, forKey: .num)
            try values.encodeIfPresent(value.interval?.denominator, forKey: .den)
        }
    }

    // MARK: Sizes

    private struct Size: Codable {
        var value: CameraModes.Size

        private enum Key: String, CodingKey {
            case type, w, h, minW, maxW, stepW, minH, maxH, stepH, intervals
        }

        init(value: CameraModes.Size) {
            self.value = value
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            func side(_ key: Key, or fallback: Int? = nil) throws -> Int {
                if let fallback, !values.contains(key) { return fallback }
                return Int(try values.decodeWhole(key))
            }
            func range() throws -> CameraModes.SizeRange {
                CameraModes.SizeRange(
                    minWidth: try side(.minW), maxWidth: try side(.maxW), stepWidth: try side(.stepW, or: 1),
                    minHeight: try side(.minH), maxHeight: try side(.maxH), stepHeight: try side(.stepH, or: 1))
            }
            let extent: CameraModes.Extent =
                switch try values.decodeKind(.type) {
                case .discrete: .discrete(width: try side(.w), height: try side(.h))
                case .stepwise: .stepwise(try range())
                case .continuous: .continuous(try range())
                }
            let intervals = try values.decodeIfPresent([Interval].self, forKey: .intervals) ?? []
            value = CameraModes.Size(extent, intervals: intervals.map(\.value))
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: Key.self)
            switch value.extent {
            case .discrete(let width, let height):
                try values.encode(RangeKind.discrete, forKey: .type)
                try values.encode(width, forKey: .w)
                try values.encode(height, forKey: .h)
            case .stepwise(let range), .continuous(let range):
                var kind = RangeKind.stepwise
                if case .continuous = value.extent { kind = .continuous }
                try values.encode(kind, forKey: .type)
                try values.encode(range.minWidth, forKey: .minW)
                try values.encode(range.maxWidth, forKey: .maxW)
                try values.encode(range.stepWidth, forKey: .stepW)
                try values.encode(range.minHeight, forKey: .minH)
                try values.encode(range.maxHeight, forKey: .maxH)
                try values.encode(range.stepHeight, forKey: .stepH)
            }
            try values.encode(value.intervals.map { Interval(value: $0) }, forKey: .intervals)
        }
    }

    // MARK: Intervals

    private struct Interval: Codable {
        var value: CameraModes.Intervals

        private enum Key: String, CodingKey {
            case type, num, den, minNum, minDen, maxNum, maxDen, stepNum, stepDen
        }

        init(value: CameraModes.Intervals) {
            self.value = value
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            func fraction(_ numerator: Key, _ denominator: Key) throws -> FrameInterval {
                FrameInterval(try values.decodeWhole(numerator), try values.decodeWhole(denominator))
            }
            switch try values.decodeKind(.type) {
            case .discrete: value = .discrete(try fraction(.num, .den))
            case .stepwise:
                value = .stepwise(
                    min: try fraction(.minNum, .minDen), max: try fraction(.maxNum, .maxDen),
                    step: try fraction(.stepNum, .stepDen))
            case .continuous:
                value = .continuous(min: try fraction(.minNum, .minDen), max: try fraction(.maxNum, .maxDen))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: Key.self)
            func encode(_ interval: FrameInterval, _ numerator: Key, _ denominator: Key) throws {
                try values.encode(interval.numerator, forKey: numerator)
                try values.encode(interval.denominator, forKey: denominator)
            }
            switch value {
            case .discrete(let interval): try encode(interval, .num, .den)
            case .stepwise(let min, let max, let step):
                try values.encode(RangeKind.stepwise, forKey: .type)
                try encode(min, .minNum, .minDen)
                try encode(max, .maxNum, .maxDen)
                try encode(step, .stepNum, .stepDen)
            case .continuous(let min, let max):
                try values.encode(RangeKind.continuous, forKey: .type)
                try encode(min, .minNum, .minDen)
                try encode(max, .maxNum, .maxDen)
            }
        }
    }
}

private enum RangeKind: String, Codable {
    case discrete, stepwise, continuous
}

extension KeyedDecodingContainer {
    /// Discrete where nothing else is said.
    fileprivate func decodeKind(_ key: Key) throws -> RangeKind {
        guard let name = try decodeIfPresent(String.self, forKey: key) else { return .discrete }
        guard let kind = RangeKind(rawValue: name) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "must be discrete, stepwise or continuous")
        }
        return kind
    }

    /// Missing or null.
    fileprivate func isEmpty(_ key: Key) throws -> Bool { try !contains(key) || decodeNil(forKey: key) }

    /// V4L2's numbers have 32 bits. Read as `Double`, which has them all: the decoder does not say where a number is
    /// that does not fit.
    fileprivate func decodeWhole(_ key: Key) throws -> UInt32 {
        guard let number = UInt32(exactly: try decode(Double.self, forKey: key)) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "must be a whole number from 0 to \(UInt32.max)")
        }
        return number
    }

    fileprivate func decodeFourCC(_ key: Key) throws -> FourCC {
        guard let fourcc = FourCC(try decode(String.self, forKey: key)) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "must be four characters, such as \"NV12\"")
        }
        return fourcc
    }
}
