/// What we write into our descriptions (RFC 9429 §5.2, §5.3).
extension OfferAnswerMachine {
    private static let offeredProtocol = "UDP/TLS/RTP/SAVPF"

    /// The place of an m-line that is closed is used again (RFC 9429 §5.2.2), else the end.
    static func place(_ section: MediaSection, in offer: inout SessionDescription) {
        if let place = offer.media.firstIndex(where: \.isRejected) {
            offer.media[place] = section
        } else {
            offer.media.append(section)
        }
        if let mid = section.mid { offer.bundle.append(mid) }
    }

    static func has(_ kind: MediaConfiguration.Kind, _ media: [MediaSection]) -> Bool {
        media.contains { $0.kind == kind.rawValue && !$0.isRejected }
    }

    func offeredSection(
        _ track: MediaConfiguration.Track, mid: String, behind media: [MediaSection]
    ) -> MediaSection {
        let codec = CodecFormats.offered(for: track, besides: Set(media.flatMap(\.formats).compactMap { UInt8($0) }))
        var section = MediaSection(
            kind: track.kind.rawValue, port: 9, protocolName: Self.offeredProtocol,
            formats: codec.payloadTypes.map(String.init))
        section.mid = mid
        section.direction = MediaDirection(sends: track.sends, receives: track.receives)
        section.rtpMaps = codec.rtpMaps(track.kind)
        section.formatParameters = codec.associations(track.kind)
        if track.kind == .audio { section.formatParameters[codec.payloadType] = OpusParameters.described(for: track) }
        section.feedback = Self.feedback(track.kind, codec)
        section.extensions = configuration.extensionMaps(for: track, known: media)
        section.isRTCPMultiplexed = true
        section.isRTCPReducedSize = true
        Self.offerSimulcast(of: track, agreed: agreedLayers[track.kind], in: &section)
        addSources(of: track, to: &section)
        return section
    }

    /// RFC 9429 §5.2.2: the m-line with its mid and payload types, with the direction that we want now; closed where we
    /// want it no more.
    func reoffered(_ section: MediaSection) -> MediaSection {
        if section.kind == DataChannelSection.kind, !section.isRejected, configuration.hasDataChannels {
            return DataChannelSection.reoffered(section)
        }
        guard !section.isRejected, let track = configuration.track(section.kind) else { return Self.rejected(section) }
        var section = section
        section.isBundleOnly = false
        section.direction = MediaDirection(sends: track.sends, receives: track.receives)
        Self.offerSimulcast(of: track, agreed: agreedLayers[track.kind], in: &section)
        // Our answer left these out where the peer did not want to receive then.
        addSources(of: track, to: &section)
        return section
    }

    func answered(
        _ offered: MediaSection, _ media: NegotiatedSession.Media, _ codec: CodecFormats, isTagged: Bool,
        role: NegotiatedSession.DTLSRole, transport: TransportParameters
    ) -> MediaSection {
        let formats = codec.payloadTypes
        var section = MediaSection(
            kind: offered.kind, port: 9, protocolName: offered.protocolName, formats: formats.map(String.init))
        section.mid = offered.mid
        section.direction = media.direction
        section.rtpMaps = formats.compactMap { type in offered.rtpMaps.first { $0.payloadType == type } }
        section.formatParameters = codec.associations(media.kind)
        if media.kind == .audio {
            section.formatParameters[codec.payloadType] = configuration.track(offered.kind)
                .map(OpusParameters.described)
        }
        section.feedback = Self.feedback(media.kind, codec).filter { line in
            // Of several kinds of feedback on the path an answer keeps one (RFC 8888 §6).
            line.value != (media.feedback.perPacket ? "transport-cc" : "ack ccfb")
                && offered.feedback.contains {
                    $0.value == line.value
                        && ($0.payloadType == nil || $0.payloadType == line.payloadType ?? codec.payloadType)
                }
        }
        section.isRTCPMultiplexed = true
        section.isRTCPReducedSize = offered.isRTCPReducedSize
        Self.answerSimulcast(media, to: offered, in: &section)
        // Also while the medium is held: browsers keep what receives a source for as long as it is named. Media that come
        // back before their answer does would otherwise be those of an unknown source, which no track ever shows.
        if let track = configuration.track(offered.kind) { addSources(of: track, to: &section) }
        addTransport(transport, setup: role == .client ? .active : .passive, isTagged: isTagged, to: &section)
        return section
    }

    /// RFC 9429 §5.3.1: port 0, with a format left so that the line stays well-formed.
    static func rejected(_ offered: MediaSection) -> MediaSection {
        var section = MediaSection(
            kind: offered.kind, port: 0, protocolName: offered.protocolName,
            formats: Array(offered.formats.prefix(1)))
        section.mid = offered.mid
        section.direction = .inactive
        return section
    }

    private func addSources(of track: MediaConfiguration.Track, to section: inout MediaSection) {
        guard track.sends else {
            (section.streamID, section.trackID) = (nil, nil)
            section.ssrcs = []
            section.retransmissionGroups = []
            return
        }
        section.streamID = configuration.streamID
        section.trackID = "\(configuration.streamID)-\(track.kind.rawValue)"
        section.ssrcs = [SSRCLine(ssrc: track.ssrc, cname: configuration.cname)]
        if let repair = track.retransmissionSSRC, section.rtpMaps.contains(where: { $0.name.lowercased() == "rtx" }) {
            section.ssrcs.append(SSRCLine(ssrc: repair, cname: configuration.cname))
            section.retransmissionGroups = [RetransmissionGroup(media: track.ssrc, retransmission: repair)]
        }
        if let repair = track.repairSSRC, section.rtpMaps.contains(where: { $0.name.lowercased() == "flexfec-03" }) {
            section.ssrcs.append(SSRCLine(ssrc: repair, cname: configuration.cname))
            section.repairGroups = [RepairGroup(media: track.ssrc, repair: repair)]
        }
    }

    func addTransport(
        _ transport: TransportParameters, setup: DTLSSetup, isTagged: Bool, to section: inout MediaSection
    ) {
        // RFC 9429 §5.3.1 asks for these in the tagged section of an answer only, but browsers write them into all, and
        // Firefox 153 counts on it: without a fingerprint its page's process dies, and credentials in one section alone
        // it refuses as a "partial ICE restart".
        section.fingerprints = [transport.fingerprint]
        section.setup = setup
        section.iceUfrag = transport.iceUfrag
        section.icePassword = transport.icePassword
        section.candidates = isTagged ? transport.candidates : []
        section.isEndOfCandidates = isTagged && transport.isEndOfCandidates
    }

    /// What we understand of the header extensions on offer, under their ids (RFC 8285 §6). Of one that is offered in
    /// the clear and encrypted the latter is taken (RFC 6904 §4), else the first.
    func answeredExtensions(_ offered: MediaSection, ambiguous: Set<UInt8>) -> [ExtensionMap] {
        let known = configuration.track(offered.kind)?.headerExtensions ?? []
        return known.compactMap { uri in
            let usable = offered.extensions.filter { $0.uri == uri && !($0.isEncrypted && ambiguous.contains($0.id)) }
            return (usable.first(where: \.isEncrypted) ?? usable.first).map {
                ExtensionMap(
                    id: $0.id, uri: uri, direction: $0.direction?.reversed, isEncrypted: $0.isEncrypted)
            }
        }
    }

    /// Ids that are encrypted in one m-line and in the clear in another: SRTP, which knows a bundle's ids alone, cannot
    /// tell them apart, and RFC 8843 §9.2 has one meaning for each.
    static func ambiguousIDs(in media: [MediaSection]) -> Set<UInt8> {
        let maps = media.flatMap(\.extensions)
        return Set(maps.filter(\.isEncrypted).map(\.id)).intersection(maps.filter { !$0.isEncrypted }.map(\.id))
    }

    private static func feedback(_ kind: MediaConfiguration.Kind, _ codec: CodecFormats) -> [FeedbackLine] {
        let values =
            kind == .video
            ? ["goog-remb", "transport-cc", "ccm fir", "ccm tmmbr", "nack", "nack pli"] : ["transport-cc"]
        var lines = values.map { FeedbackLine(payloadType: codec.payloadType, value: $0) }
        // Parity packets are counted with the rest of what the path carries.
        if let type = codec.repair.flexfec { lines.append(FeedbackLine(payloadType: type, value: "transport-cc")) }
        // Of all payload types at once, as RFC 8888 §6 has it.
        return lines + [FeedbackLine(payloadType: nil, value: "ack ccfb")]
    }
}
