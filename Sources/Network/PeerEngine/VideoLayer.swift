import EmisoraCore
import EmisoraRTP

/// One encoding of our pictures on its way to a peer. Without simulcast there is one.
struct VideoLayer {
    /// Which of the publisher's encodings.
    let encoding: Int
    var stream: RTPSendStream
    /// What the descriptions call it; `nil` without simulcast.
    var rid: String?
    /// The peer has no reference picture: frames wait for a key frame.
    var isWaitingForKeyFrame = true
    /// When to ask for the key frame after which the peer gets pictures again that it had no room for.
    var resumeAt: Instant?
    /// Both sides want it sent: not while on hold, nor while paused by the peer's description.
    var isWanted = true
    /// The path has room for it beside the others.
    var isActive = true
    /// What the peer takes at most, in bits a second.
    var maximumBitrate: Int?

    var isSent: Bool { isWanted && isActive }

    init(encoding: Int, stream: RTPSendStream) {
        self.encoding = encoding
        self.stream = stream
    }

    var statistics: PeerStatistics.Layer {
        PeerStatistics.Layer(encoding: encoding, rid: rid, isActive: isSent, outbound: stream.statistics)
    }

    /// Nothing more goes out, from now on: what waits is forgotten.
    mutating func rest() {
        stream.discardQueue()
        isWaitingForKeyFrame = true
        resumeAt = nil
    }
}
