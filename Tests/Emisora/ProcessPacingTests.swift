import Emisora
import Glibc
import Testing

/// A UDP socket that hears and never answers.
private final class MuteSocket {
    private let descriptor: Int32
    let port: UInt16

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    /// The transactions of the STUN requests that have come since the last call.
    func requests() -> [[UInt8]] {
        var ids: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 1_500)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return ids }
            if count >= 20, buffer[0] == 0, buffer[1] == 1 { ids.append(Array(buffer[8..<20])) }
        }
    }
}

@Suite(.serialized) struct ProcessPacingTests {
    private static func offer(candidates: [MuteSocket], number: Int) -> String {
        let fingerprint = (0..<32).map { _ in "AB" }.joined(separator: ":")
        let lines =
            [
                "v=0", "o=- \(number) 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
                "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", "a=mid:0", "a=sendonly", "a=rtcp-mux",
                "a=ice-ufrag:mute\(number)", "a=ice-pwd:0123456789abcdef012345\(number)",
                "a=fingerprint:sha-256 \(fingerprint)", "a=setup:actpass", "a=rtpmap:96 VP8/90000",
            ]
            + candidates.enumerated().map {
                "a=candidate:\($0.offset) 1 udp \(2_130_706_431 - $0.offset) 127.0.0.1 \($0.element.port) typ host"
            }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// One pacer is handed to all sessions, all peers of each hub, and what asks servers for them: in the time that their
    /// transactions take together, each half of them by itself would take half of it.
    @Test("RFC 8445 §14.2: transactions of all sessions, peers and gatherings of a process are 5 ms apart")
    func sessionsPeersAndGatheringsShareOnePacer() async throws {
        // As many as a session asks.
        let servers = try (0..<16).map { _ in try MuteSocket() }
        let candidates = try (0..<20).map { _ in try MuteSocket() }
        let options = Session.Options(
            addresses: .loopback, iceServers: [ICEServer(urls: servers.map { "stun:127.0.0.1:\($0.port)" })])
        let sessions = [
            try await Session.standalone(options: options), try await Session.standalone(options: options),
        ]
        let start = MonotonicClock.now
        for session in sessions {
            for number in 1...2 {
                _ = try await session.answer(
                    Self.offer(candidates: candidates, number: number), receiving: Subscriber(videoSink: Collector()))
            }
        }
        // Each peer of each session checks each candidate and asks each server once.
        let expected = 2 * 2 * (candidates.count + servers.count)
        var seen: Set<[UInt8]> = []
        try await eventually("all transactions begin") {
            for socket in servers + candidates { seen.formUnion(socket.requests()) }
            return seen.count >= expected
        }
        let elapsed = MonotonicClock.now - start
        // Whatever keeps the machine busy only adds to it.
        #expect(elapsed >= .milliseconds(5) * (expected - 1))
        for session in sessions { await session.disconnect() }
    }
}
