/// Why a session could not do what was asked.
public enum SessionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The URL is not of the form `ws://HOST:PORT/ROOM` or `wss://HOST:PORT/ROOM`, and of no HTTP endpoint.
    case invalidURL(String)
    /// The signaling server could not be reached within the time-out.
    case connectFailed(String)
    /// The server refused: its code and its sentence.
    case refused(code: String, message: String)
    /// The system would not give something: a socket, a thread, memory.
    case system(String)
    /// The capturer did not start.
    case captureFailed(String)
    /// The call does not fit the state: not connected, already published.
    case invalidState(String)
    /// The answer did not come in time.
    case timedOut(String)
    /// A signal's type or data is beyond its bounds: which.
    case invalidSignal(String)
    /// As many signals as may wait for the server do.
    case tooManySignals(String)
    /// The task that asked was cancelled; what it had begun is undone.
    case cancelled

    public var description: String {
        switch self {
        case .invalidURL(let url):
            "\(url) is no session URL; it should look like ws://127.0.0.1:8080/ROOM or wss://HOST/ROOM, or http(s)://HOST/… "
                + "of a WHIP or WHEP endpoint, or janus://HOST:PORT/ROOM."
        case .connectFailed(let reason): reason
        case .refused(let code, let message): "The server refused (\(code)): \(message)"
        case .cancelled: "The task was cancelled."
        case .system(let text), .captureFailed(let text), .invalidState(let text), .timedOut(let text),
            .invalidSignal(let text), .tooManySignals(let text):
            text
        }
    }
}
