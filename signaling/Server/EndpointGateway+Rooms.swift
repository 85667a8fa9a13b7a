import EmisoraCore
import EmisoraSignalingProtocol

/// What the rooms say to sessions, what time does to them, and their ends.
extension EndpointGateway {
    private static var maximumHeldCandidates: Int { 64 }
    /// Of a candidate's line with all its extensions.
    private static var maximumCandidateByteCount: Int { 512 }

    func owns(_ connection: Directory.ConnectionID) -> Bool {
        sessionOfConnection[connection] != nil
    }

    mutating func handle(
        _ message: SignalingMessage, for connection: Directory.ConnectionID, directory: inout Directory
    ) {
        guard let id = sessionOfConnection[connection], let session = sessions[id] else { return }
        switch message {
        case .answer(id, let sdp):
            guard session.exchange != nil, session.exchange?.held == nil else { return }
            if SessionDescriptionText.tricklesOn(sdp) {
                // Well before an HTTP client gives up: a side that waits for a STUN or TURN server that does not answer
                // has candidates that may do, and those of its own that are missing show in its checks.
                let bound = now + gatheringTimeout
                if let deadline = session.exchange?.deadline, bound < deadline {
                    sessions[id]?.exchange?.deadline = bound
                }
                sessions[id]?.exchange?.held = (sdp, [])
            } else {
                deliver(sdp, to: id, directory: &directory)
            }
        case .candidate(id, let candidate):
            // What is found after the answer was handed on HTTP has no way to send.
            guard let held = session.exchange?.held else { return }
            if candidate.isEndOfCandidates {
                deliverHeld(held, to: id, directory: &directory)
            } else if held.candidates.count < Self.maximumHeldCandidates,
                candidate.candidate.utf8.count <= Self.maximumCandidateByteCount
            {
                sessions[id]?.exchange?.held?.candidates.append(candidate)
            }
        case .subscriptionEnded(id, let reason):
            answer(session, with: Self.problem(for: reason, session))
            forget(id, directory: &directory)
        case .forceDisconnected:
            answer(session, with: .problem(403, "A moderator has ended the session."))
            forget(id, directory: &directory)
        case .error(let error) where session.exchange?.purpose == .creation:
            let response =
                switch error.code {
                case .streamNotFound, .roomNotFound: HTTPResponse.problem(404, "The stream is not live.")
                default: HTTPResponse.problem(503, "The room takes no more sessions.").adding("Retry-After", "10")
                }
            answer(session, with: response)
            forget(id, directory: &directory)
        default:
            break
        }
    }

    private mutating func deliverHeld(
        _ held: (sdp: String, candidates: [TrickledCandidate]), to id: String, directory: inout Directory
    ) {
        deliver(SessionDescriptionText.adding(held.candidates, to: held.sdp), to: id, directory: &directory)
    }

    /// Hands the answer to the HTTP client, with all candidates: there is no way to send more afterwards.
    private mutating func deliver(_ sdp: String, to id: String, directory: inout Directory) {
        guard let session = sessions[id], let exchange = session.exchange else { return }
        sessions[id]?.exchange = nil
        switch exchange.purpose {
        case .creation:
            // RFC 9725 §4.4.3: an encoder is not left to believe that a track arrives which does not.
            if session.kind == .whip, SessionDescriptionText.refusesMedia(sdp) {
                answer(session, with: Self.problem(for: .noCommonCodec, session))
                return end(id, reason: .noCommonCodec, directory: &directory)
            }
            let links = links(for: id)
            answer(
                session,
                with: HTTPResponse(
                    status: 201,
                    headers: [
                        ("Content-Type", "application/sdp"), ("Location", session.path(of: id)),
                        ("ETag", session.entityTag), ("Accept-Patch", Self.fragmentType),
                    ] + links.map { ("Link", $0) }, body: Array(sdp.utf8)))
        case .restart(let offer):
            let entityTag = makeEntityTag()
            sessions[id]?.offer = offer
            sessions[id]?.entityTag = entityTag
            answer(
                session,
                with: HTTPResponse(
                    status: 200, headers: [("Content-Type", Self.fragmentType), ("ETag", entityTag)],
                    body: Array(TrickleFragment.text(of: sdp).utf8)))
        }
    }

    private static func problem(for reason: SubscriptionEndReason, _ session: Session) -> HTTPResponse {
        let partner = session.kind.partner
        return switch reason {
        case .noCommonCodec: .problem(406, "The \(partner) has no codec in common with each track of the offer.")
        case .invalidOffer: .problem(400, "The \(partner) could not use the offer.")
        case .tooManySubscribers: .problem(503, "The \(partner) takes no more.").adding("Retry-After", "10")
        default: .problem(404, "The \(partner) ended the stream before it answered.")
        }
    }

    // MARK: Time

    var nextDeadline: Instant? {
        sessions.values.compactMap { $0.exchange?.deadline }.min()
    }

    mutating func handleTimeout(directory: inout Directory, now: Instant) {
        for (id, session) in sessions {
            guard let exchange = session.exchange, exchange.deadline <= now else { continue }
            if let held = exchange.held {
                deliverHeld(held, to: id, directory: &directory)
                continue
            }
            answer(session, with: .problem(504, "The \(session.kind.partner) did not answer in time."))
            sessions[id]?.exchange = nil
            // RFC 9725 §4.3.3: a restart that fails leaves the session as it is, until its consent ends.
            if exchange.purpose == .creation { end(id, reason: .timedOut, directory: &directory) }
        }
    }

    // MARK: Ends

    mutating func end(_ id: String, reason: SubscriptionEndReason, directory: inout Directory) {
        guard let session = sessions[id] else { return }
        directory.handle(.bye(subscription: id, reason: reason), from: session.connection)
        forget(id, directory: &directory)
    }

    private mutating func forget(_ id: String, directory: inout Directory) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        sessionOfConnection[session.connection] = nil
        directory.disconnect(session.connection)
    }

    private mutating func answer(_ session: Session, with response: HTTPResponse) {
        guard let request = session.exchange?.request else { return }
        respond(response, to: request)
    }
}
