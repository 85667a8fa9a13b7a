import EmisoraCore
import EmisoraCrypto
import EmisoraICE
import EmisoraSTUN
import Glibc

/// A TCP connection of a test's own to a passive candidate, blocking; it says what it likes.
final class FramedClient {
    private let descriptor: Int32
    private var framer = StreamFramer()

    init(connectingTo address: SocketAddress) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // Nothing here takes that long; but a test must end.
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var raw = sockaddr_in()
        raw.sin_family = sa_family_t(AF_INET)
        raw.sin_port = address.port.bigEndian
        raw.sin_addr.s_addr = address.ip.v4Bits.bigEndian
        let result = withUnsafePointer(to: &raw) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw ConnectFailure(code: errno) }
    }

    struct ConnectFailure: Error { let code: Int32 }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func send(packet: [UInt8]) {
        var frame: [UInt8] = []
        if StreamFramer.frame(packet.span.bytes, into: &frame) { send(frame) }
    }

    /// The next packet; `nil`: the other side has closed the connection.
    func receive() throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            if let packet = try framer.next() { return packet }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno != ECONNRESET { throw ConnectFailure(code: errno) }
            guard count > 0 else { return nil }
            try framer.append(buffer.span.bytes.extracting(first: count))
        }
    }
}

/// A check as a peer with these credentials of ours would send it.
func bindingRequest(ufrag: String, password: String, id: UInt64 = 1) throws -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 1_024)
    var span = buffer.mutableSpan
    var raw = span.mutableBytes
    var builder = try STUNMessageBuilder(
        &raw, type: STUNMessageType(.request), transactionID: STUNTransactionID(high: 7, low: id))
    try builder.add(username: Array("\(ufrag):peer".utf8))
    try builder.add(priority: 0x5000_01FF)
    try builder.add(tieBreaker: 1, isControlling: false)
    let byteCount = try builder.finish(key: HMACSHA1Key(Array(password.utf8).span.bytes))
    return Array(buffer[..<byteCount])
}
