import EmisoraCore
import EmisoraHTTPClient
import EmisoraSignalingProtocol

/// What a server's responses mean.
extension EndpointExchange {
    typealias Outcome = Result<HTTPClientResponse, HTTPClientError>

    /// As long as an announcement is waited for; a server that wants more is refused instead.
    private static let longestFirstWait: Duration = .seconds(30)
    private static let longestRetryAfter = 3_600
    private static let maximumCandidateFailures = 5

    mutating func handle(_ outcome: Outcome, now: Instant) {
        guard let purpose = inFlight else { return }
        inFlight = nil
        switch purpose {
        case .creation(let id, let offer): didCreate(id, offer: offer, outcome, now: now)
        case .candidates(let id, let sent): didSend(sent, of: id, outcome, now: now)
        case .restart(let id, let offer): didRestart(id, offer: offer, outcome, now: now)
        case .deletion: break
        }
    }

    // MARK: Creation

    private mutating func didCreate(_ id: String, offer: String, _ outcome: Outcome, now: Instant) {
        let isWanted = if case .creating(id, _) = state { true } else { false }
        switch Self.resource(from: outcome, offer: offer, token: settings.token) {
        case .success(let (resource, response)):
            guard isWanted else { return delete(resource.url, token: resource.token) }
            state = .live(id: id, resource)
            if isOut {
                isOut = false
                welcome()
            }
            let servers = ICEServerLink.servers(in: response.values(of: "Link"))
            if settings.takesICEServers, !servers.isEmpty {
                emit(.iceServers(servers))
            } else if settings.takesICEServers, SessionDescriptionText.endsCandidates(offer) {
                candidates.append(.endOfCandidates)
            }
            emit(.message(.answer(subscription: id, sdp: resource.answer)))
            failures = 0
            wasLive = true
            if case .publishing(let name) = use { emit(.message(.streamPublished(stream(name)))) }
        case .failure(let refusal):
            guard isWanted else { return }
            state = .idle
            didFail(id, refusal, now: now)
        }
    }

    /// Why there is no session.
    private struct Refusal: Error {
        var code: SignalingError.Code
        var text: String
        var retryAfter: Duration?

        /// Whether the same request may succeed later.
        var isTransient: Bool {
            guard let status = Int(code.rawValue) else { return true }
            return status >= 500 || [404, 408, 409, 425, 429].contains(status)
        }
    }

    private static func resource(
        from outcome: Outcome, offer: String, token: String?
    ) -> Result<(Resource, HTTPClientResponse), Refusal> {
        let response: HTTPClientResponse
        switch outcome {
        case .success(let got): response = got
        case .failure(let error): return .failure(Refusal(code: .unreachable, text: error.description))
        }
        guard response.isSuccess else {
            return .failure(
                Refusal(
                    code: .init(rawValue: "\(response.status)"), text: explanation(of: response),
                    retryAfter: retryAfter(response)))
        }
        // A session's address is told by who saw the token, and may then see it again (RFC 9725 §4.7).
        guard let url = response.header("Location").flatMap(response.url.resolving),
            url.isSecure || !response.url.isSecure
        else {
            return .failure(
                Refusal(code: .malformedMessage, text: "The server took the offer, but named no session (Location)."))
        }
        let answer = String(decoding: response.body, as: UTF8.self)
        guard response.mediaType == "application/sdp" else {
            return .failure(
                Refusal(code: .malformedMessage, text: "The server took the offer, but answered with no description."))
        }
        return .success(
            (
                Resource(
                    url: url, token: response.sawToken ? token : nil, entityTag: response.header("ETag"), offer: offer,
                    answer: answer),
                response
            ))
    }

    private static func explanation(of response: HTTPClientResponse) -> String {
        let text = ProblemDetails.text(of: response.body, mediaType: response.mediaType)
        let usual =
            switch response.status {
            case 301, 302, 303: "It redirects in a way that WHIP and WHEP have not; use the address it redirects to."
            case 401: "It asks for a token; is --token the right one?"
            case 403: "The token does not allow it."
            case 404: "There is nothing at this address."
            case 405: "This address is no WHIP or WHEP endpoint."
            case 406: "It has no codec in common with the offer."
            case 409: "Nobody is publishing there."
            case 503: "It is overloaded."
            default: "It did not say why."
            }
        return text ?? usual
    }

    /// RFC 9110 §10.2.3, in seconds; a date is taken for a while.
    private static func retryAfter(_ response: HTTPClientResponse) -> Duration? {
        guard let value = response.header("Retry-After") else { return nil }
        guard let seconds = UInt(value) else { return .seconds(5) }
        return .seconds(Int(clamping: min(seconds, UInt(longestRetryAfter))))
    }

    private mutating func didFail(_ id: String, _ refusal: Refusal, now: Instant) {
        let wait = delay(atLeast: refusal.retryAfter)
        failures += 1
        switch use {
        case .publishing:
            emit(.message(.subscriptionEnded(subscription: id, reason: .connectionFailed)))
            // What never was is told to who asked for it, unless the server said when to come again.
            if !wasLive, refusal.retryAfter.map({ !refusal.isTransient || $0 > Self.longestFirstWait }) ?? true {
                use = nil
                var text = refusal.text
                if let after = refusal.retryAfter { text += " It asks to come back in \(after.components.seconds) s." }
                return emit(.message(.error(SignalingError(refusal.code, text, inReplyTo: "publish"))))
            }
            if !isOut { emit(.disconnected(.connectFailed("\(settings.endpoint): \(refusal.text)"))) }
            isOut = true
            retryAt = now + wait
        case .subscribing(let name):
            use = nil
            // First, so that nobody comes back at once for what is not there.
            emit(.message(.streamUnpublished(stream(name))))
            refuse(id, refusal.code, refusal.text)
            if refusal.isTransient { announcement = (name, now + wait) }
        case nil: break
        }
    }

    // MARK: Candidates

    private mutating func didSend(
        _ sent: [TrickledCandidate], of id: String, _ outcome: Outcome, now: Instant
    ) {
        guard case .live(id, var resource) = state else { return }
        switch outcome {
        case .success(let response) where response.isSuccess: resource.failures = 0
        // Of an ICE session before (412): of no use any more.
        case .success(let response) where response.status == 412: break
        // The server takes none, or has forgotten the session, which media does not need it for.
        case .success(let response)
        where (400...499).contains(response.status) && ![408, 429].contains(response.status),
            .success(let response) where response.status == 501:
            resource.takesCandidates = false
        default:
            resource.failures += 1
            if resource.failures <= Self.maximumCandidateFailures {
                candidates.insert(contentsOf: sent, at: 0)
                candidatesNotBefore = now + .seconds(1)
            }
        }
        state = .live(id: id, resource)
    }

    // MARK: Restarts

    private mutating func didRestart(_ id: String, offer: String, _ outcome: Outcome, now: Instant) {
        guard case .live(id, var resource) = state, case .success(let response) = outcome else { return }
        guard response.status == 200,
            let fragment = TrickleFragment(parsing: String(decoding: response.body, as: UTF8.self)),
            let credentials = fragment.credentials
        else {
            // A restart that is refused leaves the session alone (RFC 9725 §4.3.3); one that is not known there is over.
            if response.status == 404 || response.status == 410 { lose(id, now: now) }
            return
        }
        resource.entityTag = response.header("ETag") ?? resource.entityTag
        resource.offer = offer
        resource.answer = SessionDescriptionText.restarted(
            resource.answer, with: credentials, fragment, keepsCandidates: true)
        state = .live(id: id, resource)
        // Only what answers the last restart counts.
        guard restartOffer == nil else { return }
        emit(.message(.answer(subscription: id, sdp: resource.answer)))
    }

    /// The server knows nothing of the session any more.
    private mutating func lose(_ id: String, now: Instant) {
        state = .idle
        candidates = []
        restartOffer = nil
        if case .subscribing(let name) = use { emit(.message(.streamUnpublished(stream(name)))) }
        emit(.message(.subscriptionEnded(subscription: id, reason: .timedOut)))
        switch use {
        case .publishing: retryAt = now
        case .subscribing(let name):
            use = nil
            announcement = (name, now + delay())
        case nil: break
        }
    }
}
