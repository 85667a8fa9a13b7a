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
        /// The SSRC of parity packets (FlexFEC), for who can send them.
        package var repairSSRC: UInt32?
        /// URIs of the header extensions that are offered and accepted, in the order of their ids.
        package var headerExtensions: [String]
        /// Sound: two channels are sent, or played.
        package var isStereo: Bool
        /// What a peer that takes simulcast may have of what we send, in the order of our offers; empty: one stream.
        package var encodings: [Encoding] = []
        /// Which of the encodings a peer without simulcast gets; its sources are the track's own.
        package var mainEncoding = 0

        package init(
            kind: Kind, sends: Bool, receives: Bool, ssrc: UInt32, retransmissionSSRC: UInt32? = nil,
            repairSSRC: UInt32? = nil, headerExtensions: [String] = [ExtensionMap.midURI], isStereo: Bool = false
        ) {
            self.kind = kind
            self.sends = sends
            self.receives = receives
            self.ssrc = ssrc
            self.retransmissionSSRC = retransmissionSSRC
            self.repairSSRC = repairSSRC
            self.headerExtensions = headerExtensions
            self.isStereo = isStereo
        }
    }

    /// One of several encodings of the same pictures (W3C `RTCRtpEncodingParameters`).
    package struct Encoding: Hashable, Sendable {
        package var rid: String
        package var ssrc: UInt32
        package var retransmissionSSRC: UInt32?

        package init(rid: String, ssrc: UInt32, retransmissionSSRC: UInt32? = nil) {
            self.rid = rid
            self.ssrc = ssrc
            self.retransmissionSSRC = retransmissionSSRC
        }
    }

    package var tracks: [Track]
    package var cname: String
    /// The MediaStream id that ties audio and video together for a browser.
    package var streamID: String
    /// Data channels are offered, and taken where they are offered.
    package var hasDataChannels = false

    package init(tracks: [Track], cname: String, streamID: String) {
        self.tracks = tracks
        self.cname = cname
        self.streamID = streamID
    }

    func track(_ kind: String) -> Track? { tracks.first { $0.kind.rawValue == kind } }

    /// Header extensions of a track under the ids of an offer of ours: a URI has the same one in every m-line of the
    /// bundle, and ids that the session knows already stay (RFC 8843 §7.1.3, RFC 8285 §6), encrypted where they are.
    /// By ourselves none is offered encrypted: there are peers that cannot read such a line and refuse the description.
    func extensionMaps(for track: Track, known: [MediaSection]) -> [ExtensionMap] {
        var maps: [String: ExtensionMap] = [:]
        var used: Set<UInt8> = []
        for map in known.flatMap(\.extensions) {
            maps[map.uri] = maps[map.uri] ?? ExtensionMap(id: map.id, uri: map.uri, isEncrypted: map.isEncrypted)
            used.insert(map.id)
        }
        var next: UInt8 = 1
        for uri in tracks.flatMap(\.headerExtensions) where maps[uri] == nil {
            while used.contains(next) { next += 1 }
            maps[uri] = ExtensionMap(id: next, uri: uri)
            used.insert(next)
        }
        return track.headerExtensions.compactMap { maps[$0] }
    }
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
