import Emisora
import FoundationEssentials

/// The one JSON line that a command ends with: W3C webrtc-stats names where there is one.
struct PublishFigures: Encodable {
    var framesCaptured = 0
    var framesEncoded = 0
    var keyFramesEncoded: UInt64 = 0
    var framesSent: UInt64 = 0
    var framesLostByDriver = 0
    var framesDroppedByReason: [String: Int] = [:]
    var bytesSent: UInt64 = 0
    var packetsSent: UInt64 = 0
    var retransmittedPacketsSent: UInt64 = 0
    var fecPacketsSent: UInt64 = 0
    var fecBytesSent: UInt64 = 0
    var nackCount: UInt64 = 0
    var pliCount: UInt64 = 0
    var firCount: UInt64 = 0
    var audioFramesEncoded: UInt64 = 0
    var totalEncodeTime = 0.0
    /// Bits a second: what the encoder aimed at last, and what the worst viewer's path was taken to carry.
    var targetBitrate: Int?
    var availableOutgoingBitrate: Int?
    var qualityLimitationReason = "none"
    /// Of a publisher with several sizes, each of them.
    var encodings: [EncodingFigures] = []
    var subscribersTotal = 0
    /// Of the receivers that were there last.
    var transports: [TransportFigures] = []
    /// From the start to the first encoded picture.
    var timeToFirstFrameMs: Double?
    var duration = 0.0
}

/// One size of the pictures.
struct EncodingFigures: Encodable {
    var rid: String
    var frameWidth: Int
    var frameHeight: Int
    var framesEncoded: UInt64
    var bytesEncoded: UInt64

    init(_ statistics: EncodingStatistics) {
        rid = statistics.rid
        frameWidth = statistics.frameWidth
        frameHeight = statistics.frameHeight
        framesEncoded = statistics.framesEncoded
        bytesEncoded = statistics.bytesEncoded
    }
}

struct WatchFigures: Encodable {
    var framesDecoded: UInt64 = 0
    var keyFramesDecoded: UInt64 = 0
    var framesReceived: UInt64 = 0
    var framesDropped: UInt64 = 0
    var frameWidth = 0
    var frameHeight = 0
    /// How far the last picture had to be turned clockwise, in degrees.
    var rotation = 0
    var bytesReceived: UInt64 = 0
    var packetsReceived: UInt64 = 0
    var packetsLost: Int64 = 0
    var retransmittedPacketsReceived: UInt64 = 0
    var fecPacketsReceived: UInt64 = 0
    var fecBytesReceived: UInt64 = 0
    var fecPacketsDiscarded: UInt64 = 0
    var packetsRepaired: UInt64 = 0
    var jitter = 0.0
    var nackCount: UInt64 = 0
    var pliCount: UInt64 = 0
    var totalSamplesReceived: UInt64 = 0
    var concealedSamples: UInt64 = 0
    /// The loudest 20 ms, 0…1.
    var audioLevel = 0.0
    /// Root mean square of the middle one of all frames of sound that were heard, 0…1.
    var audioLevelP50 = 0.0
    /// What the sender said last of the level of its sound, 0…1.
    var announcedAudioLevel: Double?
    /// The bounds that the sender sets for the time from capture to display, in milliseconds.
    var playoutDelayMs: [Double]?
    var timeToFirstFrameMs: Double?
    /// From the first to the last decoded picture.
    var framesPerSecond: Double?
    /// The longest time between two decoded pictures that follow one another.
    var longestFrameGapMs = 0.0
    /// Pictures with an intact pattern mark, and what the marks told.
    var patternFrames: UInt64 = 0
    var patternFramesOutOfOrder: UInt64 = 0
    var patternFramesMissed: UInt64 = 0
    /// From capture to decoded, by the pattern's own clock; only on the same machine.
    var latencyP50Ms: Double?
    var latencyP95Ms: Double?
    var srtpCipher = ""
    var transport: TransportFigures?
    var dtlsCipher = ""
}

extension Encodable {
    /// This value as one line of JSON.
    var jsonLine: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
