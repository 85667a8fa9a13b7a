import EmisoraCore
import EmisoraSTUN
import EmisoraTURN
import EmisoraTestSupport
import Foundation
import Glibc

/// A coturn of its own on free ports of the loopback; ended when it is let go of.
final class Coturn {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let address: SocketAddress
    private let folder: URL
    private var child: Child?

    init(arguments: [String] = []) throws {
        let port = try RealSocket.freePort()
        address = SocketAddress(ip: IPAddress(v4: 0x7F00_0001), port: port)
        folder = FileManager.default.temporaryDirectory.appending(path: "emisora-coturn-\(getpid())-\(port)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        child = try Child(
            "/usr/bin/turnserver",
            [
                "-n", "--log-file=\(folder.path)/log", "--no-stdout-log", "--simple-log", "-L", "127.0.0.1", "-E",
                "127.0.0.1", "-p", "\(port)", "--min-port=49152", "--max-port=65535", "--realm=lab.test",
                "--fingerprint", "--lt-cred-mech", "--user=lab:labpass", "--allow-loopback-peers", "--no-tls",
                "--no-dtls", "--no-cli", "--userdb=\(folder.path)/users", "--pidfile=\(folder.path)/pid",
            ] + arguments)
        try waitUntilItAnswers()
    }

    /// It is there when it tells us our address.
    private func waitUntilItAnswers() throws {
        let socket = try RealSocket(to: address, isStream: false)
        defer { socket.close() }
        let deadline = RealTime.now() + .seconds(20)
        while RealTime.now() < deadline {
            var binding = STUNBinding(
                local: socket.local, server: address, pacer: TransactionPacer(),
                random: RandomSource(SystemRandomNumberGenerator()))
            binding.start(now: RealTime.now())
            for (bytes, _) in drain({ binding.pollTransmit(into: &$0, now: RealTime.now()) }) { socket.send(bytes) }
            for bytes in socket.receive(waiting: .milliseconds(100)) {
                if binding.handle(datagram: bytes.span.bytes, from: address, now: RealTime.now()) { return }
            }
        }
        throw Failure(description: "turnserver does not answer on \(address)")
    }

    deinit {
        child?.end()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// A client on a socket of its own.
final class RealClient {
    var client: TURNClient
    let local: SocketAddress
    var received: [(bytes: [UInt8], peer: SocketAddress)] = []
    private(set) var mapped: SocketAddress?
    private(set) var channelMessages = 0
    private(set) var staleNonces = 0
    private(set) var refreshes = 0
    private let socket: RealSocket
    private let server: SocketAddress
    private var framer: TURNStreamFramer?

    init(
        _ coturn: Coturn, family: IPAddress.Family, isStream: Bool = false,
        credentials: STUNLongTermCredentials = credentials
    ) throws {
        server = coturn.address
        socket = try RealSocket(to: coturn.address, isStream: isStream)
        local = socket.local
        framer = isStream ? TURNStreamFramer() : nil
        client = TURNClient(
            .init(
                local: local, server: coturn.address, isStream: isStream, credentials: credentials, family: family),
            pacer: TransactionPacer(), random: RandomSource(SystemRandomNumberGenerator()))
    }

    func close() { socket.close() }

    func start() { client.start(now: RealTime.now()) }

    func send(_ payload: [UInt8], to peer: SocketAddress) {
        var buffer = payload + [UInt8](repeating: 0, count: 64)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        if let byteCount = client.wrap(&raw, byteCount: payload.count, to: peer, now: RealTime.now()) {
            socket.send(Array(buffer[..<byteCount]))
        }
    }

    /// One turn: what is due is sent, what came within that time is taken.
    func turn(waiting: Duration) throws {
        if let deadline = client.nextDeadline, deadline <= RealTime.now() { client.handleTimeout(now: RealTime.now()) }
        flush()
        for bytes in socket.receive(waiting: waiting) {
            if framer != nil {
                try framer?.append(bytes.span.bytes)
                while let message = try framer?.next() { take(message) }
            } else {
                take(bytes)
            }
        }
        flush()
    }

    private func flush() {
        for (bytes, _) in drain({ client.pollTransmit(into: &$0, now: RealTime.now()) }) { socket.send(bytes) }
        while let event = client.pollEvent() { if case .allocated(_, let address) = event { mapped = address } }
    }

    private func take(_ bytes: [UInt8]) {
        let message = try? parse(bytes)
        if message?.errorCode == 438 { staleNonces += 1 }
        if message?.type == STUNMessageType(.success, .refresh) { refreshes += 1 }
        if case .data(let range, let peer) = client.handle(
            datagram: bytes.span.bytes, from: server, now: RealTime.now())
        {
            if message == nil { channelMessages += 1 }
            received.append((Array(bytes[range]), peer))
        }
    }
}

enum RealTime {
    struct TimedOut: Error {}

    static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func pump(_ clients: [RealClient], until deadline: Instant, _ condition: () -> Bool) throws {
        try pump(clients, until: deadline, every: .seconds(3_600), {}, while: { !condition() })
    }

    /// Runs the clients while the condition holds, and the action again and again.
    static func pump(
        _ clients: [RealClient], until deadline: Instant, every interval: Duration, _ action: () -> Void,
        while condition: () -> Bool
    ) throws {
        var next = now()
        while condition() {
            guard now() < deadline else { throw TimedOut() }
            if now() >= next {
                action()
                next = now() + interval
            }
            for client in clients { try client.turn(waiting: .milliseconds(1)) }
        }
    }
}

/// A socket that talks to one address.
final class RealSocket {
    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ what: String) { description = "\(what): \(String(cString: strerror(errno)))" }
    }

    let local: SocketAddress
    private let descriptor: Int32
    private let isStream: Bool
    private var isOpen = true

    init(to address: SocketAddress, isStream: Bool) throws {
        self.isStream = isStream
        let descriptor = socket(AF_INET, Int32(isStream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue), 0)
        self.descriptor = descriptor
        guard descriptor >= 0 else { throw Failure("socket") }
        var raw = sockaddr_in()
        raw.sin_family = sa_family_t(AF_INET)
        raw.sin_port = address.port.bigEndian
        raw.sin_addr.s_addr = address.ip.v4Bits.bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &raw) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { throw Failure("connect") }
        local = try Self.localAddress(descriptor)
    }

    static func freePort() throws -> UInt16 {
        // Free for both, UDP and TCP.
        for _ in 0..<100 {
            let udp = try bound(SOCK_DGRAM, port: 0)
            defer { Glibc.close(udp) }
            let port = try localAddress(udp).port
            if let tcp = try? bound(SOCK_STREAM, port: port) {
                Glibc.close(tcp)
                return port
            }
        }
        throw Failure("no free port")
    }

    private static func bound(_ kind: __socket_type, port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(kind.rawValue), 0)
        var raw = sockaddr_in()
        raw.sin_family = sa_family_t(AF_INET)
        raw.sin_port = port.bigEndian
        raw.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &raw) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            Glibc.close(descriptor)
            throw Failure("bind")
        }
        return descriptor
    }

    private static func localAddress(_ descriptor: Int32) throws -> SocketAddress {
        var raw = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &raw) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard result == 0 else { throw Failure("getsockname") }
        return SocketAddress(
            ip: IPAddress(v4: UInt32(bigEndian: raw.sin_addr.s_addr)), port: UInt16(bigEndian: raw.sin_port))
    }

    func close() {
        if isOpen { Glibc.close(descriptor) }
        isOpen = false
    }

    func send(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress.map { $0 + offset }, bytes.count - offset, Int32(MSG_NOSIGNAL))
            }
            // A datagram that cannot be sent is lost.
            guard count > 0 else { return }
            offset += count
        }
    }

    /// What is there, waiting that long for the first.
    func receive(waiting: Duration) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var timeout = Int32(waiting.inMilliseconds)
        while result.count < 64, poll(&poller, 1, timeout) > 0 {
            timeout = 0
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            result.append(Array(buffer[..<count]))
        }
        return result
    }
}
