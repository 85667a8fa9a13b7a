/// What one side wants of a session, before anything is negotiated.
package struct MediaConfiguration: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case audio
        case video
    }

    /// One kind of media: what we would send and receive.
    package struct Track: Hashable, Sendable {
        package var kind: Kind
        package var sends: Bool
        package var receives: Bool
        package var ssrc: UInt32
        /// The SSRC of retransmissions (RFC 4588); `nil` for audio.
        package var retransmissionSSRC: UInt32?

        package init(kind: Kind, sends: Bool, receives: Bool, ssrc: UInt32, retransmissionSSRC: UInt32? = nil) {
            self.kind = kind
            self.sends = sends
            self.receives = receives
            self.ssrc = ssrc
            self.retransmissionSSRC = retransmissionSSRC
        }
    }

    package var tracks: [Track]
    package var cname: String
    /// The MediaStream id that ties audio and video together for a browser.
    package var streamID: String

    package init(tracks: [Track], cname: String, streamID: String) {
        self.tracks = tracks
        self.cname = cname
        self.streamID = streamID
    }

    func track(_ kind: String) -> Track? { tracks.first { $0.kind.rawValue == kind } }
}

/// The transport half of a description: one for all, since everything is bundled.
package struct TransportParameters: Hashable, Sendable {
    package var iceUfrag: String
    package var icePassword: String
    package var fingerprint: FingerprintLine
    package var candidates: [ICECandidateLine]
    /// Whether no further candidates will trickle.
    package var isEndOfCandidates: Bool

    package init(
        iceUfrag: String, icePassword: String, fingerprint: FingerprintLine, candidates: [ICECandidateLine] = [],
        isEndOfCandidates: Bool = false
    ) {
        self.iceUfrag = iceUfrag
        self.icePassword = icePassword
        self.fingerprint = fingerprint
        self.candidates = candidates
        self.isEndOfCandidates = isEndOfCandidates
    }
}
