import CEmisoraFFmpeg
import EmisoraCore
import EmisoraVideo

/// What holds for all of FFmpeg's libraries.
enum FFmpeg {
    /// FFmpeg reports each damaged byte on standard error, which belongs to the application. Once for the process; an
    /// application that wants the messages raises the level again after its first ``MediaFile`` or ``ImageCapture``.
    static let silenced: Void = av_log_set_level(AV_LOG_QUIET)

    /// FFmpeg's text for a result.
    static func message(_ code: Int32) -> String {
        var text = [CChar](repeating: 0, count: 128)
        guard av_strerror(code, &text, text.count) == 0 else { return "FFmpeg's error \(code)" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A C string that may be missing.
    static func name(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "unknown" }
}

/// A unit of time of a file, in seconds. Times within a file are nanoseconds from its beginning.
struct TimeBase: Sendable {
    private let numerator: Int32
    private let denominator: Int32

    /// A file may claim anything; without a usable unit its times are not known.
    init(_ rational: AVRational) {
        let isUsable = rational.num > 0 && rational.den > 0
        numerator = isUsable ? rational.num : 0
        denominator = isUsable ? rational.den : 1
    }

    /// Times beyond this many nanoseconds (36 years) are damage, and sums of those within do not overflow.
    static let farthest: Int64 = 1 << 60

    /// `nil` if the time is not known or beyond what can be.
    func nanoseconds(_ value: Int64) -> Int64? {
        guard value != emisora_av_no_timestamp(), numerator > 0 else { return nil }
        // 63 + 31 + 30 bits: no overflow.
        let result = Int128(value) * Int128(numerator) * 1_000_000_000 / Int128(denominator)
        guard let result = Int64(exactly: result), abs(result) <= Self.farthest else { return nil }
        return result
    }
}

extension VideoRotation {
    /// The turn that a display matrix asks for, to the next quarter. Mirroring is not carried.
    init?(displayMatrix: UnsafePointer<Int32>?) {
        guard let displayMatrix else { return nil }
        // Counter-clockwise, in degrees; not a number for a matrix that is none.
        let angle = -av_display_rotation_get(displayMatrix)
        guard angle.isFinite else { return nil }
        let quarters = Int((angle / 90).rounded()) & 3
        self.init(rawValue: quarters * 90)
    }
}
