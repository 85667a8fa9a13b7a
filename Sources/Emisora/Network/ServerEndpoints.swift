import EmisoraCore
import EmisoraEventLoop
import EmisoraSTUN
import EmisoraTURN

/// A STUN or TURN server as it was written, read.
struct ServerEndpoint {
    let url: String
    let endpoint: ICEServerEndpoint
    let credentials: STUNLongTermCredentials?

    /// More are of no use to anyone, and each costs a name to resolve and a socket.
    private static let limit = 16

    static func read(_ servers: [ICEServer]) throws(ICEServerError) -> [ServerEndpoint] {
        var result: [ServerEndpoint] = []
        for server in servers {
            try server.validate()
            for url in server.urls {
                let credentials = server.username.flatMap { username in
                    server.credential.map { STUNLongTermCredentials(username: username, password: $0) }
                }
                let endpoint = try ICEServerEndpoint(url)
                guard !result.contains(where: { $0.endpoint == endpoint }), result.count < limit else { continue }
                result.append(ServerEndpoint(url: url, endpoint: endpoint, credentials: credentials))
            }
        }
        return result
    }
}

/// The addresses of servers' names: asked for once, until they are forgotten. Confined to the loop's thread.
final class ServerNames: @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: everything is touched on the loop's thread only; the resolver's answers
    // come there.
    typealias Answer = (Result<[IPAddress], HostNames.Failure>) -> Void

    private let loop: EventLoop
    private var known: [String: [IPAddress]] = [:]
    private var waiting: [String: [Answer]] = [:]

    init(loop: EventLoop) {
        self.loop = loop
    }

    func resolve(_ host: String, _ answer: @escaping Answer) {
        if let addresses = known[host] { return answer(.success(addresses)) }
        if let ip = IPAddress(host) { return answer(.success([ip])) }
        waiting[host, default: []].append(answer)
        guard waiting[host]?.count == 1 else { return }
        HostNames.resolve(host, on: loop) { [weak self] result in self?.settle(host, result) }
    }

    /// Names are asked for anew: the network may be another one.
    func forget() { known.removeAll() }

    private func settle(_ host: String, _ result: Result<[IPAddress], HostNames.Failure>) {
        if case .success(let addresses) = result { known[host] = addresses }
        for answer in waiting.removeValue(forKey: host) ?? [] { answer(result) }
    }
}
