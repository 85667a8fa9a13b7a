import EmisoraCore

/// Pictures per second as an exact fraction: 30000/1001 stays what it is, so that clocks derived from it never drift.
///
/// ```swift
/// let pal: FrameRate = 25
/// let ntsc = FrameRate(30_000, 1001)   // nil if a side is not positive
/// ```
public struct FrameRate: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// Pictures in `denominator` seconds; the fraction is kept in lowest terms.
    public let numerator: Int
    public let denominator: Int

    /// `numerator / denominator` pictures per second; `nil` unless both lie in 1…2³¹−1.
    public init?(_ numerator: Int, _ denominator: Int = 1) {
        let range = 1...Int(Int32.max)
        guard range.contains(numerator), range.contains(denominator) else { return nil }
        var (a, b) = (numerator, denominator)
        while b != 0 { (a, b) = (b, a % b) }
        self.numerator = numerator / a
        self.denominator = denominator / a
    }

    /// A whole number of pictures per second, 1…2³¹−1; another literal is a mistake in the program and traps.
    public init(integerLiteral value: Int) {
        precondition((1...Int(Int32.max)).contains(value), "a frame rate must be positive, not \(value)")
        numerator = value
        denominator = 1
    }

    public var framesPerSecond: Double { Double(numerator) / Double(denominator) }

    /// From one picture to the next, rounded down to a nanosecond. To place many pictures in time use
    /// ``time(ofFrame:)``, which does not add up the rounding.
    public var interval: Duration { .nanoseconds(Int64(1_000_000_000) * Int64(denominator) / Int64(numerator)) }

    /// When picture number `index` is due, counted from picture 0: exact to the nanosecond for any index.
    public func time(ofFrame index: Int) -> Duration {
        let nanoseconds = Int128(index) * Int128(denominator) * 1_000_000_000 / Int128(numerator)
        return .nanoseconds(Int64(clamping: nanoseconds))
    }

    /// The number of the last picture due at or before `time`, counted from picture 0 at time zero.
    public func frame(at time: Duration) -> Int {
        let due = Int128(time.nanoseconds) * Int128(numerator)
        let unit = Int128(denominator) * 1_000_000_000
        // The time of a frame is rounded down, so the frame that is due may start a fraction of a nanosecond later.
        let index = Int(clamping: due >= 0 ? due / unit : -((-due + unit - 1) / unit))
        return self.time(ofFrame: index + 1) <= time ? index + 1 : index
    }

    public static func < (lhs: FrameRate, rhs: FrameRate) -> Bool {
        lhs.numerator * rhs.denominator < rhs.numerator * lhs.denominator
    }

    /// Such as `30` or `30000/1001`.
    public var description: String { denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)" }
}
