import EmisoraCore
import EmisoraRTP

/// How received media is played: evenly and in step, or as it comes.
package struct PlayoutOptions: Equatable, Sendable {
    /// Pictures wait until they are due, and are lined up with sound.
    package var isSynchronized = false
    /// Of pictures, from when they could be shown at the earliest.
    package var minimumDelay: Duration = .zero
    /// What the network's jitter may add at the most.
    package var maximumDelay: Duration = PlayoutTimeline.Configuration().maximumDelay

    package init() {}
}

/// What lines sound up with pictures, and whose they are.
struct PlayoutControl {
    private static let interval: Duration = .milliseconds(200)
    private static let sourceLimit = 8

    var options = PlayoutOptions()
    private(set) var lipSync = LipSync()
    private var names: [(ssrc: UInt32, cname: String)] = []
    private var nextAt: Instant = .zero

    /// Notes whose the sources are (RFC 3550 §6.5.1).
    mutating func handle(_ description: SourceDescription) {
        for chunk in description.chunks {
            guard let cname = chunk.cname else { continue }
            names.removeAll { $0.ssrc == chunk.ssrc }
            names.append((chunk.ssrc, cname))
            if names.count > Self.sourceLimit { names.removeFirst() }
        }
    }

    /// Sources that say nothing of themselves are taken for one participant's, as RFC 8834 §4.9 has it for a connection.
    private func areRelated(_ video: UInt32?, _ audio: UInt32?) -> Bool {
        let first = names.first { $0.ssrc == video }?.cname
        let second = names.first { $0.ssrc == audio }?.cname
        return first == nil || second == nil || first == second
    }

    mutating func update(video: inout RTPVideoReceiveStream, audio: inout RTPAudioReceiveStream, now: Instant) {
        guard now >= nextAt else { return }
        nextAt = now + Self.interval
        if options.isSynchronized, areRelated(video.ssrc, audio.ssrc),
            let pictures = video.playout.playing, let sound = audio.playing, let soundDelay = audio.delay,
            let pictureTime = video.senderClock.ntpTimestamp(of: pictures.timestamp),
            let soundTime = audio.senderClock.ntpTimestamp(of: sound.timestamp)
        {
            lipSync.update(
                video: .init(
                    capturedAt: pictureTime, playedAt: pictures.at, delay: video.playout.timeline.delay,
                    ownDelay: video.playout.timeline.ownDelay),
                audio: .init(
                    capturedAt: soundTime, playedAt: sound.at, delay: soundDelay, ownDelay: audio.networkDelay))
        } else {
            lipSync.reset()
        }
        video.playout.timeline.synchronizationDelay = lipSync.videoDelay
        audio.synchronizationDelay = lipSync.audioDelay
    }
}

extension PeerEngine {
    /// How received media is played; it holds for streams that are negotiated later, too.
    package var playoutOptions: PlayoutOptions {
        get { playout.options }
        set {
            playout.options = newValue
            applyPlayoutOptions()
        }
    }

    /// How long a complete frame takes to become a picture, as the decoder's owner measured it.
    package func setVideoProcessingDelay(_ delay: Duration) {
        videoReceiver?.playout.timeline.processingDelay = max(.zero, min(.milliseconds(100), delay))
    }

    func applyPlayoutOptions() {
        videoReceiver?.playout.isTimed = playout.options.isSynchronized
        videoReceiver?.playout.timeline.configuration.minimumDelay = max(.zero, playout.options.minimumDelay)
        videoReceiver?.playout.timeline.configuration.maximumDelay = max(.zero, playout.options.maximumDelay)
    }

    func synchronize(now: Instant) {
        guard var video = videoReceiver.take() else { return }
        defer { videoReceiver = video }
        guard var audio = audioReceiver.take() else { return }
        defer { audioReceiver = audio }
        playout.update(video: &video, audio: &audio, now: now)
    }

    /// By how much sound is behind pictures; `nil` while that is not known.
    package var lipSyncOffset: Duration? { playout.lipSync.offset }

    /// The sender's wall-clock time of what is played now (W3C `estimatedPlayoutTimestamp`).
    package func videoPlayoutTime(now: Instant) -> NTPTimestamp? {
        Self.playoutTime(of: videoReceiver?.playout.playing, by: videoReceiver?.senderClock, now: now)
    }

    package func audioPlayoutTime(now: Instant) -> NTPTimestamp? {
        Self.playoutTime(of: audioReceiver?.playing, by: audioReceiver?.senderClock, now: now)
    }

    private static func playoutTime(of media: PlayingMedia?, by clock: SenderClock?, now: Instant) -> NTPTimestamp? {
        guard let media, let captured = clock?.ntpTimestamp(of: media.timestamp) else { return nil }
        return captured.advanced(by: now - media.at)
    }
}
