import EmisoraCore
import EmisoraPeerEngine
import EmisoraSDP
import EmisoraVideo

/// What all receivers of a stream ask for together: one encoding has to suit them all.
struct ReceiverWishes: Equatable, Sendable {
    /// What the encoder of pictures has to keep to.
    var limits = VideoLimits()
    /// All turn pictures themselves.
    var takeOrientation = false
    var sound = SoundWishes()

    /// A picture of 176×144 five times a second: whoever can decode less has no picture while others watch, rather than
    /// bring all of them down to that. Alone it gets what it asks for.
    static let leastLimits = VideoLimits(frameSize: 99, frameRate: 5)

    init() {}

    init(joining wishes: [PeerWishes]) {
        let video = wishes.compactMap(\.video)
        let served = video.filter { Self.isServed($0, among: video.count) }
        limits = served.map { VideoLimits($0.limits) }.reduce(VideoLimits()) { $0.tightened(by: $1) }
        takeOrientation = !served.isEmpty && served.allSatisfy(\.takesOrientation)
        sound = SoundWishes(joining: wishes.compactMap(\.audio))
    }

    /// Whether a receiver that can decode so little gets pictures when there are that many.
    static func isServed(_ wishes: PeerWishes.Video, among count: Int) -> Bool {
        guard count > 1 else { return true }
        let limits = VideoLimits(wishes.limits)
        return limits.frameSize ?? .max >= leastLimits.frameSize ?? 0
            && limits.frameRate ?? .max >= leastLimits.frameRate ?? 0
    }
}

extension VideoLimits {
    init(_ receiver: VP8Parameters) {
        self.init(frameSize: receiver.maximumFrameSize, frameRate: receiver.maximumFrameRate)
    }
}

extension PeerWishes.Video {
    /// Whether this receiver can show such a picture.
    func suits(_ size: VideoSize, _ rotation: VideoRotation) -> Bool {
        VideoLimits(limits).allows(size) && (rotation == .none || takesOrientation)
    }
}

/// What the receivers of a stream ask of its sound (RFC 7587 §6.1).
struct SoundWishes: Equatable, Sendable {
    /// Packets that libopus can make, in milliseconds, beside the usual ones of 20.
    private static let packetTimes = [5, 10, 20, 40, 60]
    static let usualPacketTime = 20

    /// Two where a receiver asks for it: what prefers one can decode two.
    var channels = 1
    /// All of them can do without silence.
    var useDTX = false
    /// Some can make use of a packet that carries the one before.
    var useInbandFEC = false
    /// The worst loss that is reported, 0…1.
    var fractionLost = 0.0
    /// The smallest of their maxima.
    var maximumBitrate: DataRate?
    /// What the best of them can play; `nil`: everything.
    var maximumPlaybackRate: Int?
    /// How long packets are to be, in milliseconds.
    var packetTime = usualPacketTime

    init() {}

    init(joining wishes: [PeerWishes.Audio]) {
        let opus = wishes.map(\.opus)
        guard !opus.isEmpty else { return }
        channels = opus.contains(where: \.stereo) ? 2 : 1
        useDTX = opus.allSatisfy(\.useDTX)
        useInbandFEC = opus.contains(where: \.useInbandFEC)
        fractionLost = wishes.map(\.fractionLost).max() ?? 0
        maximumBitrate = opus.compactMap(\.maximumAverageBitrate).min().map(DataRate.bitsPerSecond)
        let rates = opus.compactMap(\.maximumPlaybackRate)
        maximumPlaybackRate = rates.count == opus.count ? rates.max() : nil
        packetTime = Self.packetTime(for: opus)
    }

    /// What all would like, else 20 ms, within the bounds of all. Where these contradict each other the longest that
    /// each of them takes counts: a wish for longer packets is no limit of what can be received.
    private static func packetTime(for opus: [OpusParameters]) -> Int {
        let longest = opus.compactMap(\.maximumPacketTime).min() ?? .max
        let shortest = opus.compactMap(\.minimumPacketTime).max() ?? 0
        let liked = Set(opus.map(\.packetTime))
        let common = liked.count == 1 ? liked.first ?? nil : nil
        let wanted = min(max(common ?? usualPacketTime, shortest), longest)
        // The next shorter one that can be made; where the shortest is too long for that, the next longer one.
        let fitting = packetTimes.filter { $0 <= longest && $0 >= min(shortest, longest) }
        return fitting.last { $0 <= wanted } ?? fitting.first ?? packetTimes.last { $0 <= longest } ?? packetTimes[0]
    }
}
