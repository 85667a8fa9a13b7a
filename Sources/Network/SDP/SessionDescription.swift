/// A parsed session description (RFC 8866), as far as WebRTC uses it. Unknown lines and attributes are not kept.
package struct SessionDescription: Hashable, Sendable {
    package var sessionID: String
    package var sessionVersion: UInt64
    /// `a=group:BUNDLE`, the mids in its order.
    package var bundle: [String] = []
    package var isICELite = false
    package var iceOptions: [String] = []
    package var allowsMixedExtensions = false
    package var media: [MediaSection] = []

    package init(sessionID: String, sessionVersion: UInt64) {
        self.sessionID = sessionID
        self.sessionVersion = sessionVersion
    }
}

/// One m-line with what belongs to it; session-level transport attributes are already filled in.
package struct MediaSection: Hashable, Sendable {
    package var kind: String
    package var port: UInt16
    package var protocolName: String
    package var formats: [String]
    package var mid: String?
    package var direction: MediaDirection = .sendrecv
    package var rtpMaps: [RTPMap] = []
    /// Format parameters by payload type, as written.
    package var formatParameters: [UInt8: String] = [:]
    /// Feedback by payload type; `nil` stands for `*`.
    package var feedback: [FeedbackLine] = []
    package var extensions: [ExtensionMap] = []
    /// `a=ptime` and `a=maxptime`, in milliseconds (RFC 8866 §6.4).
    package var packetTime: Int?
    package var maximumPacketTime: Int?
    package var isRTCPMultiplexed = false
    package var isRTCPReducedSize = false
    package var isBundleOnly = false
    package var iceUfrag: String?
    package var icePassword: String?
    package var fingerprints: [FingerprintLine] = []
    package var setup: DTLSSetup?
    package var candidates: [ICECandidateLine] = []
    package var isEndOfCandidates = false
    package var ssrcs: [SSRCLine] = []
    /// Pairs of `a=ssrc-group:FID`: media, then its retransmissions.
    package var retransmissionGroups: [RetransmissionGroup] = []
    /// Pairs of `a=ssrc-group:FEC-FR` (RFC 5956 §4.3): media, then its parity packets.
    package var repairGroups: [RepairGroup] = []
    package var streamID: String?
    package var trackID: String?
    package var rids: [RIDLine] = []
    package var simulcast: SimulcastLine?
    /// Data channels: `a=sctp-port`, `a=max-message-size` (RFC 8841 §5, §6) and what came before the former.
    package var sctpPort: UInt16?
    package var maximumMessageSize: UInt64?
    package var sctpMap: SCTPMap?

    package init(kind: String, port: UInt16, protocolName: String, formats: [String]) {
        self.kind = kind
        self.port = port
        self.protocolName = protocolName
        self.formats = formats
    }

    /// Port 0 without `a=bundle-only` (RFC 8843 §6): refused or stopped.
    package var isRejected: Bool { port == 0 && !isBundleOnly }
}

package struct RTPMap: Hashable, Sendable {
    package var payloadType: UInt8
    package var name: String
    package var clockRate: UInt32
    package var channels: UInt8

    package init(payloadType: UInt8, name: String, clockRate: UInt32, channels: UInt8 = 1) {
        self.payloadType = payloadType
        self.name = name
        self.clockRate = clockRate
        self.channels = channels
    }
}

package struct FeedbackLine: Hashable, Sendable {
    package var payloadType: UInt8?
    /// `nack`, `nack pli`, `ccm fir`, …
    package var value: String

    package init(payloadType: UInt8?, value: String) {
        self.payloadType = payloadType
        self.value = value
    }
}

/// `a=extmap` (RFC 8285 §5).
package struct ExtensionMap: Hashable, Sendable {
    package var id: UInt8
    package var uri: String
    /// Seen from the side that wrote the line; `nil` where it does not say, which means both ways.
    package var direction: MediaDirection?
    /// SRTP encrypts its value (RFC 6904 §4).
    package var isEncrypted: Bool

    package init(id: UInt8, uri: String, direction: MediaDirection? = nil, isEncrypted: Bool = false) {
        self.id = id
        self.uri = uri
        self.direction = direction
        self.isEncrypted = isEncrypted
    }

    package static let midURI = "urn:ietf:params:rtp-hdrext:sdes:mid"
    package static let transportWideURI = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    /// Stands in front of the URI of an extension that is to be encrypted.
    static let encryptURI = "urn:ietf:params:rtp-hdrext:encrypt"

    /// The value of the attribute.
    var text: String {
        "\(id)" + (direction.map { "/\($0.rawValue)" } ?? "") + " " + (isEncrypted ? Self.encryptURI + " " : "") + uri
    }
}

/// `a=fingerprint` (RFC 8122 §5).
package struct FingerprintLine: Hashable, Sendable {
    /// Lower case, such as `sha-256`.
    package var algorithm: String
    /// `AA:BB:…`
    package var value: String

    package init(algorithm: String, value: String) {
        self.algorithm = algorithm
        self.value = value
    }

    /// The hash itself; empty where `value` is not of that form, which a parsed description never has.
    package var bytes: [UInt8] { SDPText.hexBytes(Substring(value)) ?? [] }

    /// Sizes of the hashes of RFC 8122 §5.
    static let byteCounts = ["md5": 16, "sha-1": 20, "sha-224": 28, "sha-256": 32, "sha-384": 48, "sha-512": 64]
}

package struct SSRCLine: Hashable, Sendable {
    package var ssrc: UInt32
    package var cname: String?

    package init(ssrc: UInt32, cname: String? = nil) {
        self.ssrc = ssrc
        self.cname = cname
    }
}

package struct RetransmissionGroup: Hashable, Sendable {
    package var media: UInt32
    package var retransmission: UInt32

    package init(media: UInt32, retransmission: UInt32) {
        self.media = media
        self.retransmission = retransmission
    }
}

package struct RepairGroup: Hashable, Sendable {
    package var media: UInt32
    package var repair: UInt32

    package init(media: UInt32, repair: UInt32) {
        self.media = media
        self.repair = repair
    }
}

/// `a=setup` (RFC 8842 §5.3).
package enum DTLSSetup: String, Hashable, Sendable {
    case active
    case passive
    case actpass
    case holdconn
}

package enum MediaDirection: String, Hashable, Sendable {
    case sendrecv
    case sendonly
    case recvonly
    case inactive

    package init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendrecv : .sendonly) : (receives ? .recvonly : .inactive)
    }

    package var sends: Bool { self == .sendrecv || self == .sendonly }
    package var receives: Bool { self == .sendrecv || self == .recvonly }
    /// The same direction seen by the other side.
    package var reversed: MediaDirection { MediaDirection(sends: receives, receives: sends) }
}
