/// Finding what two descriptions have in common.
extension OfferAnswerMachine {
    /// RFC 9429 §5.1.2: these are all taken to mean the same, since `a=fingerprint` tells that DTLS-SRTP is meant.
    static func isKnownProtocol(_ name: String) -> Bool {
        [
            "UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "RTP/SAVPF", "RTP/SAVP",
            "RTP/AVPF", "RTP/AVP",
        ].contains(name)
    }

    /// For each kind the one m-line of the peer's offer that we take, by index. A peer may offer several of a kind: an
    /// m-line that is ours already stays so, then one that lets media flow goes before one that does not.
    func acceptedSections(of offer: SessionDescription) -> [Int: (track: MediaConfiguration.Track, codec: CodecFormats)]
    {
        var best: [MediaConfiguration.Kind: (rank: Int, index: Int, codec: CodecFormats)] = [:]
        for (index, section) in offer.media.enumerated() {
            guard Self.isUsable(section, in: offer), section.isRTCPMultiplexed,
                Self.isKnownProtocol(section.protocolName), let track = configuration.track(section.kind),
                let codec = CodecFormats(in: section, for: track)
            else { continue }
            let flows = Self.direction(track, remote: section) != .inactive
            let rank = (isOurs(index) ? 2 : 0) + (flows ? 1 : 0)
            if let known = best[track.kind], known.rank >= rank { continue }
            best[track.kind] = (rank, index, codec)
        }
        var accepted: [Int: (track: MediaConfiguration.Track, codec: CodecFormats)] = [:]
        // Within a bundle a payload type has one meaning (RFC 8843 §9.1.1), else nothing tells sound from pictures.
        var usedTypes: Set<UInt8> = []
        for one in best.values.sorted(by: { $0.index < $1.index }) {
            guard let track = configuration.track(offer.media[one.index].kind),
                usedTypes.isDisjoint(with: one.codec.neededTypes)
            else { continue }
            let codec = one.codec.without(usedTypes)
            usedTypes.formUnion(codec.payloadTypes)
            accepted[one.index] = (track, codec)
        }
        // Without BUNDLE each m-line would need a transport of its own; the first one gets ours.
        if offer.bundle.isEmpty, let first = accepted.keys.min() { accepted = accepted.filter { $0.key == first } }
        return accepted
    }

    /// The m-line for data channels that we take: the one that is ours already, else the first that can be used. Without
    /// BUNDLE it would need a transport of its own where media has ours.
    func acceptedData(of offer: SessionDescription, besides hasMedia: Bool) -> Int? {
        guard configuration.hasDataChannels, !(offer.bundle.isEmpty && hasMedia) else { return nil }
        let usable = offer.media.indices.filter { index in
            Self.isUsable(offer.media[index], in: offer) && DataChannelSection.remotePort(in: offer.media[index]) != nil
        }
        return usable.first(where: isOurs) ?? usable.first
    }

    /// Neither rejected nor outside of the bundle.
    private static func isUsable(_ section: MediaSection, in offer: SessionDescription) -> Bool {
        (section.port != 0 || (section.isBundleOnly && !offer.bundle.isEmpty))
            && (offer.bundle.isEmpty || section.mid.map(offer.bundle.contains) == true)
    }

    /// Whether we have that m-line in use.
    private func isOurs(_ index: Int) -> Bool {
        if let local, index < local.media.count { !local.media[index].isRejected } else { false }
    }

    /// What the peer's section for data channels says.
    static func data(in remote: MediaSection, index: Int) throws(SDPError) -> NegotiatedSession.Data {
        guard let port = DataChannelSection.remotePort(in: remote) else {
            throw .invalid(reason: "its section for data channels has no SCTP port or application that could be used")
        }
        return NegotiatedSession.Data(
            index: index, remotePort: port, maximumMessageSize: remote.maximumMessageSize)
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
        if answered.kind == DataChannelSection.kind { return }
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
        _ track: MediaConfiguration.Track, index: Int, mid: String?, remote: MediaSection, codec: CodecFormats,
        localExtensions: [ExtensionMap]
    ) -> NegotiatedSession.Media {
        let feedback = remote.feedback.filter { $0.payloadType == nil || $0.payloadType == codec.payloadType }
        func has(_ value: String) -> Bool { feedback.contains { $0.value == value } }
        let group = remote.retransmissionGroups.first
        let repairs = remote.repairGroups.map(\.repair)
        // Both descriptions have to name it, with the same id.
        let common = remote.extensions.filter { map in
            track.headerExtensions.contains(map.uri)
                && localExtensions.contains {
                    $0.id == map.id && $0.uri == map.uri && $0.isEncrypted == map.isEncrypted
                }
        }
        let parameters = codec.parameters
        // Feedback by transport-wide numbers needs their header extension, too; what tells of each packet by its own
        // number stands in.
        let isTransportWide = has("transport-cc")
        let perPacket =
            has("ack ccfb") && !(isTransportWide && common.contains { $0.uri == ExtensionMap.transportWideURI })
        return NegotiatedSession.Media(
            kind: track.kind, mid: mid, direction: direction(track, remote: remote),
            payloadType: codec.payloadType, retransmissionPayloadType: codec.retransmission, repair: codec.repair,
            ssrc: track.ssrc, retransmissionSSRC: track.retransmissionSSRC, repairSSRC: track.repairSSRC,
            remoteSSRCs: group.map { [$0.media, $0.retransmission] }
                ?? remote.ssrcs.map(\.ssrc).filter { !repairs.contains($0) },
            sendExtensions: common.filter { $0.direction?.receives != false },
            receiveExtensions: common.filter { $0.direction?.sends != false },
            feedback: NegotiatedSession.Feedback(
                nack: has("nack"), pictureLossIndication: has("nack pli"), fullIntraRequest: has("ccm fir"),
                transportWide: isTransportWide && !perPacket, perPacket: perPacket, receiverEstimate: has("goog-remb"),
                temporaryMaximum: has("ccm tmmbr")),
            opus: track.kind == .audio
                ? OpusParameters(
                    parsing: parameters, packetTime: remote.packetTime, maximumPacketTime: remote.maximumPacketTime)
                : OpusParameters(),
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
