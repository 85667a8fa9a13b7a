import EmisoraCore

/// One of several sizes in which the same pictures are sent to a peer that takes simulcast, such as an SFU (RFC 8853).
/// Names are those of W3C `RTCRtpEncodingParameters`.
///
/// ```swift
/// var options = Publisher.Options()
/// options.encodings = [
///     VideoEncoding(rid: "h", maxBitrate: .kilobitsPerSecond(1_500)),
///     VideoEncoding(rid: "l", scaleResolutionDownBy: 4, maxBitrate: .kilobitsPerSecond(150)),
/// ]
/// let publisher = Publisher(videoCapture: camera, options: options)
/// ```
public struct VideoEncoding: Hashable, Sendable {
    /// Its name in descriptions and packets: 1 to 16 letters and digits.
    public var rid: String
    /// How many times shorter each side is than the picture's, 1…16.
    public var scaleResolutionDownBy: Double
    /// What its encoder aims at where the path carries all encodings; `nil`: a share of the publisher's bitrate that
    /// follows from its size.
    public var maxBitrate: DataRate?

    public init(rid: String, scaleResolutionDownBy: Double = 1, maxBitrate: DataRate? = nil) {
        self.rid = rid
        self.scaleResolutionDownBy = scaleResolutionDownBy
        self.maxBitrate = maxBitrate
    }

    /// Up to three encodings, each with sides half as long as the one before: `h`, `m` and `l`.
    public static func halving(_ count: Int) -> [VideoEncoding] {
        zip(["h", "m", "l"], [1.0, 2, 4]).prefix(max(0, count)).map {
            VideoEncoding(rid: $0, scaleResolutionDownBy: $1)
        }
    }

    /// More would cost more encoders than anybody has subscribers' sizes for.
    static let maximumCount = 4
    private static let scales = 1.0...16.0

    /// What is wrong with a publisher's encodings, for a person; `nil`: nothing.
    static func fault(in encodings: [VideoEncoding]) -> String? {
        guard !encodings.isEmpty else { return nil }
        func isName(_ rid: String) -> Bool {
            (1...16).contains(rid.utf8.count) && rid.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }
        if encodings.count > maximumCount { return "A publisher has \(maximumCount) encodings at the most." }
        for one in encodings {
            guard isName(one.rid) else { return "The rid \"\(one.rid)\" is not 1 to 16 letters and digits." }
            guard scales.contains(one.scaleResolutionDownBy) else {
                return "scaleResolutionDownBy of \(one.rid) is \(one.scaleResolutionDownBy); use 1 to 16."
            }
            if let bitrate = one.maxBitrate, bitrate.bitsPerSecond <= 0 {
                return "maxBitrate of \(one.rid) is not above 0."
            }
        }
        if Set(encodings.map(\.rid)).count < encodings.count { return "Two encodings have the same rid." }
        guard encodings.contains(where: { $0.scaleResolutionDownBy == 1 }) else {
            return "One of the encodings must have scaleResolutionDownBy 1: it is the one for peers without simulcast."
        }
        return nil
    }

    /// Which one peers without simulcast get: the first in full size.
    static func main(of encodings: [VideoEncoding]) -> Int {
        encodings.firstIndex { $0.scaleResolutionDownBy == 1 } ?? 0
    }

    /// What it gets at most of a publisher's bitrate. A quarter of the pixels needs more than a quarter of the bits.
    func bitrate(of publisher: DataRate) -> DataRate {
        if let maxBitrate { return scaleResolutionDownBy == 1 ? min(maxBitrate, publisher) : maxBitrate }
        let share = 1 / (scaleResolutionDownBy * scaleResolutionDownBy.squareRoot())
        return .bitsPerSecond(Int(Double(publisher.bitsPerSecond) * share))
    }

    /// The size of its pictures: even, as chroma needs it.
    func size(width: Int, height: Int) -> (width: Int, height: Int) {
        func side(_ length: Int) -> Int { max(2, Int((Double(length) / scaleResolutionDownBy).rounded()) & ~1) }
        return scaleResolutionDownBy == 1 ? (width, height) : (side(width), side(height))
    }
}
