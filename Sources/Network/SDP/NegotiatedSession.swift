/// What offer and answer agreed on, in the local view.
package struct NegotiatedSession: Hashable, Sendable {
    package struct Media: Hashable, Sendable {
        package var kind: MediaConfiguration.Kind
        package var mid: String?
        package var direction: MediaDirection
        /// What goes into the header of packets we send and is expected in those we receive.
        package var payloadType: UInt8
        package var retransmissionPayloadType: UInt8?
        /// Local SSRCs, when we send.
        package var ssrc: UInt32
        package var retransmissionSSRC: UInt32?
        /// SSRCs that the peer announced, media first; often empty.
        package var remoteSSRCs: [UInt32]
        package var midExtensionID: UInt8?
        package var feedback: Feedback
        package var opus: OpusParameters
        package var isRTCPReducedSize: Bool
    }

    /// What the receiver of the stream may send back (RFC 4585 §4.2, RFC 5104 §7.1).
    package struct Feedback: Hashable, Sendable {
        package var nack = false
        package var pictureLossIndication = false
        package var fullIntraRequest = false
    }

    package enum DTLSRole: Hashable, Sendable {
        case client
        case server
    }

    package var media: [Media]
    package var remoteUfrag: String
    package var remotePassword: String
    package var remoteFingerprints: [FingerprintLine]
    package var remoteCandidates: [ICECandidateLine]
    package var remoteCandidatesEnded: Bool
    package var isRemoteICELite: Bool
    package var dtlsRole: DTLSRole

    package func media(_ kind: MediaConfiguration.Kind) -> Media? { media.first { $0.kind == kind } }
}

/// What the receiver of an Opus stream asks of its sender (RFC 7587 §6.1).
package struct OpusParameters: Hashable, Sendable {
    package var useInbandFEC = false
    package var useDTX = false
    package var stereo = false
    package var maximumAverageBitrate: Int?

    package init() {}

    /// Reads an `a=fmtp` value; unknown parameters and unusable values are passed over.
    package init(parsing parameters: String) {
        for parameter in parameters.split(separator: ";") {
            let parts = parameter.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " } }
            guard parts.count == 2 else { continue }
            switch parts[0].lowercased() {
            case "useinbandfec": useInbandFEC = parts[1] == "1"
            case "usedtx": useDTX = parts[1] == "1"
            case "stereo": stereo = parts[1] == "1"
            case "maxaveragebitrate":
                maximumAverageBitrate = Int(parts[1]).flatMap { (6_000...510_000).contains($0) ? $0 : nil }
            default: break
            }
        }
    }
}
