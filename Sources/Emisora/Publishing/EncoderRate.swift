import EmisoraCore
import EmisoraPeerEngine

/// One encoder for many paths: which bitrate it gets, and when it has to pause. Confined to the event loop's thread.
///
/// The lowest of the connected subscribers' rates counts, but none costs the others more than three quarters of what
/// the best of them carries: whoever carries less than that has pictures left out on its own path. A single subscriber
/// is followed all the way down.
final class EncoderRate {
    /// What RTP headers and their extensions leave of a rate to pictures.
    private static let payloadShare = 0.95
    /// 50 packets a second with headers and extensions of 28 bytes.
    private static let audioHeaders = DataRate.bitsPerSecond(50 * 28 * 8)
    /// Above what is encoded there is room for retransmissions.
    private static let retransmissionRoom = 1.15
    private static let lowestShare = 0.25
    /// Below it pictures are of no use.
    private static let leastVideo = DataRate.kilobitsPerSecond(50)
    /// Where a first subscriber starts: on a path that carries less, feedback says so within half a second.
    private static let boldestStart = DataRate.kilobitsPerSecond(2_500)
    /// So much may wait to be sent before the encoder pauses.
    private static let longestBacklog: Duration = .milliseconds(300)

    struct Statistics {
        /// What the encoder aims at; `nil` without pictures.
        var targetBitrate: DataRate?
        /// What the worst of the connected subscribers carries.
        var availableOutgoingBitrate: DataRate?
        var isLimited = false
    }

    private let video: VideoPipeline?
    private let audioBitrate: DataRate?
    private let encodings: [VideoEncoding]
    private var isHeld = false
    /// When what waits will have become short enough.
    private(set) var nextDeadline: Instant?

    init(video: VideoPipeline?, audioBitrate: DataRate?) {
        self.video = video
        self.audioBitrate = audioBitrate
        encodings = video?.layers?.encodings ?? []
    }

    // MARK: The policy

    /// What all media of a publisher takes of a path, with headers and retransmissions.
    static func total(video: DataRate, audio: DataRate?) -> DataRate {
        let media = Double(video.bitsPerSecond) / payloadShare + Double(soundShare(audio))
        return .bitsPerSecond(Int(min(1e12, media * retransmissionRoom)))
    }

    /// What pictures get when the subscribers' paths carry this much each.
    static func video(for targets: [DataRate], audio: DataRate?) -> DataRate? {
        guard let bound = bound(of: targets) else { return nil }
        let left = Double(bound.bitsPerSecond - soundShare(audio)) * payloadShare
        return max(leastVideo, .bitsPerSecond(Int(left)))
    }

    static func bound(of targets: [DataRate]) -> DataRate? {
        guard let lowest = targets.min(), let best = targets.max() else { return nil }
        return max(lowest, .bitsPerSecond(Int(Double(best.bitsPerSecond) * lowestShare)))
    }

    private static func soundShare(_ audio: DataRate?) -> Int {
        audio.map { $0.bitsPerSecond + audioHeaders.bitsPerSecond } ?? 0
    }

    // MARK: Following the subscribers

    private var configured: DataRate { video?.currentSettings.targetBitrate ?? .bitsPerSecond(0) }

    /// What is sent to a subscriber at most: one encoding, or all that it takes of a simulcast.
    private func ceiling(of engine: Engine) -> DataRate {
        let taken = simulcast(of: engine)
        let video = taken.isEmpty ? configured.bitsPerSecond : taken.reduce(0) { $0 + $1.bitrate.bitsPerSecond }
        return Self.total(video: .bitsPerSecond(video), audio: audioBitrate)
    }

    /// The encodings that a subscriber takes with what each can use; empty: one alone.
    private func simulcast(of engine: Engine) -> [SimulcastAllocation.Encoding] {
        engine.simulcast.compactMap { one in
            guard encodings.indices.contains(one.encoding) else { return nil }
            let wanted = encodings[one.encoding].bitrate(of: configured)
            return SimulcastAllocation.Encoding(
                encoding: one.encoding,
                bitrate: min(wanted, one.maximumBitrate.map(DataRate.bitsPerSecond) ?? wanted))
        }
    }

    /// Bounds what a new subscriber is sent, and starts it at what the others get at the moment.
    func prepare(_ engine: Engine, now: Instant) {
        let total = ceiling(of: engine)
        let current = video.map { Self.total(video: $0.currentSettings.encoderBitrate, audio: audioBitrate) } ?? total
        let isFirst = video?.currentSettings.networkBitrate == nil
        let start = isFirst ? min(total, Self.boldestStart) : max(current, min(total, Self.boldestStart))
        engine.setMaximumBitrate(total, start: start, now: now)
    }

    func update(for engines: [Engine]) {
        let connected = engines.filter { $0.connectionState == .connected }
        let single = connected.filter(\.simulcast.isEmpty)
        let forAll = Self.video(for: Self.targets(of: single), audio: audioBitrate)
        guard let layers = video?.layers else {
            video?.update { $0.networkBitrate = forAll }
            return
        }
        let main = VideoEncoding.main(of: encodings)
        var shares: [Int: [DataRate]] = forAll.map { [main: [$0]] } ?? [:]
        for engine in connected {
            for (encoding, share) in allocate(to: engine) { shares[encoding, default: []].append(share) }
        }
        let bitrates = shares.compactMapValues(Self.bound)
        layers.setBitrates(bitrates)
        video?.update {
            $0.networkBitrate = bitrates[main]
            $0.isTaken = bitrates[main] != nil || connected.isEmpty
        }
    }

    /// Shares the rate of a path among the encodings that its peer takes, and says to it which have no part in it.
    private func allocate(to engine: Engine) -> [Int: DataRate] {
        let taken = simulcast(of: engine)
        guard !taken.isEmpty, let rate = Self.video(for: [engine.mediaBitrate], audio: audioBitrate)
        else { return [:] }
        let shares = SimulcastAllocation.allocate(rate, among: taken, active: engine.activeEncodings)
        engine.setActive(Set(shares.keys))
        return shares
    }

    /// Follows what the application and the subscribers' descriptions want, and holds the encoder while too much waits.
    func turn(for engines: [Engine], now: Instant) {
        guard let video else { return }
        for engine in engines {
            let ceiling = ceiling(of: engine)
            guard engine.maximumBitrate != ceiling else { continue }
            engine.setMaximumBitrate(ceiling, start: ceiling, now: now)
            update(for: engines)
        }
        hold(engines, video, now: now)
    }

    private func hold(_ engines: [Engine], _ video: VideoPipeline, now: Instant) {
        let bound = Self.bound(of: Self.targets(of: engines)) ?? .bitsPerSecond(0)
        var longest = Duration.zero
        for engine in engines where engine.connectionState == .connected {
            // Who carries less than the others get has a way of its own out of a full queue.
            guard engine.mediaBitrate >= bound else { continue }
            longest = max(longest, engine.videoBacklog)
        }
        let excess = longest - Self.longestBacklog
        nextDeadline = excess > .zero ? now + max(.milliseconds(5), excess / 4) : nil
        guard isHeld != (excess > .zero) else { return }
        isHeld = excess > .zero
        video.setHeld(isHeld)
    }

    /// What each carries of media, beside the repair that goes with it.
    private static func targets(of engines: [Engine]) -> [DataRate] {
        engines.lazy.filter { $0.connectionState == .connected }.map(\.mediaBitrate)
    }

    func statistics(of engines: [Engine]) -> Statistics {
        let settings = video?.currentSettings
        return Statistics(
            targetBitrate: settings?.encoderBitrate,
            availableOutgoingBitrate: engines.lazy.filter { $0.connectionState == .connected }
                .map(\.sendDecision.targetBitrate).min(),
            isLimited: settings.map { $0.encoderBitrate < $0.targetBitrate } ?? false)
    }
}
