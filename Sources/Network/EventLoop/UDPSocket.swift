import CEmisoraLinux
import EmisoraCore
import Glibc

/// A UDP socket on one local address, shared by all peers. Owns its descriptor; confined to the loop's thread.
package final class UDPSocket: EventLoopReader {
    /// A datagram that was received, to be used up in place.
    package typealias Receiver = (inout MutableRawSpan, _ source: SocketAddress, _ local: SocketAddress) -> Void

    private static let slotByteCount = 2_048
    private static let batchCount = 32
    /// Batches read before others get their turn.
    private static let batchesPerTurn = 8

    package let localAddress: SocketAddress
    package private(set) var datagramsReceived: UInt64 = 0
    /// Longer than any that our protocols send, or empty.
    package private(set) var datagramsDiscarded: UInt64 = 0
    let descriptor: Int32
    private let slots: UnsafeMutableRawBufferPointer
    private var lengths = [UInt32](repeating: 0, count: batchCount)
    private var sources = [emisora_address](repeating: emisora_address(), count: batchCount)
    private let receiver: Receiver
    private weak var loop: EventLoop?

    /// Binds to `address`, whose port may be 0 for any free one, and begins to read.
    package init(
        binding address: SocketAddress, on loop: EventLoop, receiver: @escaping Receiver
    ) throws(SystemError) {
        var raw = emisora_address(address)
        descriptor = emisora_udp_open(&raw)
        guard descriptor >= 0 else { throw SystemError("Binding UDP to \(address)") }
        localAddress = SocketAddress(raw)
        slots = .allocate(byteCount: Self.slotByteCount * Self.batchCount, alignment: 64)
        self.receiver = receiver
        self.loop = loop
        try loop.add(self, descriptor: descriptor)
    }

    deinit {
        Glibc.close(descriptor)
        slots.deallocate()
    }

    /// Stops reading; the descriptor closes with the last reference.
    package func close() {
        loop?.remove(descriptor: descriptor)
    }

    package func readable() {
        for _ in 0..<Self.batchesPerTurn {
            let count = emisora_udp_receive(
                descriptor, slots.baseAddress?.assumingMemoryBound(to: UInt8.self), Self.slotByteCount,
                Int32(Self.batchCount), &lengths, &sources)
            // An error is one of an earlier datagram of ours (ICMP); reading it has cleared it.
            guard count > 0 else { return }
            datagramsReceived += UInt64(count)
            for index in 0..<Int(count) {
                guard lengths[index] > 0 else {
                    datagramsDiscarded += 1
                    continue
                }
                let start = index * Self.slotByteCount
                var datagram = UnsafeMutableRawBufferPointer(rebasing: slots[start..<start + Int(lengths[index])])
                    .mutableBytes
                receiver(&datagram, SocketAddress(sources[index]), localAddress)
            }
            if count < Self.batchCount { return }
        }
    }
}

extension emisora_address {
    init(_ address: SocketAddress) {
        self.init(
            high: address.ip.high, low: address.ip.low, port: address.port, is_v6: address.ip.family == .v6 ? 1 : 0)
    }
}

extension SocketAddress {
    init(_ raw: emisora_address) {
        self.init(ip: IPAddress(raw), port: raw.port)
    }
}

extension IPAddress {
    init(_ raw: emisora_address) {
        self =
            raw.is_v6 != 0
            ? IPAddress(v6High: raw.high, low: raw.low) : IPAddress(v4: UInt32(truncatingIfNeeded: raw.low))
    }
}
