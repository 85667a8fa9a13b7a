import CEmisoraLinux
import EmisoraCore
import Glibc

/// Outgoing datagrams of one turn, written straight into their slots and sent with few system calls.
///
/// ```swift
/// while batch.append({ slot in peer.pollTransmit(into: &slot, now: now) }) {}
/// batch.flush()
/// ```
package final class DatagramBatch {
    private static let slotByteCount = 1_536
    private static let slotCount = 64

    private let slots: UnsafeMutableRawBufferPointer
    private var count = 0
    private var lengths = [UInt32](repeating: 0, count: slotCount)
    private var destinations = [emisora_address](repeating: emisora_address(), count: slotCount)
    private var socketOfSlot = [Int32](repeating: -1, count: slotCount)
    /// Held, so that no number in `socketOfSlot` outlives its descriptor.
    private var sockets: [SocketAddress: UDPSocket] = [:]

    package private(set) var datagramsSent: UInt64 = 0
    /// Refused by the system: buffers full, no route, filtered. Lost, as on any network.
    package private(set) var datagramsDropped: UInt64 = 0

    package init() {
        slots = .allocate(byteCount: Self.slotByteCount * Self.slotCount, alignment: 64)
    }

    deinit {
        slots.deallocate()
    }

    /// Makes a socket known as the one that sends from its local address.
    package func add(_ socket: UDPSocket) {
        sockets[socket.localAddress] = socket
    }

    /// Forgets a socket; what waits for it is sent first.
    package func remove(_ socket: UDPSocket) {
        flush()
        sockets[socket.localAddress] = nil
    }

    /// Lets `write` fill the next slot; `false` when it had nothing to send.
    package func append(_ write: (inout MutableRawSpan) -> Transmit?) -> Bool {
        if count == Self.slotCount { flush() }
        let start = count * Self.slotByteCount
        var slot = UnsafeMutableRawBufferPointer(rebasing: slots[start..<start + Self.slotByteCount]).mutableBytes
        guard let transmit = write(&slot) else { return false }
        guard let socket = sockets[transmit.source], transmit.byteCount <= Self.slotByteCount else {
            datagramsDropped += 1
            return true
        }
        lengths[count] = UInt32(transmit.byteCount)
        destinations[count] = emisora_address(transmit.destination)
        socketOfSlot[count] = socket.descriptor
        count += 1
        return true
    }

    /// Sends everything. What the system refuses is lost and counted.
    package func flush() {
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, socketOfSlot[end] == socketOfSlot[start] { end += 1 }
            let result = send(start..<end)
            if result > 0 {
                datagramsSent += UInt64(result)
                start += result
                continue
            }
            switch -Int32(result) {
            case EINTR:
                continue
            case EAGAIN, ENOBUFS, ENOMEM:
                // The socket is full: those behind the first would fare no better, and waiting helps no real-time media.
                datagramsDropped += UInt64(end - start)
                start = end
            default:
                // No route, filtered, too long: the first is at fault; those behind it may still go.
                datagramsDropped += 1
                start += 1
            }
        }
        count = 0
    }

    /// How many of one socket's datagrams were sent, or the negated error of the first.
    private func send(_ range: Range<Int>) -> Int {
        let first = range.lowerBound
        let result = lengths.withUnsafeBufferPointer { lengths in
            destinations.withUnsafeBufferPointer { destinations in
                emisora_udp_send(
                    socketOfSlot[first],
                    slots.baseAddress.map { ($0 + first * Self.slotByteCount).assumingMemoryBound(to: UInt8.self) },
                    Self.slotByteCount, Int32(range.count), lengths.baseAddress.map { $0 + first },
                    destinations.baseAddress.map { $0 + first })
            }
        }
        return Int(result)
    }
}
