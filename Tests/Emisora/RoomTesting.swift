import Emisora
import EmisoraSignalingProtocol
import EmisoraSignalingServer
import Glibc
import Synchronization
import Testing

/// A signaling server on the loopback interface for the time of a test.
final class TestServer {
    private var server: SignalingServer
    private var configuration: SignalingServer.Configuration
    let port: UInt16

    init(_ change: (inout SignalingServer.Configuration) -> Void = { _ in }) throws {
        var configuration = SignalingServer.Configuration(host: "127.0.0.1", port: 0)
        change(&configuration)
        server = SignalingServer(configuration)
        port = try server.start()
        configuration.port = port
        self.configuration = configuration
    }

    func stop() { server.stop() }

    /// Another one at the same port, which knows nothing of before.
    func startAgain() throws {
        server = SignalingServer(configuration)
        _ = try server.start()
    }

    deinit { server.stop() }

    func join(_ room: String = "demo", token: String? = nil) async throws -> Participant {
        var options = Session.Options(addresses: .loopback)
        options.token = token
        options.connectTimeout = .seconds(60)
        return Participant(try await Session.connect(to: "ws://127.0.0.1:\(port)/\(room)", options: options))
    }
}

/// A session whose events are kept.
final class Participant: Sendable {
    let session: Session
    private let log = Mutex<[SessionEvent]>([])

    init(_ session: Session) {
        self.session = session
        Task { [weak self] in
            for await event in session.events {
                guard let self else { return }
                log.withLock { $0.append(event) }
            }
        }
    }

    var events: [SessionEvent] { log.withLock { $0 } }

    var signals: [Signal] {
        events.compactMap { if case .signalReceived(let signal) = $0 { signal } else { nil } }
    }

    /// What `match` makes of the events, in their order.
    func all<T>(_ match: (SessionEvent) -> T?) -> [T] { events.compactMap(match) }

    /// Waits for an event that `match` knows.
    func first<T>(
        _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ match: (SessionEvent) -> T?
    ) async throws -> T {
        var found: T?
        try await eventually(what, within: .seconds(30), sourceLocation: sourceLocation) {
            found = events.lazy.compactMap(match).first
            return found != nil
        }
        return try #require(found, sourceLocation: sourceLocation)
    }
}

/// The types of the messages that came.
final class Heard: Sendable {
    private let messages = Mutex<[String]>([])

    func add(_ message: SignalingMessage) { messages.withLock { $0.append(message.type) } }
    var types: [String] { messages.withLock { $0 } }
}
