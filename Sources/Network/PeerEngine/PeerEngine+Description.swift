import EmisoraCore
import EmisoraCrypto
import EmisoraICE
import EmisoraRTP
import EmisoraSDP

/// Offer, answer and candidates.
extension PeerEngine {
    /// Makes our offer; we control ICE from then on (RFC 8445 §6.1.1).
    ///
    /// - Parameter iceRestart: New credentials: both sides look for paths anew, while media goes on over the old one
    ///   until a new one works (RFC 8445 §9).
    package func makeOffer(iceRestart: Bool = false) throws(SDPError) -> String {
        var attempt = negotiation
        var offer = try attempt.makeOffer(transport: transportParameters)
        if iceRestart {
            ice.restart()
            attempt = negotiation
            offer = try attempt.makeOffer(transport: transportParameters)
        }
        negotiation = attempt
        ice.setRole(.controlling)
        told.didDescribe(ice)
        return offer
    }

    /// Changes what is sent and received: the next offer of ours tells the peer, and its answer makes it so. A kind that
    /// is left out has its m-line closed; one that neither sends nor receives is on hold.
    package func setMedia(_ media: [PeerConfiguration.Media]) {
        for one in media where !tracks.contains(where: { $0.kind == one.kind }) {
            tracks.append(Self.track(one, using: &random))
        }
        negotiation.setTracks(
            media.compactMap { one in
                guard var track = tracks.first(where: { $0.kind == one.kind }) else { return nil }
                track.sends = one.sends
                track.receives = one.receives
                track.isStereo = one.isStereo
                return track
            })
    }

    /// Takes the peer's answer to our offer and begins to connect.
    package func setRemoteAnswer(_ text: String, now: Instant) throws(SDPError) {
        var attempt = negotiation
        let session = try attempt.setRemoteAnswer(text)
        let remote = try RemoteTransport(of: session)
        try checkCertificate(remote)
        negotiation = attempt
        apply(session, remote, now: now)
    }

    /// Takes the peer's offer, begins to connect and gives our answer, which carries all our candidates. Other ICE
    /// credentials than before are a restart by the peer, which our answer joins with new ones (RFC 8839 §4.4.1.1.1).
    package func answer(offer text: String, now: Instant) throws(SDPError) -> String {
        var attempt = negotiation
        var (answer, session) = try attempt.answer(offer: text, transport: transportParameters)
        let remote = try RemoteTransport(of: session)
        try checkCertificate(remote)
        if let known = ice.remoteCredentials, remote.credentials != known {
            ice.restart()
            attempt = negotiation
            (answer, session) = try attempt.answer(offer: text, transport: transportParameters)
        }
        negotiation = attempt
        ice.setRole(session.isRemoteICELite ? .controlling : .controlled)
        told.didDescribe(ice)
        apply(session, remote, now: now)
        return answer
    }

    /// Takes one trickled candidate (the value of `a=candidate`); an empty one ends them. Unusable ones are ignored.
    /// - Parameter usernameFragment: Which of the peer's descriptions it belongs to; one of before a restart is ignored.
    package func addRemoteCandidate(_ text: String, usernameFragment: String? = nil, now: Instant) {
        if let usernameFragment, let known = ice.remoteCredentials, known.ufrag != usernameFragment { return }
        guard !text.isEmpty else {
            ice.remoteEndOfCandidates(now: now)
            settle(now: now)
            return
        }
        guard let line = ICECandidateLine(parsing: text) else { return }
        add([line], now: now)
        settle(now: now)
    }

    private var transportParameters: TransportParameters {
        TransportParameters(
            iceUfrag: ice.localCredentials.ufrag, icePassword: ice.localCredentials.password,
            fingerprint: FingerprintLine(
                algorithm: security.localFingerprint.algorithm.rawValue, value: security.localFingerprint.text),
            candidates: ice.localCandidates.flatMap(ICECandidateLine.lines),
            isEndOfCandidates: ice.hasAllLocalCandidates)
    }

    private func apply(_ session: NegotiatedSession, _ remote: RemoteTransport, now: Instant) {
        negotiated = session
        makeStreams(session)
        negotiatedWishes = wishes(in: session)
        connectDataChannels(now: now)
        remoteFingerprints = remote.fingerprints
        configureReceiving(session, now: now)
        isToldOfEachPacket =
            session.media.contains(where: \.direction.sends)
            && session.media.allSatisfy { !$0.direction.sends || $0.feedback.perPacket }
        security.setRemoteFingerprints(remote.fingerprints, now: now)
        security.setEncryptedHeaderExtensions(session.encryptedExtensionIDs)
        // A connection that stands stays what it is through re-offers and restarts.
        if state == .new || state == .failed { enter(.connecting, reason: "") }
        ice.setRemoteCredentials(remote.credentials, now: now)
        add(session.remoteCandidates, now: now)
        if session.remoteCandidatesEnded { ice.remoteEndOfCandidates(now: now) }
        startSecurityIfPossible(now: now)
        settle(now: now)
    }

    /// Other fingerprints mean a new DTLS association (RFC 8842 §3.1), which a connection here never begins: what
    /// the old certificate vouched for must not pass to another one unseen.
    private func checkCertificate(_ remote: RemoteTransport) throws(SDPError) {
        guard isSecurityStarted, !remote.fingerprints.contains(where: remoteFingerprints.contains) else { return }
        throw .invalid(reason: "it brings another certificate than the connection was made with; connect anew")
    }

    private func add(_ lines: [ICECandidateLine], now: Instant) {
        for line in lines {
            guard let address = line.usableAddress, let type = ICECandidate.CandidateType(rawValue: line.type) else {
                continue
            }
            ice.addRemoteCandidate(
                ICECandidate(
                    foundation: line.foundation, priority: line.priority, address: address, type: type,
                    transport: line.transport == "tcp" ? .tcp : .udp, relatedAddress: line.relatedAddress),
                now: now)
        }
    }

    /// Streams that exist keep their numbers and counters across re-offers; their header extensions follow them.
    private func makeStreams(_ session: NegotiatedSession) {
        updateLayers(session.media(.video))
        updateAudioSender(session.media(.audio))
        if let video = session.media(.video) {
            if video.direction.receives {
                var configuration = RTPVideoReceiveStream.Configuration(payloadType: video.payloadType)
                configuration.rtxPayloadType = video.retransmissionPayloadType
                configuration.usesNack = video.feedback.nack
                configuration.usesKeyFrameRequests =
                    video.feedback.pictureLossIndication || video.feedback.fullIntraRequest
                configuration.redundancy = redundancy(of: video)
                if videoReceiver == nil { videoReceiver = RTPVideoReceiveStream(configuration) }
                videoReceiver?.renegotiate(configuration)
                videoSources.configure(wantedRID: video.receiveRID, groups: video.remoteRetransmissionGroups)
                applyPlayoutOptions()
            }
        }
        if let audio = session.media(.audio) {
            if audio.direction.receives {
                var configuration = RTPAudioReceiveStream.Configuration(payloadType: audio.payloadType)
                configuration.redPayloadType = audio.repair.red
                if audioReceiver == nil { audioReceiver = RTPAudioReceiveStream(configuration) }
                audioReceiver?.renegotiate(configuration)
            }
        }
    }

    private func updateAudioSender(_ media: NegotiatedSession.Media?) {
        isAudioWanted = media?.direction.sends == true
        guard let media, isAudioWanted else {
            audioSender?.discardQueue()
            return
        }
        let configuration = sendConfiguration(media, clockRate: 48_000)
        if audioSender == nil { audioSender = RTPSendStream(configuration, using: &random) }
        audioSender?.renegotiate(configuration)
    }

    /// - Parameter rid: of a stream that is one of several.
    func sendConfiguration(
        _ media: NegotiatedSession.Media, clockRate: Int, rid: String? = nil
    ) -> RTPSendStream.Configuration {
        var configuration = RTPSendStream.Configuration(
            ssrc: media.ssrc, payloadType: media.payloadType, clockRate: clockRate)
        configuration.rtxPayloadType = media.retransmissionPayloadType
        configuration.rtxSSRC = media.retransmissionPayloadType == nil ? nil : media.retransmissionSSRC
        if media.kind == .audio { configuration.redPayloadType = media.repair.red }
        configuration.flexfecPayloadType = media.repair.flexfec
        configuration.flexfecSSRC = media.repair.flexfec == nil ? nil : media.repairSSRC
        configuration.payloadByteLimit = Self.maximumPayloadByteCount
        configuration.extensions = extensionBlock(of: media)
        if let rid {
            configuration.introduction = extensionBlock(of: media, name: (.rid, rid))
            configuration.rtxIntroduction = extensionBlock(of: media, name: (.repairedRID, rid))
        }
        configuration.wallClock = self.configuration.wallClock
        configuration.playoutDelay = self.configuration.media.first { $0.kind == media.kind }?.playoutDelay
            .map(HeaderExtensionValues.PlayoutDelay.init)
        return configuration
    }

    /// How pictures come that their sender wraps in RED.
    private func redundancy(of media: NegotiatedSession.Media) -> VideoRedundancy? {
        guard let red = media.repair.red else { return nil }
        var redundancy = VideoRedundancy(redPayloadType: red)
        redundancy.ulpfecPayloadType = media.repair.ulpfec
        redundancy.redRTXPayloadType = media.repair.redRetransmission
        redundancy.extensionIDs = HeaderExtensionIDs(media.receiveExtensions.map { (id: $0.id, uri: $0.uri) })
        return redundancy
    }

    /// The header extension of what we send; `nil` without any.
    ///
    /// - Parameter name: what tells the stream from others of the m-line (RFC 8852).
    private func extensionBlock(
        of media: NegotiatedSession.Media, name: (kind: HeaderExtensionIDs.Kind, value: String)? = nil
    ) -> HeaderExtensionBlock? {
        var ids = HeaderExtensionIDs(media.sendExtensions.map { (id: $0.id, uri: $0.uri) })
        // Numbers are of use to who sends feedback on them, send times to who makes estimates of them.
        if media.feedback.transportWide, ids.transportSequenceNumber != nil {
            ids.absoluteSendTime = nil
        } else {
            ids.transportSequenceNumber = nil
        }
        var elements: [(id: UInt8, value: [UInt8])] = []
        // A longer one would make packets larger than the path's.
        if let id = ids.mid, let mid = media.mid, mid.utf8.count <= 16 { elements.append((id, Array(mid.utf8))) }
        if let name, let id = ids[name.kind] { elements.append((id, Array(name.value.utf8))) }
        for kind in [HeaderExtensionIDs.Kind.mid, .rid, .repairedRID] { ids[kind] = nil }
        guard ids != HeaderExtensionIDs() || !elements.isEmpty else { return nil }
        return try? HeaderExtensionBlock(elements, ids: ids)
    }

    private func configureReceiving(_ session: NegotiatedSession, now: Instant) {
        let receiving = session.media.filter(\.direction.receives)
        self.receiving.configure(
            ids: HeaderExtensionIDs(receiving.flatMap { $0.receiveExtensions.map { (id: $0.id, uri: $0.uri) } }),
            hasTransportFeedback: receiving.contains(where: \.feedback.transportWide),
            hasPacketFeedback: receiving.contains(where: \.feedback.perPacket),
            hasEstimates: receiving.contains(where: \.feedback.receiverEstimate),
            hasMaximum: receiving.contains(where: \.feedback.temporaryMaximum), now: now)
    }

    /// DTLS begins when a path is there and the roles are known (RFC 8842 §6).
    func startSecurityIfPossible(now: Instant) {
        guard !isSecurityStarted, ice.selectedPath != nil, let negotiated else { return }
        isSecurityStarted = true
        security.start(role: negotiated.dtlsRole == .client ? .client : .server, now: now)
    }
}

/// What a description says of the peer's transport, where it can be used.
private struct RemoteTransport {
    let credentials: ICECredentials
    let fingerprints: [Fingerprint]

    init(of session: NegotiatedSession) throws(SDPError) {
        guard let credentials = ICECredentials(ufrag: session.remoteUfrag, password: session.remotePassword) else {
            throw .invalid(reason: "its ICE user fragment or password breaks RFC 8839 section 5.4")
        }
        self.credentials = credentials
        fingerprints = session.remoteFingerprints.compactMap { Fingerprint(algorithm: $0.algorithm, text: $0.value) }
        guard !fingerprints.isEmpty else {
            throw .invalid(reason: "none of its certificate fingerprints is of a kind that is known here")
        }
    }
}
