/// A pixel format as V4L2 names it: four characters, the first in the lowest byte; trailing spaces belong to it.
///
/// ```swift
/// FourCC("NV12") == .nv12
/// FourCC("Y16")?.description == "Y16 "
/// ```
public struct FourCC: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public var rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// One to four printable ASCII characters, filled up with spaces, and `-BE` after them for the big-endian twin;
    /// `nil` for anything else.
    public init?(_ text: String) {
        var bytes = Array(text.utf8)
        var flag: UInt32 = 0
        if bytes.count > 4, bytes.suffix(3).elementsEqual("-BE".utf8) {
            bytes.removeLast(3)
            flag = Self.bigEndian
        }
        guard (1...4).contains(bytes.count), bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        while bytes.count < 4 { bytes.append(0x20) }
        rawValue = bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } | flag
    }

    /// The characters, `Y16 -BE` for a big-endian twin, and hexadecimal where they are not printable.
    public var description: String {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: (rawValue & ~Self.bigEndian) >> (8 * UInt32($0))) }
        guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return "0x" + String(rawValue, radix: 16) }
        return String(decoding: bytes, as: UTF8.self) + (rawValue & Self.bigEndian != 0 ? "-BE" : "")
    }

    /// `v4l2_fourcc_be`
    private static let bigEndian: UInt32 = 1 << 31
}

extension FourCC {
    /// 4:2:0, Y then interleaved U V, in one piece of memory.
    public static let nv12 = FourCC(rawValue: 0x3231_564E)
    /// As ``nv12``, in two pieces of memory.
    public static let nv12Multiplanar = FourCC(rawValue: 0x3231_4D4E)
    /// 4:2:0, Y, U, V in one piece of memory: I420.
    public static let yu12 = FourCC(rawValue: 0x3231_5559)
    /// As ``yu12``, in three pieces of memory.
    public static let yu12Multiplanar = FourCC(rawValue: 0x3231_4D59)
    /// Packed 4:2:2: Y0 U Y1 V.
    public static let yuyv = FourCC(rawValue: 0x5659_5559)
    /// Packed 4:2:2: U Y0 V Y1.
    public static let uyvy = FourCC(rawValue: 0x5956_5955)
    /// Motion JPEG: every frame a JPEG.
    public static let mjpeg = FourCC(rawValue: 0x4750_4A4D)
}
