import Emisora
import EmisoraCapture
import Glibc

/// Listens to all UDP of this machine and follows the RTP streams in it by what SRTP leaves readable: a witness that is
/// no part of publisher and subscriber. Needs root.
final class WireTap: Sendable {
    /// One synchronisation source between two ports.
    struct Stream: Encodable, Sendable {
        var ssrc: UInt32
        var payloadType: UInt8
        var packets = 0
        /// Packets whose number, or whose time, is not after that of the one before; both wrap.
        var backwardNumbers = 0
        var backwardTimes = 0
        /// From the first packet's time to the last one's, in seconds of a 90 kHz clock.
        var duration = 0.0
        fileprivate var number: UInt16
        fileprivate var time: UInt32

        private enum CodingKeys: CodingKey {
            case ssrc, payloadType, packets, backwardNumbers, backwardTimes, duration
        }
    }

    private let streams = Monitor<[UInt64: Stream]>([:])
    private let thread = MediaThread()

    init() throws {
        var sockets: [(descriptor: Int32, isIPv4: Bool)] = []
        for family in [AF_INET, AF_INET6] {
            let descriptor = socket(family, Int32(SOCK_RAW.rawValue), Int32(IPPROTO_UDP))
            guard descriptor >= 0 else {
                throw CaptureError.system(operation: "listen to all UDP", code: errno)
            }
            sockets.append((descriptor, family == AF_INET))
        }
        let listened = sockets
        try thread.start { [streams] thread in
            var polled = listened.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            while !thread.isStopRequested {
                _ = poll(&polled, 2, 100)
                for (index, socket) in listened.enumerated()
                where polled[index].revents & Int16(POLLIN) != 0 {
                    let count = recv(socket.descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                    // Only IPv4 comes with its own header.
                    let start = socket.isIPv4 ? Int(bytes[0] & 0xF) * 4 : 0
                    guard count >= start + 8 + 12 else { continue }
                    streams.withLock { Self.take(bytes[start..<count], &$0) }
                }
            }
            for socket in listened { close(socket.descriptor) }
        }
    }

    func finish() -> [Stream] {
        thread.stop()
        return streams.withLock { Array($0.values) }
    }

    private static func take(_ datagram: ArraySlice<UInt8>, _ streams: inout [UInt64: Stream]) {
        let payload = datagram.dropFirst(8)
        let first = payload.startIndex
        func number(_ offset: Int, _ count: Int) -> UInt32 {
            payload[first + offset..<first + offset + count].reduce(0) { $0 << 8 | UInt32($1) }
        }
        // RTP, and of that version's packets those that are not RTCP (RFC 5761).
        guard payload[first] >> 6 == 2, !(192...223).contains(payload[first + 1]) else { return }
        let (sequence, time, ssrc) = (UInt16(number(2, 2)), number(4, 4), number(8, 4))
        let ports = datagram.prefix(4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var stream =
            streams[ports << 32 | UInt64(ssrc)]
            ?? Stream(
                ssrc: ssrc, payloadType: payload[first + 1] & 0x7F, number: sequence &- 1, time: time)
        stream.packets += 1
        if Int16(bitPattern: sequence &- stream.number) <= 0 { stream.backwardNumbers += 1 }
        // Packets of one picture have one time.
        let step = Int32(bitPattern: time &- stream.time)
        if step < 0 { stream.backwardTimes += 1 }
        stream.duration += Double(step) / 90_000
        (stream.number, stream.time) = (sequence, time)
        streams[ports << 32 | UInt64(ssrc)] = stream
    }
}
