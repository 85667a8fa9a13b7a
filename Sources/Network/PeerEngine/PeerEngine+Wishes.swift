import EmisoraRTP
import EmisoraSDP

/// What a peer asks of the media that it is sent, by its description and its reports.
package struct PeerWishes: Equatable, Sendable {
    /// Of pictures; `nil` where it takes none.
    package struct Video: Equatable, Sendable {
        /// The most that it can decode.
        package var limits: VP8Parameters
        /// Whether it turns pictures itself (`video-orientation`).
        package var takesOrientation: Bool

        package init(limits: VP8Parameters = VP8Parameters(), takesOrientation: Bool = false) {
            self.limits = limits
            self.takesOrientation = takesOrientation
        }
    }

    /// Of sound; `nil` where it takes none.
    package struct Audio: Equatable, Sendable {
        package var opus: OpusParameters
        /// Of the packets between its last two reports, 0…1.
        package var fractionLost: Double

        package init(opus: OpusParameters = OpusParameters(), fractionLost: Double = 0) {
            self.opus = opus
            self.fractionLost = fractionLost
        }
    }

    package var video: Video?
    package var audio: Audio?

    package init(video: Video? = nil, audio: Audio? = nil) {
        self.video = video
        self.audio = audio
    }
}

extension PeerEngine {
    package var wishes: PeerWishes {
        var wishes = negotiatedWishes
        wishes.audio?.fractionLost = audioSender?.remoteStatistics.fractionLost ?? 0
        return wishes
    }

    /// What descriptions alone tell; kept, since it is asked for with every turn.
    func wishes(in session: NegotiatedSession) -> PeerWishes {
        var wishes = PeerWishes()
        if let videoSender, let media = session.media(.video), media.direction.sends {
            wishes.video = PeerWishes.Video(
                limits: media.vp8,
                takesOrientation: videoSender.configuration.extensions?.ids.videoOrientation != nil)
        }
        if audioSender != nil, let media = session.media(.audio), media.direction.sends {
            wishes.audio = PeerWishes.Audio(opus: media.opus)
        }
        return wishes
    }

    /// The bounds that the sender sets for the time from capture to display of its pictures (`playout-delay`).
    package var remotePlayoutDelay: ClosedRange<Duration>? { videoReceiver?.playoutDelay }
}
