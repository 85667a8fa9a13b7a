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
    private(set) var agreedLayers: [MediaConfiguration.Kind: [NegotiatedSession.SendLayer]] = [:]
    /// No mid of this session was ever as large a number.
    private var nextMid = 0

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

    // MARK: Numbers

    private mutating func nextVersion() -> UInt64 {
        sessionVersion += 1
        return sessionVersion
    }

    /// RFC 9429 §5.2.2: an m-line that takes the place of another has a name that the session never had.
    private mutating func unusedMid() -> String {
        defer { nextMid += 1 }
        return String(nextMid)
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
