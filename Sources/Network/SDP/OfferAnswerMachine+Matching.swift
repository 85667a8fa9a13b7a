/// Finding what two descriptions have in common.
extension OfferAnswerMachine {
    struct Codec {
        var payloadType: UInt8
        var retransmissionPayloadType: UInt8?
        var parameters: String
    }

    /// Our codec of that kind in the peer's section, under the peer's payload type. RFC 9429 §5.8: names compare
    /// without case; what was first in the m-line comes first.
    static func codec(in section: MediaSection, kind: MediaConfiguration.Kind) -> Codec? {
        let name = kind == .video ? "vp8" : "opus"
        let clockRate: UInt32 = kind == .video ? 90_000 : 48_000
        for format in section.formats {
            // RFC 5761 §4: 64–95 would collide with RTCP.
            guard let type = UInt8(format), type < 128, !(64...95).contains(type),
                let map = section.rtpMaps.first(where: { $0.payloadType == type }), map.name.lowercased() == name,
                map.clockRate == clockRate
            else { continue }
            let repair = section.rtpMaps.first { repair in
                repair.name.lowercased() == "rtx" && repair.clockRate == clockRate
                    && !(64...95).contains(repair.payloadType)
                    && section.formats.contains("\(repair.payloadType)")
                    && associatedType(section.formatParameters[repair.payloadType]) == type
            }
            return Codec(
                payloadType: type, retransmissionPayloadType: repair?.payloadType,
                parameters: section.formatParameters[type] ?? "")
        }
        return nil
    }

    /// `apt` of an rtx format (RFC 4588 §8.1).
    private static func associatedType(_ parameters: String?) -> UInt8? {
        FormatParameters.pairs(parameters ?? "").first { $0.name == "apt" }.flatMap { SDPText.decimal($0.value) }
    }

    /// RFC 9429 §5.1.2: these are all taken to mean the same, since `a=fingerprint` tells that DTLS-SRTP is meant.
    static func isKnownProtocol(_ name: String) -> Bool {
        [
            "UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "RTP/SAVPF", "RTP/SAVP",
            "RTP/AVPF", "RTP/AVP",
        ].contains(name)
    }

    /// For each kind the one m-line of the peer's offer that we take, by index. A peer may offer several of a kind: an
    /// m-line that is ours already stays so, then one that lets media flow goes before one that does not.
    func acceptedSections(of offer: SessionDescription) -> [Int: (track: MediaConfiguration.Track, codec: Codec)] {
        var best: [MediaConfiguration.Kind: (rank: Int, index: Int, codec: Codec)] = [:]
        for (index, section) in offer.media.enumerated() {
            guard section.port != 0 || (section.isBundleOnly && !offer.bundle.isEmpty), section.isRTCPMultiplexed,
                Self.isKnownProtocol(section.protocolName), let track = configuration.track(section.kind),
                offer.bundle.isEmpty || section.mid.map(offer.bundle.contains) == true,
                let codec = Self.codec(in: section, kind: track.kind)
            else { continue }
            let isOurs =
                if let local, index < local.media.count { !local.media[index].isRejected } else { false }
            let flows = Self.direction(track, remote: section) != .inactive
            let rank = (isOurs ? 2 : 0) + (flows ? 1 : 0)
            if let known = best[track.kind], known.rank >= rank { continue }
            best[track.kind] = (rank, index, codec)
        }
        var accepted: [Int: (track: MediaConfiguration.Track, codec: Codec)] = [:]
        // Within a bundle a payload type has one meaning (RFC 8843 §9.1.1), else nothing tells sound from pictures.
        var usedTypes: Set<UInt8> = []
        for one in best.values.sorted(by: { $0.index < $1.index }) {
            let types = [one.codec.payloadType, one.codec.retransmissionPayloadType].compactMap { $0 }
            guard let track = configuration.track(offer.media[one.index].kind), usedTypes.isDisjoint(with: types)
            else { continue }
            usedTypes.formUnion(types)
            accepted[one.index] = (track, one.codec)
        }
        // Without BUNDLE each m-line would need a transport of its own; the first one gets ours.
        if offer.bundle.isEmpty, let first = accepted.keys.min() { accepted = accepted.filter { $0.key == first } }
        return accepted
    }

    static func direction(_ track: MediaConfiguration.Track, remote: MediaSection) -> MediaDirection {
        let wanted = remote.direction.reversed
        return MediaDirection(sends: wanted.sends && track.sends, receives: wanted.receives && track.receives)
    }

    /// RFC 9429 §5.10, RFC 8843 §7.2: m-lines keep their place; only a refused one may change its kind.
    static func checkReoffer(_ offer: SessionDescription, against local: SessionDescription?) throws(SDPError) {
        guard let local else { return }
        guard offer.media.count >= local.media.count else {
            throw .invalid(reason: "it has fewer media sections than the session")
        }
        for (old, new) in zip(local.media, offer.media) where !old.isRejected {
            guard new.kind == old.kind else { throw .invalid(reason: "it changes the kind of a media section in use") }
            guard new.isRejected || old.mid == nil || new.mid == old.mid else {
                throw .invalid(reason: "it changes the a=mid of a media section in use")
            }
        }
    }

    /// RFC 9429 §5.11: an answer says nothing that the offer did not.
    static func check(_ answered: MediaSection, against offered: MediaSection) throws(SDPError) {
        guard answered.kind == offered.kind else {
            throw .invalid(reason: "the answer changes the kind of a media section")
        }
        guard answered.mid == nil || answered.mid == offered.mid else {
            throw .invalid(reason: "the answer changes the a=mid of a media section")
        }
        guard !answered.isRejected else { return }
        guard !offered.isRejected else { throw .invalid(reason: "the answer accepts a media section that is closed") }
        guard answered.isRTCPMultiplexed else { throw .invalid(reason: "the answer lacks a=rtcp-mux") }
        guard answered.formats.allSatisfy(offered.formats.contains) else {
            throw .invalid(reason: "the answer has a payload type that the offer has not")
        }
    }

    /// We have one transport: what the answer leaves out of the bundle needs to name the same one.
    static func checkBundle(_ accepted: [MediaSection], _ answer: SessionDescription) throws(SDPError) {
        for section in accepted where section.mid.map(answer.bundle.contains) != true {
            guard accepted.count == 1 || section.iceUfrag == accepted[0].iceUfrag else {
                throw .invalid(reason: "the answer accepts several media sections without bundling them")
            }
        }
    }

    static func bundleRank(_ section: MediaSection, _ description: SessionDescription) -> Int {
        section.mid.flatMap { description.bundle.firstIndex(of: $0) } ?? Int.max
    }

    /// - Parameters:
    ///   - mid: the offerer's, which an answer may leave out.
    ///   - localExtensions: what our own description says or will say of header extensions.
    static func media(
        _ track: MediaConfiguration.Track, index: Int, mid: String?, remote: MediaSection, codec: Codec,
        localExtensions: [ExtensionMap]
    ) -> NegotiatedSession.Media {
        let feedback = remote.feedback.filter { $0.payloadType == nil || $0.payloadType == codec.payloadType }
        func has(_ value: String) -> Bool { feedback.contains { $0.value == value } }
        let group = remote.retransmissionGroups.first
        // Both descriptions have to name it, with the same id.
        let common = remote.extensions.filter { map in
            track.headerExtensions.contains(map.uri)
                && localExtensions.contains { $0.id == map.id && $0.uri == map.uri }
        }
        let parameters = codec.parameters
        return NegotiatedSession.Media(
            kind: track.kind, mid: mid, direction: direction(track, remote: remote),
            payloadType: codec.payloadType, retransmissionPayloadType: codec.retransmissionPayloadType,
            ssrc: track.ssrc, retransmissionSSRC: track.retransmissionSSRC,
            remoteSSRCs: group.map { [$0.media, $0.retransmission] } ?? remote.ssrcs.map(\.ssrc),
            sendExtensions: common.filter { $0.direction?.receives != false },
            receiveExtensions: common.filter { $0.direction?.sends != false },
            feedback: NegotiatedSession.Feedback(
                nack: has("nack"), pictureLossIndication: has("nack pli"), fullIntraRequest: has("ccm fir"),
                transportWide: has("transport-cc"), receiverEstimate: has("goog-remb"),
                temporaryMaximum: has("ccm tmmbr")),
            opus: track.kind == .audio ? OpusParameters(parsing: parameters) : OpusParameters(),
            vp8: track.kind == .video ? VP8Parameters(parsing: parameters) : VP8Parameters(),
            isRTCPReducedSize: remote.isRTCPReducedSize, index: index, remoteStreamID: remote.streamID,
            remoteTrackID: remote.trackID, remoteRetransmissionGroups: remote.retransmissionGroups,
            mainEncoding: track.mainEncoding)
    }

    /// The m-line whose transport everything uses: the first of the bundle that is accepted (RFC 8843 §7.3.1). Some
    /// peers write the attributes only into the first m-line of the offer, also where we refuse that one.
    static func transportSection(accepted: [MediaSection], in remote: SessionDescription) -> MediaSection? {
        let ranked = accepted.enumerated().sorted {
            (bundleRank($0.element, remote), $0.offset) < (bundleRank($1.element, remote), $1.offset)
        }.map(\.element)
        let bundled = remote.media.filter { $0.mid.map(remote.bundle.contains) == true }
        return (ranked + bundled).first { $0.iceUfrag != nil } ?? ranked.first
    }

    static func session(
        media: [NegotiatedSession.Media], transport: MediaSection, remote: SessionDescription,
        role: NegotiatedSession.DTLSRole
    ) throws(SDPError) -> NegotiatedSession {
        guard let ufrag = transport.iceUfrag, let password = transport.icePassword else {
            throw .invalid(reason: "it lacks a=ice-ufrag or a=ice-pwd")
        }
        guard !transport.fingerprints.isEmpty else {
            throw .invalid(reason: "it lacks a=fingerprint; unencrypted media is not supported")
        }
        // The other sections' candidates go away with the bundle; they stand in only where the tagged one has none.
        var candidates = transport.candidates
        if candidates.isEmpty {
            candidates = remote.media.filter { $0.iceUfrag == ufrag }.flatMap(\.candidates)
        }
        return NegotiatedSession(
            media: media, remoteUfrag: ufrag, remotePassword: password, remoteFingerprints: transport.fingerprints,
            remoteCandidates: Array(candidates.prefix(SessionDescriptionParser.maximumPerSection)),
            remoteCandidatesEnded: transport.isEndOfCandidates,
            isRemoteICELite: remote.isICELite, supportsTrickle: remote.iceOptions.contains("trickle"), dtlsRole: role)
    }
}
