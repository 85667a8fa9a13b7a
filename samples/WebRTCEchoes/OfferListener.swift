import Glibc

/// As much of HTTP/1.1 as this contract needs: `POST /offer`, one request a connection, from pages of any site.
final class OfferListener: Sendable {
    struct Response: Sendable {
        var status: String
        var mediaType = "text/plain"
        var body: [UInt8] = []
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let headLimit = 16_384
    private static let bodyLimit = 65_536

    let port: UInt16
    private let socket: Int32
    private let answer: @Sendable ([UInt8]) async -> Response

    /// - Parameter port: 0: any that is free.
    init(port: UInt16, answer: @escaping @Sendable ([UInt8]) async -> Response) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failure(description: String(cString: strerror(errno))) }
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && listen(socket, 16) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        guard result else {
            let reason = String(cString: strerror(errno))
            close(socket)
            throw Failure(description: "Port \(port) cannot be listened on: \(reason).")
        }
        self.answer = answer
        self.socket = socket
        self.port = UInt16(bigEndian: address.sin_port)
    }

    /// Takes requests for ever, one after the other; answers come by themselves. Blocks its thread.
    func run() {
        while true {
            let connection = accept(socket, nil, nil)
            guard connection >= 0 else { continue }
            var patience = timeval(tv_sec: 2, tv_usec: 0)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(connection, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
            }
            switch Self.request(from: connection) {
            case .success(let body):
                Task { [answer] in Self.send(await answer(body), to: connection) }
            case .failure(let refusal): Self.send(refusal.response, to: connection)
            }
        }
    }

    private struct Refusal: Error {
        var response: Response

        init(_ status: String) { response = Response(status: status) }
    }

    /// The body of a request; whoever is slower than two seconds a read, or slower than the whole is worth, is refused.
    private static func request(from connection: Int32) -> Result<[UInt8], Refusal> {
        var bytes: [UInt8] = []
        var wanted: Int?
        var bodyStart = 0
        let begin = time(nil)
        while wanted == nil || bytes.count < bodyStart + (wanted ?? 0) {
            var chunk = [UInt8](repeating: 0, count: 4_096)
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0, time(nil) - begin < 5 else { return .failure(Refusal("408 Request Timeout")) }
            bytes += chunk[..<count]
            guard wanted == nil else { continue }
            guard
                let end = bytes.indices.dropLast(3).first(where: { bytes[$0..<$0 + 4].elementsEqual([13, 10, 13, 10]) })
            else {
                if bytes.count > headLimit { return .failure(Refusal("431 Request Header Fields Too Large")) }
                continue
            }
            let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
            let words = lines.first?.split(separator: " ") ?? []
            guard words.count == 3, words[1] == "/offer" else { return .failure(Refusal("404 Not Found")) }
            if words[0] == "OPTIONS" { return .failure(Refusal("204 No Content")) }
            guard words[0] == "POST" else { return .failure(Refusal("405 Method Not Allowed")) }
            let length = lines.lazy.compactMap { line -> Int? in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
                return Int(parts[1].drop { $0 == " " })
            }.first
            guard let length, length >= 0 else { return .failure(Refusal("411 Length Required")) }
            guard length <= bodyLimit else { return .failure(Refusal("413 Content Too Large")) }
            wanted = length
            bodyStart = end + 4
        }
        return .success(Array(bytes[bodyStart..<bodyStart + (wanted ?? 0)]))
    }

    private static func send(_ response: Response, to connection: Int32) {
        let head =
            "HTTP/1.1 \(response.status)\r\nContent-Type: \(response.mediaType)\r\n"
            + "Content-Length: \(response.body.count)\r\nAccess-Control-Allow-Origin: *\r\n"
            + "Access-Control-Allow-Headers: content-type\r\nAccess-Control-Allow-Methods: POST\r\n"
            + "Connection: close\r\n\r\n"
        var rest = (Array(head.utf8) + response.body)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        close(connection)
    }
}
