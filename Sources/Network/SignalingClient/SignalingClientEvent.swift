import EmisoraSignalingProtocol
import EmisoraWebsocketClient

/// What a `SignalingClient` reports, in order, on its own thread.
package enum SignalingClientEvent: Equatable, Sendable {
    /// The connection is open and `join` is on its way; `.message(.welcome)` follows when the server took it.
    case connected
    case message(SignalingMessage)
    /// STUN and TURN servers that an HTTP endpoint named with its answer.
    case iceServers([ICEServerDescription])
    /// What the server says beside the protocol: a sentence for a person.
    case notice(String)
    /// The connection could not be made or was lost.
    case disconnected(SignalingDisconnectReason)
    /// The attempt of this number follows, counted since the last welcome.
    case reconnecting(attempt: Int)
    /// That many attempts were made in vain, and there are no more.
    case gaveUp(attempts: Int)
}

package enum SignalingDisconnectReason: Equatable, Sendable, CustomStringConvertible {
    /// No connection came about: nobody listens, the name is unknown, the time-out passed, or the server refused.
    case connectFailed(String)
    /// An open connection ended: the server went away or did not answer pings.
    case connectionLost
    /// `close()` was called; the last event.
    case closed

    package var description: String {
        switch self {
        case .connectFailed(let why): "The signaling server could not be reached: \(why)."
        case .connectionLost: "The connection to the signaling server was lost."
        case .closed: "The signaling connection was closed."
        }
    }
}

extension SignalingClientEvent {
    /// What follows a connection that was lost or did not come about.
    package init(_ outlook: ReconnectDelay.Outlook) {
        switch outlook {
        case .attempt(let number): self = .reconnecting(attempt: number)
        case .exhausted(let attempts): self = .gaveUp(attempts: attempts)
        }
    }

    /// `nil` for a text that is no message of the protocol.
    init?(_ event: WebsocketEvent) {
        switch event {
        case .opened: self = .connected
        case .message(let text):
            guard let message = try? SignalingMessage(json: text) else { return nil }
            self = .message(message)
        case .connectFailed(let why): self = .disconnected(.connectFailed(why))
        case .lost: self = .disconnected(.connectionLost)
        case .closed: self = .disconnected(.closed)
        }
    }
}
