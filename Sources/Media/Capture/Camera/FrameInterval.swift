import EmisoraVideo

/// Seconds from one frame to the next as an exact fraction: 1/30 is 30 frames a second.
///
/// It is kept as the driver gives it: not in lowest terms, and possibly without meaning (a side of 0); ``frameRate`` is
/// `nil` then and nothing traps.
public struct FrameInterval: Hashable, Sendable, CustomStringConvertible {
    public var numerator: UInt32
    public var denominator: UInt32

    public init(numerator: UInt32, denominator: UInt32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    public init(_ numerator: UInt32, _ denominator: UInt32) {
        self.init(numerator: numerator, denominator: denominator)
    }

    /// The time between two frames of `rate`.
    public init(_ rate: FrameRate) {
        // A rate's sides are 1…2³¹−1.
        self.init(UInt32(clamping: rate.denominator), UInt32(clamping: rate.numerator))
    }

    /// Whether it is a time at all: drivers without one answer 0/0.
    public var isValid: Bool { numerator > 0 && denominator > 0 }

    /// Frames per second; `nil` where that is not a positive fraction of 31-bit numbers.
    public var frameRate: FrameRate? { FrameRate(Int(denominator), Int(numerator)) }

    /// Such as `1/30`.
    public var description: String { "\(numerator)/\(denominator)" }

    /// The rate for people: `30 fps`, `12.5 fps`, `29.97 fps`; at most three digits after the point, cut.
    public var rateText: String {
        guard isValid else { return "no rate" }
        let thousandths = UInt64(denominator) * 1000 / UInt64(numerator)
        guard thousandths > 0 else { return "1/\(numerator / denominator) fps" }
        var fraction = String(thousandths % 1000 + 1000).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return "\(thousandths / 1000)" + (fraction.isEmpty ? "" : ".\(fraction)") + " fps"
    }
}

extension FrameInterval {
    /// By length, exactly. Not `Comparable`: 1/30 and 2/60 are as long as each other without being the same value.
    public func isShorter(than other: FrameInterval) -> Bool {
        UInt64(numerator) * UInt64(other.denominator) < UInt64(other.numerator) * UInt64(denominator)
    }
}
