import Glibc

struct SocketFailure: Error {
    var what: String
}

/// A plain TCP connection to this machine, blocking with a bound of thirty seconds: for what no proper client sends.
final class RawSocket {
    private let descriptor: Int32
    private var isOpen = true
    /// Bytes that came behind a response.
    private var surplus: [UInt8] = []

    /// - Parameter host: An IPv4 address of this machine.
    init(port: UInt16, host: UInt32 = 0x7F00_0001, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var bound = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &bound, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &bound, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = host.bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw SocketFailure(what: "connect: \(errno)") }
    }

    deinit { close() }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(descriptor)
    }

    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// What is there, at least one byte; empty at the end of the connection.
    func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { throw SocketFailure(what: "nothing came in time") }
        return Array(buffer.prefix(max(0, count)))
    }

    /// Whether the other side has closed; waits for it until `limit` after `start`, and takes nothing.
    func hasEnded(within limit: Duration, of start: ContinuousClock.Instant) throws -> Bool {
        var byte: UInt8 = 0
        while true {
            let left = max(.zero, limit - (ContinuousClock.now - start)).components
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = Int32(left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000)
            guard poll(&ready, 1, milliseconds) > 0 else { return false }
            return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) <= 0
        }
    }

    /// One HTTP response: its status, its header section and its body.
    func response(hasBody: Bool = true) throws -> (status: Int, head: String, body: String) {
        var bytes = surplus
        surplus = []
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let head = String(text[..<end.lowerBound])
                let length =
                    head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                    .flatMap { Int($0.drop { $0 != ":" }.dropFirst().filter(\.isNumber)) } ?? 0
                let body = text[end.upperBound...]
                if !hasBody || body.utf8.count >= length {
                    let own = hasBody ? String(decoding: body.utf8.prefix(length), as: UTF8.self) : String(body)
                    if hasBody { surplus = Array(body.utf8.dropFirst(length)) }
                    return (Int(head.dropFirst(9).prefix(3)) ?? 0, head, own)
                }
            }
            let more = try receive()
            guard !more.isEmpty else { throw SocketFailure(what: "the connection ended in: \(text)") }
            bytes += more
        }
    }
}

/// A websocket client that answers no pings and checks nothing.
final class RawWebsocket {
    private let socket: RawSocket
    private var bytes: [UInt8] = []

    /// - Parameter headers: Further lines of the request, each with its line break.
    init(port: UInt16, receiveBuffer: Int32? = nil, subprotocol: String = "emisora.v1", headers: String = "") throws {
        socket = try RawSocket(port: port, receiveBuffer: receiveBuffer)
        socket.send(
            "GET /demo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Protocol: \(subprotocol)\r\n\(headers)\r\n")
        let response = try socket.response(hasBody: false)
        guard response.status == 101 else { throw SocketFailure(what: response.head) }
        bytes = Array(response.body.utf8)
    }

    func close() { socket.close() }

    /// Waits until the server has ended the connection.
    func awaitEnd() throws { while try !socket.receive().isEmpty {} }

    func send(text: String) { send(Frame(1, Array(text.utf8))) }

    /// A frame as RFC 6455 §5.2 has it, and as it has it not.
    struct Frame {
        var opcode: UInt8
        var payload: [UInt8]
        var isFinal = true
        var reserved: UInt8 = 0
        /// `nil`: not masked, as a server's are.
        var mask: [UInt8]? = [0, 0, 0, 0]
        /// What the frame says of its length, where that is not true.
        var length: UInt64?

        init(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, reserved: UInt8 = 0) {
            self.opcode = opcode
            self.payload = payload
            self.isFinal = isFinal
            self.reserved = reserved
        }

        var bytes: [UInt8] {
            let length = length ?? UInt64(payload.count)
            let flag: UInt8 = mask == nil ? 0 : 0x80
            var frame = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
            if length < 126 {
                frame.append(flag | UInt8(length))
            } else {
                let isShort = length < 65_536
                frame.append(flag | (isShort ? 126 : 127))
                for shift in stride(from: isShort ? 8 : 56, through: 0, by: -8) {
                    frame.append(UInt8(truncatingIfNeeded: length >> UInt64(shift)))
                }
            }
            guard let mask else { return frame + payload }
            return frame + mask + payload.indices.map { payload[$0] ^ mask[$0 & 3] }
        }
    }

    func send(_ frames: Frame...) { socket.send(frames.flatMap(\.bytes)) }
    func send(bytes: [UInt8]) { socket.send(bytes) }

    /// The next text frame; all others are passed over.
    func receive() throws -> String {
        while true {
            let frame = try receiveFrame()
            if frame.opcode == 1 { return String(decoding: frame.payload, as: UTF8.self) }
        }
    }

    /// The code that the server closes with; what it sends before is passed over.
    func closeCode() throws -> Int {
        while true {
            let (opcode, payload) = try receiveFrame()
            if opcode == 8, payload.count >= 2 { return Int(payload[0]) << 8 | Int(payload[1]) }
        }
    }

    func receiveFrame() throws -> (opcode: UInt8, payload: [UInt8]) {
        while true {
            if bytes.count >= 2 {
                let short = Int(bytes[1] & 127)
                let header = short == 127 ? 10 : short == 126 ? 4 : 2
                if bytes.count >= header {
                    let length = header == 2 ? short : bytes[2..<header].reduce(0) { $0 << 8 | Int($1) }
                    if bytes.count >= header + length {
                        let opcode = bytes[0] & 15
                        let payload = Array(bytes[header..<header + length])
                        bytes.removeFirst(header + length)
                        return (opcode, payload)
                    }
                }
            }
            let more = try socket.receive()
            guard !more.isEmpty else { throw SocketFailure(what: "the connection ended") }
            bytes += more
        }
    }
}

/// The threads of this process.
func threadCount() -> Int {
    guard let directory = opendir("/proc/self/task") else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
        if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
    }
    return count
}

/// The processor time that this process has used.
func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// Under a sanitizer, or beside other work, how long things take says nothing.
let isTimingJudged = getenv("EMISORA_NO_TIMING") == nil
