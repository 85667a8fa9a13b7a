import EmisoraOperations
import EmisoraSignalingProtocol

/// `/metrics` and `/readyz`, and on an address of their own `/healthz` and nothing else.
struct OperationsPages: Sendable {
    enum Readers: Equatable, Sendable {
        case nobody
        /// Requests of this machine's own programs, not such as a proxy hands on.
        case thisMachine
        case everybody
    }

    var readers: Readers
    /// Whether there is nothing beside these pages here.
    var isAlone = false
    /// In Prometheus' text format.
    var exposition: @Sendable () -> String
    var readiness: @Sendable () -> ServerMetrics.Readiness

    /// The response; `nil` where the page is another's.
    func response(to request: HTTPRequest) -> HTTPResponse? {
        let page: HTTPResponse
        switch request.path {
        case "/metrics":
            guard readers == .everybody || (readers == .thisMachine && request.isLocal) else {
                return .problem(404, "There is no such page for you; --metrics says who reads the metrics.")
            }
            page = .text(200, PrometheusText.contentType, exposition())
        case "/readyz":
            let readiness = readiness()
            let body = "{\"status\":\"\(readiness.rawValue)\"}\n"
            page =
                readiness == .ready
                ? .text(200, "application/json", body)
                : .text(503, "application/json", body).adding("Retry-After", "\(Self.retryAfter)")
        case "/healthz" where isAlone: page = .text(200, "application/json", "{\"status\":\"ok\"}\n")
        default: return isAlone ? .problem(404, "Here are /metrics, /healthz and /readyz.") : nil
        }
        guard request.method == .get || request.method == .head else {
            return .problem(405, "Allowed here: GET, HEAD.").adding("Allow", "GET, HEAD")
        }
        return page.adding("Cache-Control", "no-store")
    }

    /// Seconds after which another server, or this one started anew, may be tried.
    static let retryAfter = 5

    /// What somebody new gets from a server that is about to end.
    static var draining: HTTPResponse {
        .problem(503, "The server is about to end and takes nobody new; try again.").adding(
            "Retry-After", "\(retryAfter)")
    }
}
