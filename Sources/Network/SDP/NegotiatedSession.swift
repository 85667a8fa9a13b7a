/// What offer and answer agreed on, in the local view.
package struct NegotiatedSession: Hashable, Sendable {
    package struct Media: Hashable, Sendable {
        package var kind: MediaConfiguration.Kind
        package var mid: String?
        package var direction: MediaDirection
        /// What goes into the header of packets we send and is expected in those we receive.
        package var payloadType: UInt8
        package var retransmissionPayloadType: UInt8?
        /// Further repair that both descriptions have.
        package var repair: RepairFormats
        /// Local SSRCs, when we send.
        package var ssrc: UInt32
        package var retransmissionSSRC: UInt32?
        package var repairSSRC: UInt32?
        /// SSRCs that the peer announced, media first; often empty.
        package var remoteSSRCs: [UInt32]
        /// Header extensions that we may write into what we send …
        package var sendExtensions: [ExtensionMap]
        /// … and that what we receive may have, with the ids of the description.
        package var receiveExtensions: [ExtensionMap]
        package var feedback: Feedback
        package var opus: OpusParameters
        /// What the receiver of a VP8 stream can take.
        package var vp8: VP8Parameters
        package var isRTCPReducedSize: Bool
        /// Where the m-line stands in both descriptions.
        package var index: Int
        /// Ids of the peer's MediaStream and track, when it sends and says so.
        package var remoteStreamID: String?
        package var remoteTrackID: String?
        /// SSRCs of the peer with those of their retransmissions, as far as it announced them.
        package var remoteRetransmissionGroups: [RetransmissionGroup] = []
        /// The streams that we send where the peer takes simulcast, the one that it prefers first; empty: one stream
        /// without a name, `ssrc`.
        package var sendLayers: [SendLayer] = []
        /// Which of our encodings that one stream is of.
        package var mainEncoding = 0
        /// The stream that we take of the peer's simulcast; `nil`: it has none.
        package var receiveRID: String?

        package var midExtensionID: UInt8? { sendExtensions.first { $0.uri == ExtensionMap.midURI }?.id }
    }

    /// What the receiver of the stream may send back (RFC 4585 §4.2, RFC 5104 §7.1).
    package struct Feedback: Hashable, Sendable {
        package var nack = false
        package var pictureLossIndication = false
        package var fullIntraRequest = false
        /// Transport-wide congestion control feedback.
        package var transportWide = false
        /// Congestion control feedback on each packet by SSRC and number (RFC 8888); never beside transport-wide one.
        package var perPacket = false
        package var receiverEstimate = false
        package var temporaryMaximum = false
    }

    /// One stream of a simulcast that we send (RFC 8853).
    package struct SendLayer: Hashable, Sendable {
        /// Which of the track's encodings.
        package var encoding: Int
        /// Its name in the descriptions, which is the offerer's.
        package var rid: String
        package var ssrc: UInt32
        package var retransmissionSSRC: UInt32?
        /// The peer wants it later, if at all.
        package var isPaused: Bool
        /// What the peer takes at most, in bits a second.
        package var maximumBitrate: Int?
    }

    /// Data channels (RFC 8841).
    package struct Data: Hashable, Sendable {
        /// Where the m-line stands in both descriptions.
        package var index: Int
        package var remotePort: UInt16
        /// The largest message that the peer takes, in bytes: 0 for any, `nil` where it says nothing.
        package var maximumMessageSize: UInt64?

        package init(index: Int, remotePort: UInt16, maximumMessageSize: UInt64?) {
            self.index = index
            self.remotePort = remotePort
            self.maximumMessageSize = maximumMessageSize
        }
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
    /// Whether the peer takes candidates one by one (`a=ice-options:trickle`, RFC 8840 §4.1.3).
    package var supportsTrickle: Bool
    package var dtlsRole: DTLSRole
    /// `nil` without data channels.
    package var data: Data?

    package func media(_ kind: MediaConfiguration.Kind) -> Media? { media.first { $0.kind == kind } }

    /// Ids of the header extensions that SRTP has to encrypt, of all m-lines together: in a bundle one id has one
    /// meaning (RFC 8843 §9.2).
    package var encryptedExtensionIDs: Set<UInt8> {
        Set(media.flatMap { $0.sendExtensions + $0.receiveExtensions }.filter(\.isEncrypted).map(\.id))
    }
}

/// What the receiver of an Opus stream asks of its sender (RFC 7587 §6.1).
package struct OpusParameters: Hashable, Sendable {
    package var useInbandFEC = false
    package var useDTX = false
    package var stereo = false
    /// In bits a second.
    package var maximumAverageBitrate: Int?
    /// The highest sampling rate that the receiver can play, in Hz.
    package var maximumPlaybackRate: Int?
    /// The length of packets that the receiver would like, in milliseconds …
    package var packetTime: Int?
    /// … the shortest that it wants, and the longest that it takes.
    package var minimumPacketTime: Int?
    package var maximumPacketTime: Int?

    private static let packetTimes = 3...120

    package init() {}

    /// Reads an `a=fmtp` value; unknown parameters and unusable values are passed over. Times stand in lines of their own
    /// (§7); where they do not, those in the parameters count, as some peers write them.
    package init(parsing parameters: String, packetTime: Int? = nil, maximumPacketTime: Int? = nil) {
        for (name, value) in FormatParameters.pairs(parameters) {
            switch name {
            case "useinbandfec": useInbandFEC = value == "1"
            case "usedtx": useDTX = value == "1"
            case "stereo": stereo = value == "1"
            case "maxaveragebitrate": maximumAverageBitrate = FormatParameters.number(value, in: 6_000...510_000)
            case "maxplaybackrate": maximumPlaybackRate = FormatParameters.number(value, in: 8_000...48_000)
            case "ptime": self.packetTime = FormatParameters.number(value, in: Self.packetTimes)
            case "minptime": minimumPacketTime = FormatParameters.number(value, in: Self.packetTimes)
            case "maxptime": self.maximumPacketTime = FormatParameters.number(value, in: Self.packetTimes)
            default: break
            }
        }
        if let packetTime, Self.packetTimes.contains(packetTime) { self.packetTime = packetTime }
        if let maximumPacketTime { self.maximumPacketTime = max(Self.packetTimes.lowerBound, maximumPacketTime) }
    }

    /// The parameters of our own descriptions: what we take, and whether what we send is likely to be stereo.
    static func described(for track: MediaConfiguration.Track) -> String {
        var parameters = "minptime=10;useinbandfec=1"
        if track.isStereo, track.receives { parameters += ";stereo=1" }
        if track.isStereo, track.sends { parameters += ";sprop-stereo=1" }
        return parameters
    }
}

/// The limits of a VP8 receiver, which the sender must keep (RFC 7741 §6.1).
package struct VP8Parameters: Hashable, Sendable {
    /// `max-fr`, in pictures a second.
    package var maximumFrameRate: Int?
    /// `max-fs`, in macroblocks of 16×16 pixels.
    package var maximumFrameSize: Int?

    package init() {}

    /// Reads an `a=fmtp` value; unknown parameters and unusable values are passed over.
    package init(parsing parameters: String) {
        for (name, value) in FormatParameters.pairs(parameters) {
            switch name {
            case "max-fr": maximumFrameRate = FormatParameters.number(value, in: 1...1_000)
            case "max-fs": maximumFrameSize = FormatParameters.number(value, in: 1...1_048_576)
            default: break
            }
        }
    }
}

/// `name=value;name=value`, the form that all media types here give their parameters.
enum FormatParameters {
    static func pairs(_ parameters: String) -> [(name: String, value: Substring)] {
        SDPText.parts(Substring(parameters), at: ";").compactMap { parameter in
            let parts = SDPText.parts(parameter, at: "=", maximumSplits: 1).map { SDPText.words($0).first ?? "" }
            return parts.count == 2 ? (parts[0].lowercased(), parts[1]) : nil
        }
    }

    static func number(_ text: Substring, in range: ClosedRange<Int>) -> Int? {
        let number: Int? = SDPText.decimal(text)
        return number.flatMap { range.contains($0) ? $0 : nil }
    }
}
