/// Offer and answer for one bundled session (RFC 9429 §5, RFC 8843), as a value: on an error nothing has changed.
///
/// ```
///             makeOffer ──▶ haveLocalOffer ──setRemoteAnswer──▶ stable
///  stable ──┤
///             setRemoteOffer + makeAnswer in one step (`answer`) ──▶ stable
/// ```
package struct OfferAnswerMachine: Sendable {
    package enum SignalingState: Hashable, Sendable {
        case stable
        case haveLocalOffer
    }

    package private(set) var signalingState: SignalingState = .stable
    /// What the last completed exchange agreed on.
    package private(set) var negotiated: NegotiatedSession?

    private(set) var configuration: MediaConfiguration
    private let sessionID: String
    private var sessionVersion: UInt64 = 0
    /// Our last description: its m-lines keep their order and number (RFC 9429 §5.2.2).
    private(set) var local: SessionDescription?
    /// What `local` was before the open offer.
    private var stableLocal: SessionDescription?
    private let preferredRole: NegotiatedSession.DTLSRole
    private var dtlsRole: NegotiatedSession.DTLSRole?
    /// Kinds that the peer refused or took away; they are offered again when they are configured anew.
    private var stopped: Set<MediaConfiguration.Kind> = []
    /// The peer refused or took away data channels.
    private var hasStoppedData = false
    /// The simulcast that the peer took when it last wanted to receive.
    private var agreedLayers: [MediaConfiguration.Kind: [NegotiatedSession.SendLayer]] = [:]
    /// No mid of this session was ever as large a number.
    private var nextMid = 0

    private static let offeredProtocol = "UDP/TLS/RTP/SAVPF"

    /// - Parameters:
    ///   - sessionID: the number in `o=`, random below 2^63 (RFC 9429 §5.2.1).
    ///   - preferredRole: what we answer to `actpass`; RFC 9429 §5.3.1 asks for the client, which saves a round trip.
    package init(
        configuration: MediaConfiguration, sessionID: UInt64, preferredRole: NegotiatedSession.DTLSRole = .client
    ) {
        self.configuration = configuration
        self.preferredRole = preferredRole
        self.sessionID = String(sessionID >> 1)
    }

    /// Which of our encodings a peer without simulcast gets.
    package var mainEncoding: Int { configuration.track(MediaConfiguration.Kind.video.rawValue)?.mainEncoding ?? 0 }

    /// Changes what we want of the session; the next offer tells the peer. A kind that is not named any more has its
    /// m-line closed, one that is new gets another m-line.
    package mutating func setTracks(_ tracks: [MediaConfiguration.Track]) {
        for track in tracks where configuration.track(track.kind.rawValue) == nil {
            stopped.remove(track.kind)
            agreedLayers[track.kind] = nil
        }
        configuration.tracks = tracks
    }

    /// Whether data channels are wanted; the next offer tells the peer.
    package mutating func setDataChannels(_ isWanted: Bool) {
        if isWanted, !configuration.hasDataChannels { hasStoppedData = false }
        configuration.hasDataChannels = isWanted
    }

    // MARK: Offering

    package mutating func makeOffer(transport: TransportParameters) throws(SDPError) -> String {
        var offer = SessionDescription(sessionID: sessionID, sessionVersion: nextVersion())
        offer.allowsMixedExtensions = true
        offer.iceOptions = ["trickle"]
        if signalingState == .stable { stableLocal = local }
        offer.media = stableLocal?.media.map(reoffered) ?? []
        // What is in use carries the transport, so that the fate of what is new does not touch it.
        offer.bundle = offer.media.filter { !$0.isRejected }.compactMap(\.mid)
        for track in configuration.tracks where !stopped.contains(track.kind) && !Self.has(track.kind, offer.media) {
            let mid = unusedMid()
            Self.place(offeredSection(track, mid: mid, behind: offer.media), in: &offer)
        }
        let hasData = offer.media.contains { $0.kind == DataChannelSection.kind && !$0.isRejected }
        if configuration.hasDataChannels, !hasStoppedData, !hasData {
            Self.place(DataChannelSection.offered(mid: unusedMid()), in: &offer)
        }
        guard !offer.media.isEmpty, negotiated != nil || !offer.bundle.isEmpty else {
            throw .invalid(reason: "there is nothing to offer")
        }
        for index in offer.media.indices where !offer.media[index].isRejected {
            addTransport(
                transport, setup: .actpass, isTagged: offer.media[index].mid == offer.bundle.first,
                to: &offer.media[index])
        }
        local = offer
        signalingState = .haveLocalOffer
        return offer.text
    }

    /// The place of an m-line that is closed is used again (RFC 9429 §5.2.2), else the end.
    private static func place(_ section: MediaSection, in offer: inout SessionDescription) {
        if let place = offer.media.firstIndex(where: \.isRejected) {
            offer.media[place] = section
        } else {
            offer.media.append(section)
        }
        if let mid = section.mid { offer.bundle.append(mid) }
    }

    package mutating func setRemoteAnswer(_ text: String) throws(SDPError) -> NegotiatedSession {
        guard signalingState == .haveLocalOffer, var local else {
            throw .wrongState(reason: "An answer arrived, but no offer of ours is open.")
        }
        let answer = try SessionDescription(parsing: text)
        guard answer.media.count == local.media.count else {
            throw .invalid(
                reason: "the answer has \(answer.media.count) media sections, the offer \(local.media.count)")
        }
        var media: [NegotiatedSession.Media] = []
        var accepted: [MediaSection] = []
        var data: NegotiatedSession.Data?
        for (index, answered) in answer.media.enumerated() {
            let offered = local.media[index]
            try Self.check(answered, against: offered)
            guard !answered.isRejected else {
                // It stays in its place, closed (RFC 9429 §5.2.2).
                local.media[index] = Self.rejected(offered)
                continue
            }
            if offered.kind == DataChannelSection.kind {
                data = try Self.data(in: answered, index: index)
                accepted.append(answered)
                continue
            }
            guard let track = configuration.track(answered.kind),
                let codec = CodecFormats(in: answered, for: track)?.limited(to: CodecFormats(in: offered, for: track))
            else { throw .invalid(reason: "the answer accepts a media section without a codec of the offer") }
            var one = Self.media(
                track, index: index, mid: offered.mid, remote: answered, codec: codec,
                localExtensions: offered.extensions)
            if !offered.simulcast(.send).isEmpty {
                one.sendLayers = Self.layers(
                    of: track, agreed: agreedLayers[track.kind], answer: answered, payloadType: codec.payloadType)
            }
            if !offered.simulcast(.receive).isEmpty {
                one.receiveRID = Self.takenStream(of: answered, payloadType: codec.payloadType)?.id
            }
            media.append(one)
            accepted.append(answered)
        }
        var session: NegotiatedSession
        if accepted.isEmpty {
            session = try withoutMedia()
        } else {
            try Self.checkBundle(accepted, answer)
            guard let transportSection = Self.transportSection(accepted: accepted, in: answer) else {
                throw .noCommonCodec
            }
            let role = try roleAsOfferer(answeredSetup: transportSection.setup)
            session = try Self.session(media: media, transport: transportSection, remote: answer, role: role)
        }
        session.data = data
        conclude(session, local: local)
        signalingState = .stable
        return session
    }

    /// Everything was refused or taken away: the transport of a session that stands stays.
    private func withoutMedia() throws(SDPError) -> NegotiatedSession {
        guard var session = negotiated else { throw .noCommonCodec }
        session.media = []
        session.data = nil
        return session
    }

    /// Offer and answer are complete.
    private mutating func conclude(_ session: NegotiatedSession, local: SessionDescription) {
        self.local = local
        dtlsRole = session.dtlsRole
        negotiated = session
        for kind in MediaConfiguration.Kind.allCases {
            guard let media = session.media(kind) else {
                let wasRefused = local.media.contains { $0.kind == kind.rawValue && $0.isRejected }
                if wasRefused { stopped.insert(kind) }
                continue
            }
            stopped.remove(kind)
            // While the peer does not want to receive it says nothing of its simulcast.
            if media.direction.sends { agreedLayers[kind] = media.sendLayers }
        }
        if session.data != nil {
            hasStoppedData = false
        } else if local.media.contains(where: { $0.kind == DataChannelSection.kind && $0.isRejected }) {
            hasStoppedData = true
        }
        for mid in local.media.compactMap(\.mid) {
            guard let number: Int = SDPText.decimal(Substring(mid)), number < 1_000_000 else { continue }
            nextMid = max(nextMid, number + 1)
        }
    }

    /// Takes an open offer of ours back (RFC 9429 §4.1.10.2); without one it does nothing.
    package mutating func rollback() {
        guard signalingState == .haveLocalOffer else { return }
        signalingState = .stable
        local = stableLocal
    }

    // MARK: Answering

    /// Takes the peer's offer and makes our answer to it, which keeps the offer's m-lines, order and payload types.
    package mutating func answer(
        offer text: String, transport: TransportParameters
    ) throws(SDPError) -> (answer: String, session: NegotiatedSession) {
        guard signalingState == .stable else {
            throw .wrongState(reason: "An offer arrived while one of ours is open; roll ours back first.")
        }
        let offer = try SessionDescription(parsing: text)
        try Self.checkReoffer(offer, against: local)
        let accepted = acceptedSections(of: offer)
        let dataIndex = acceptedData(of: offer, besides: !accepted.isEmpty)
        let indexes = (Array(accepted.keys) + [dataIndex].compactMap { $0 }).sorted()
        // What carries our transport is the first m-line of the bundle that we take (RFC 8843 §7.3.1).
        let tagged = indexes.min {
            (Self.bundleRank(offer.media[$0], offer), $0) < (Self.bundleRank(offer.media[$1], offer), $1)
        }
        let remote = tagged.flatMap { _ in
            Self.transportSection(accepted: indexes.map { offer.media[$0] }, in: offer)
        }
        let role = try remote.map { remote throws(SDPError) in try roleAsAnswerer(offeredSetup: remote.setup) }
        var media: [NegotiatedSession.Media] = []

        var answer = SessionDescription(sessionID: sessionID, sessionVersion: sessionVersion + 1)
        answer.allowsMixedExtensions = offer.allowsMixedExtensions
        answer.iceOptions = ["trickle"]
        let ambiguous = Self.ambiguousIDs(in: accepted.keys.sorted().map { offer.media[$0] })
        for (index, section) in offer.media.enumerated() {
            if index == dataIndex, let role {
                var answered = DataChannelSection.answered(section)
                addTransport(
                    transport, setup: role == .client ? .active : .passive, isTagged: index == tagged, to: &answered)
                answer.media.append(answered)
                continue
            }
            guard let (track, codec) = accepted[index], let role else {
                answer.media.append(Self.rejected(section))
                continue
            }
            let extensions = answeredExtensions(section, ambiguous: ambiguous)
            var one = Self.media(
                track, index: index, mid: section.mid, remote: section, codec: codec,
                localExtensions: extensions)
            one.sendLayers = Self.layers(
                of: track, agreed: agreedLayers[track.kind], offer: section, payloadType: codec.payloadType)
            one.receiveRID = Self.takenStream(of: section, payloadType: codec.payloadType)?.id
            media.append(one)
            var answered = answered(section, one, codec, isTagged: index == tagged, role: role, transport: transport)
            answered.extensions = extensions
            answer.media.append(answered)
        }
        // Media that the peer has taken away are one thing, media that we cannot have another.
        let isTakenAway = offer.media.allSatisfy { $0.isRejected || configuration.track($0.kind) == nil }
        guard !media.isEmpty || isTakenAway else { throw .noCommonCodec }
        var session: NegotiatedSession
        if let remote, let role {
            session = try Self.session(media: media, transport: remote, remote: offer, role: role)
        } else {
            session = try withoutMedia()
        }
        session.data = try dataIndex.map { index throws(SDPError) in try Self.data(in: offer.media[index], index: index)
        }
        if !offer.bundle.isEmpty {
            answer.bundle = offer.bundle.filter { mid in indexes.contains { offer.media[$0].mid == mid } }
        }
        sessionVersion += 1
        conclude(session, local: answer)
        return (answer.text, session)
    }

    // MARK: Sections we write

    private mutating func nextVersion() -> UInt64 {
        sessionVersion += 1
        return sessionVersion
    }

    private func offeredSection(
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

    /// RFC 9429 §5.2.2: an m-line that takes the place of another has a name that the session never had.
    private mutating func unusedMid() -> String {
        defer { nextMid += 1 }
        return String(nextMid)
    }

    private static func has(_ kind: MediaConfiguration.Kind, _ media: [MediaSection]) -> Bool {
        media.contains { $0.kind == kind.rawValue && !$0.isRejected }
    }

    /// RFC 9429 §5.2.2: the m-line with its mid and payload types, with the direction that we want now; closed where we
    /// want it no more.
    private func reoffered(_ section: MediaSection) -> MediaSection {
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

    private func answered(
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
    private static func rejected(_ offered: MediaSection) -> MediaSection {
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

    private func addTransport(
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
    private func answeredExtensions(_ offered: MediaSection, ambiguous: Set<UInt8>) -> [ExtensionMap] {
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
    private static func ambiguousIDs(in media: [MediaSection]) -> Set<UInt8> {
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

    // MARK: Roles

    private func roleAsAnswerer(offeredSetup: DTLSSetup?) throws(SDPError) -> NegotiatedSession.DTLSRole {
        switch offeredSetup {
        // An association that exists keeps its roles (RFC 8842 §5.5).
        case .actpass, nil: return dtlsRole ?? preferredRole
        case .passive: return .client
        case .active: return .server
        case .holdconn: throw .invalid(reason: "a=setup:holdconn cannot be answered")
        }
    }

    private func roleAsOfferer(answeredSetup: DTLSSetup?) throws(SDPError) -> NegotiatedSession.DTLSRole {
        switch answeredSetup {
        case .active, nil: return .server
        case .passive: return .client
        case .actpass, .holdconn: throw .invalid(reason: "an answer's a=setup must be active or passive")
        }
    }
}
