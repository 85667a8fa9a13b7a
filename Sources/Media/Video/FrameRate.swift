import EmisoraCore

/// Pictures a second as an exact fraction: 30000/1001 stays what it is.
public struct FrameRate: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let numerator: Int
    public let denominator: Int

    /// `nil` unless both are above zero and below 2^31.
    public init?(_ numerator: Int, _ denominator: Int = 1) {
        guard numerator > 0, denominator > 0, numerator <= Int32.max, denominator <= Int32.max else { return nil }
        self.numerator = numerator
        self.denominator = denominator
    }

    private init(wholeNumber: Int) {
        numerator = wholeNumber
        denominator = 1
    }

    public static let fps15 = FrameRate(wholeNumber: 15)
    public static let fps25 = FrameRate(wholeNumber: 25)
    public static let fps30 = FrameRate(wholeNumber: 30)
    public static let fps60 = FrameRate(wholeNumber: 60)

    public var framesPerSecond: Double { Double(numerator) / Double(denominator) }
    /// The time of one picture, rounded down to a nanosecond.
    public var frameDuration: Duration { .nanoseconds(Int64(denominator) * 1_000_000_000 / Int64(numerator)) }

    /// When picture `index` is due after the first, without the drift that adding rounded durations would have.
    public func offset(ofFrame index: Int64) -> Duration {
        let period = Int64(numerator)
        let (seconds, rest) = index.quotientAndRemainder(dividingBy: period)
        // `rest` < 2^31 and `denominator` < 2^31, so that only the multiplication by 1e9 needs 128 bits.
        let part = Int128(rest) * Int128(denominator) * 1_000_000_000 / Int128(period)
        return .nanoseconds(seconds &* Int64(denominator) &* 1_000_000_000 &+ Int64(part))
    }

    public static func < (lhs: FrameRate, rhs: FrameRate) -> Bool {
        lhs.numerator * rhs.denominator < rhs.numerator * lhs.denominator
    }

    /// `30`, `12.5` or `30000/1001`.
    public var description: String {
        if numerator % denominator == 0 { return "\(numerator / denominator)" }
        return numerator * 1_000 % denominator == 0 ? "\(framesPerSecond)" : "\(numerator)/\(denominator)"
    }
}
