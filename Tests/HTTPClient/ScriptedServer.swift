import Glibc
import Synchronization

/// An HTTP server of this machine that answers one request after the other as it was told, and keeps what came.
///
/// `@unchecked Sendable`: the descriptors are fixed after `init`; the rest is in a mutex.
final class ScriptedServer: @unchecked Sendable {
    struct Request: Sendable {
        var head: String
        var body: String

        func header(_ name: String) -> String? {
            head.split(separator: "\r\n").dropFirst().first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
                .map { String($0.dropFirst(name.count + 2)) }
        }

        var method: String { String(head.prefix { $0 != " " }) }
        var target: String { String(head.split(separator: " ")[1]) }
    }

    private struct State {
        var requests: [Request] = []
        var connections: [Int32] = []
        var isOver = false
    }

    let port: UInt16
    private let listener: Int32
    private let answer: @Sendable (Request) -> String?
    private let state = Mutex(State())

    /// - Parameter answer: The whole response to a request; `nil` never answers it.
    init(_ answer: @escaping @Sendable (Request) -> String?) throws {
        self.answer = answer
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard bound else { throw Failure(code: errno) }
        startThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let self, state.withLock({ !$0.isOver }) else {
                    if connection >= 0 { Glibc.close(connection) }
                    return
                }
                state.withLock { $0.connections.append(connection) }
                startThread { [weak self] in self?.serve(connection) }
            }
        }
    }

    struct Failure: Error { var code: Int32 }

    deinit { stop() }

    /// The requests so far.
    var requests: [Request] { state.withLock { $0.requests } }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    func stop() {
        let connections = state.withLock { state -> [Int32] in
            guard !state.isOver else { return [] }
            state.isOver = true
            shutdown(listener, Int32(SHUT_RDWR))
            Glibc.close(listener)
            return state.connections
        }
        for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    private func serve(_ connection: Int32) {
        defer {
            state.withLock { $0.connections.removeAll { $0 == connection } }
            Glibc.close(connection)
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            while let request = Self.takeRequest(&bytes) {
                state.withLock { $0.requests.append(request) }
                guard let response = answer(request) else { continue }
                let sent = Array(response.utf8)
                guard sent.withUnsafeBytes({ send(connection, $0.baseAddress, sent.count, Int32(MSG_NOSIGNAL)) }) >= 0
                else { return }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            bytes += buffer[..<count]
        }
    }

    private static func takeRequest(_ bytes: inout [UInt8]) -> Request? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        var request = Request(head: String(text[..<end.lowerBound]), body: "")
        let length = request.header("Content-Length").flatMap(Int.init) ?? 0
        let rest = text[end.upperBound...].utf8
        guard rest.count >= length else { return nil }
        request.body = String(decoding: rest.prefix(length), as: UTF8.self)
        bytes = Array(rest.dropFirst(length))
        return request
    }

    static func response(_ status: String, _ headers: [String] = [], body: String = "") -> String {
        "HTTP/1.1 \(status)\r\n" + headers.map { $0 + "\r\n" }.joined()
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Blocking calls have no place on Swift's own threads.
func startThread(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let body = Unmanaged.passRetained(Body(run))
    if pthread_create(&thread, nil, runBody, body.toOpaque()) == 0 {
        pthread_detach(thread)
    } else {
        body.release()
    }
}

private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
    return nil
}
