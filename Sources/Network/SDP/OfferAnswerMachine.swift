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

    private let configuration: MediaConfiguration
    private let sessionID: String
    private var sessionVersion: UInt64 = 0
    /// Our last description: its m-lines keep their order and number (RFC 9429 §5.2.2).
    private var local: SessionDescription?
    private var dtlsRole: NegotiatedSession.DTLSRole?

    private static let videoPayloadType: UInt8 = 96
    private static let retransmissionPayloadType: UInt8 = 97
    private static let opusPayloadType: UInt8 = 111
    private static let opusFormat = "minptime=10;useinbandfec=1"
    private static let offeredProtocol = "UDP/TLS/RTP/SAVPF"

    /// - Parameter sessionID: the number in `o=`, random below 2^63 (RFC 9429 §5.2.1).
    package init(configuration: MediaConfiguration, sessionID: UInt64) {
        self.configuration = configuration
        self.sessionID = String(sessionID >> 1)
    }

    // MARK: Offering

    package mutating func makeOffer(transport: TransportParameters) throws(SDPError) -> String {
        guard !configuration.tracks.isEmpty else { throw .invalid(reason: "there is nothing to offer") }
        var offer = SessionDescription(sessionID: sessionID, sessionVersion: nextVersion())
        offer.allowsMixedExtensions = true
        offer.iceOptions = ["trickle"]
        if let local, signalingState == .stable || negotiated != nil {
            offer.media = local.media.map { reoffered($0, transport: transport) }
        } else {
            offer.media = configuration.tracks.enumerated().map { index, track in
                offeredSection(track, mid: String(index), isTagged: index == 0, transport: transport)
            }
        }
        offer.bundle = offer.media.filter { !$0.isRejected }.compactMap(\.mid)
        local = offer
        signalingState = .haveLocalOffer
        return offer.text
    }

    package mutating func setRemoteAnswer(_ text: String) throws(SDPError) -> NegotiatedSession {
        guard signalingState == .haveLocalOffer, let local else {
            throw .wrongState(reason: "An answer arrived, but no offer of ours is open.")
        }
        let answer = try SessionDescription(parsing: text)
        guard answer.media.count == local.media.count else {
            throw .invalid(
                reason: "the answer has \(answer.media.count) media sections, the offer \(local.media.count)")
        }
        var media: [NegotiatedSession.Media] = []
        var transportSection: MediaSection?
        for (offered, answered) in zip(local.media, answer.media) where !answered.isRejected && !offered.isRejected {
            guard answered.kind == offered.kind else {
                throw .invalid(reason: "the answer changes the kind of a media section")
            }
            guard answered.isRTCPMultiplexed else { throw .invalid(reason: "the answer lacks a=rtcp-mux") }
            guard let track = configuration.track(answered.kind),
                let codec = Self.codec(in: answered, kind: track.kind), offered.formats.contains("\(codec.payloadType)")
            else { throw .invalid(reason: "the answer accepts a media section without a codec of the offer") }
            media.append(
                Self.media(track, remote: answered, codec: codec, localExtensions: offered.extensions, isOfferer: true))
            if transportSection == nil || answered.mid == answer.bundle.first { transportSection = answered }
        }
        guard let transportSection else { throw .noCommonCodec }
        let role = try roleAsOfferer(answeredSetup: transportSection.setup)
        let session = try Self.session(media: media, transport: transportSection, remote: answer, role: role)
        dtlsRole = role
        negotiated = session
        signalingState = .stable
        return session
    }

    /// Takes an open offer of ours back (RFC 9429 §4.1.8.2).
    package mutating func rollback() {
        signalingState = .stable
        if negotiated == nil { local = nil }
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
        var media: [NegotiatedSession.Media] = []
        var used: Set<MediaConfiguration.Kind> = []
        var accepted: [Int: (NegotiatedSession.Media, Codec)] = [:]
        for (index, section) in offer.media.enumerated() {
            guard !section.isRejected, section.isRTCPMultiplexed, Self.isKnownProtocol(section.protocolName),
                let track = configuration.track(section.kind), !used.contains(track.kind),
                offer.bundle.isEmpty || section.mid.map(offer.bundle.contains) == true,
                let codec = Self.codec(in: section, kind: track.kind)
            else { continue }
            // Without BUNDLE each m-line would need a transport of its own; the first one gets ours.
            if offer.bundle.isEmpty, !accepted.isEmpty { continue }
            used.insert(track.kind)
            let one = Self.media(
                track, remote: section, codec: codec, localExtensions: section.extensions, isOfferer: false)
            media.append(one)
            accepted[index] = (one, codec)
        }
        guard !accepted.isEmpty else { throw .noCommonCodec }
        let tagged = accepted.keys.min { first, second in
            Self.bundleRank(offer.media[first], offer) < Self.bundleRank(offer.media[second], offer)
        }
        guard let tagged else { throw .noCommonCodec }
        // The transport stands in the offer's tagged section (RFC 8843 §7.1.3), which we may have refused.
        let transportSection =
            offer.media.first { $0.mid != nil && $0.mid == offer.bundle.first } ?? offer.media[tagged]
        let role = try roleAsAnswerer(offeredSetup: transportSection.setup ?? offer.media[tagged].setup)
        let session = try Self.session(media: media, transport: transportSection, remote: offer, role: role)

        var answer = SessionDescription(sessionID: sessionID, sessionVersion: nextVersion())
        answer.allowsMixedExtensions = offer.allowsMixedExtensions
        answer.iceOptions = ["trickle"]
        for (index, section) in offer.media.enumerated() {
            guard let (one, codec) = accepted[index] else {
                answer.media.append(Self.rejected(section))
                continue
            }
            answer.media.append(
                answered(
                    section, one, codec, isTagged: index == tagged, role: role,
                    transport: transport))
        }
        if !offer.bundle.isEmpty {
            answer.bundle = offer.bundle.filter { mid in accepted.keys.contains { offer.media[$0].mid == mid } }
        }
        local = answer
        dtlsRole = role
        negotiated = session
        return (answer.text, session)
    }

    // MARK: Sections we write

    private mutating func nextVersion() -> UInt64 {
        sessionVersion += 1
        return sessionVersion
    }

    private func offeredSection(
        _ track: MediaConfiguration.Track, mid: String, isTagged: Bool, transport: TransportParameters
    ) -> MediaSection {
        let isVideo = track.kind == .video
        let formats: [UInt8] =
            isVideo ? [Self.videoPayloadType, Self.retransmissionPayloadType] : [Self.opusPayloadType]
        var section = MediaSection(
            kind: track.kind.rawValue, port: 9, protocolName: Self.offeredProtocol, formats: formats.map(String.init))
        section.mid = mid
        section.direction = MediaDirection(sends: track.sends, receives: track.receives)
        if isVideo {
            section.rtpMaps = [
                RTPMap(payloadType: Self.videoPayloadType, name: "VP8", clockRate: 90_000),
                RTPMap(payloadType: Self.retransmissionPayloadType, name: "rtx", clockRate: 90_000),
            ]
            section.formatParameters[Self.retransmissionPayloadType] = "apt=\(Self.videoPayloadType)"
            section.feedback = Self.videoFeedback(for: Self.videoPayloadType)
        } else {
            section.rtpMaps = [RTPMap(payloadType: Self.opusPayloadType, name: "opus", clockRate: 48_000, channels: 2)]
            section.formatParameters[Self.opusPayloadType] = Self.opusFormat
        }
        section.extensions = [ExtensionMap(id: 1, uri: ExtensionMap.midURI)]
        section.isRTCPMultiplexed = true
        section.isRTCPReducedSize = true
        addSources(of: track, to: &section)
        addTransport(transport, setup: .actpass, isTagged: isTagged, to: &section)
        return section
    }

    private func reoffered(_ section: MediaSection, transport: TransportParameters) -> MediaSection {
        var section = section
        guard !section.isRejected else { return section }
        if let track = configuration.track(section.kind) {
            section.direction = MediaDirection(sends: track.sends, receives: track.receives)
        }
        let isTagged = section.iceUfrag != nil
        addTransport(transport, setup: .actpass, isTagged: isTagged, to: &section)
        return section
    }

    private func answered(
        _ offered: MediaSection, _ media: NegotiatedSession.Media, _ codec: Codec, isTagged: Bool,
        role: NegotiatedSession.DTLSRole, transport: TransportParameters
    ) -> MediaSection {
        var formats = [codec.payloadType]
        if let retransmission = codec.retransmissionPayloadType { formats.append(retransmission) }
        var section = MediaSection(
            kind: offered.kind, port: 9, protocolName: offered.protocolName, formats: formats.map(String.init))
        section.mid = offered.mid
        section.direction = media.direction
        section.rtpMaps = offered.rtpMaps.filter { formats.contains($0.payloadType) }
        if media.kind == .video {
            if let retransmission = codec.retransmissionPayloadType {
                section.formatParameters[retransmission] = "apt=\(codec.payloadType)"
            }
            section.feedback = Self.videoFeedback(for: codec.payloadType).filter { line in
                offered.feedback.contains {
                    $0.value == line.value && ($0.payloadType == nil || $0.payloadType == codec.payloadType)
                }
            }
        } else {
            if section.rtpMaps.isEmpty {
                section.rtpMaps = [RTPMap(payloadType: codec.payloadType, name: "opus", clockRate: 48_000, channels: 2)]
            }
            section.formatParameters[codec.payloadType] = Self.opusFormat
        }
        section.extensions = offered.extensions.filter { $0.uri == ExtensionMap.midURI }
        section.isRTCPMultiplexed = true
        section.isRTCPReducedSize = offered.isRTCPReducedSize
        if media.direction.sends, let track = configuration.track(offered.kind) { addSources(of: track, to: &section) }
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
        guard track.sends else { return }
        section.streamID = configuration.streamID
        section.trackID = "\(configuration.streamID)-\(track.kind.rawValue)"
        section.ssrcs = [SSRCLine(ssrc: track.ssrc, cname: configuration.cname)]
        if let repair = track.retransmissionSSRC, section.rtpMaps.contains(where: { $0.name.lowercased() == "rtx" }) {
            section.ssrcs.append(SSRCLine(ssrc: repair, cname: configuration.cname))
            section.retransmissionGroups = [RetransmissionGroup(media: track.ssrc, retransmission: repair)]
        }
    }

    private func addTransport(
        _ transport: TransportParameters, setup: DTLSSetup, isTagged: Bool, to section: inout MediaSection
    ) {
        // RFC 9429 §5.2.1: in an initial offer each section has them, so that a peer without BUNDLE could answer; we
        // always bundle, so the tagged section suffices in an answer, and in an offer all have them.
        guard isTagged || setup == .actpass else { return }
        section.iceUfrag = transport.iceUfrag
        section.icePassword = transport.icePassword
        section.fingerprints = [transport.fingerprint]
        section.setup = setup
        section.candidates = isTagged ? transport.candidates : []
        section.isEndOfCandidates = isTagged && transport.isEndOfCandidates
    }

    private static func videoFeedback(for payloadType: UInt8) -> [FeedbackLine] {
        ["nack", "nack pli", "ccm fir"].map { FeedbackLine(payloadType: payloadType, value: $0) }
    }

    // MARK: Roles

    private func roleAsAnswerer(offeredSetup: DTLSSetup?) throws(SDPError) -> NegotiatedSession.DTLSRole {
        switch offeredSetup {
        // An association that exists keeps its roles (RFC 8842 §5.5).
        case .actpass, nil: return dtlsRole ?? .client
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
