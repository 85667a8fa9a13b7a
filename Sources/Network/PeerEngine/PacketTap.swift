import EmisoraCore
import EmisoraICE

/// Which way a packet went.
package enum PacketDirection: Hashable, Sendable {
    case sent
    case received
}

/// Sees what a peer sends and receives: RTP and RTCP in the clear, STUN and DTLS as they are on the wire. Called on the
/// engine's thread, with bytes that are the engine's again when it returns.
package typealias PacketTap = (_ packet: RawSpan, PacketDirection, ICEPath, _ now: Instant) -> Void

/// Without a tap each of these costs one branch.
extension PeerEngine {
    /// Shows a datagram that is sent as it stands in `buffer`.
    func showSent(_ buffer: borrowing MutableRawSpan, byteCount: Int, on path: ICEPath?, now: Instant) {
        guard let packetTap, let path else { return }
        packetTap(buffer.bytes.extracting(0..<byteCount), .sent, path, now)
    }

    func showReceived(_ packet: RawSpan, on path: ICEPath, now: Instant) {
        packetTap?(packet, .received, path, now)
    }

    func sealRTP(_ buffer: inout MutableRawSpan, byteCount: Int, now: Instant) -> Int? {
        guard packetTap != nil else { return security.protectRTP(&buffer, byteCount: byteCount) }
        let plain = Self.copy(buffer, byteCount)
        let sealed = security.protectRTP(&buffer, byteCount: byteCount)
        if sealed != nil { showSent(plain, now: now) }
        return sealed
    }

    func sealRTCP(_ buffer: inout MutableRawSpan, byteCount: Int, now: Instant) -> Int? {
        guard packetTap != nil else { return security.protectRTCP(&buffer, byteCount: byteCount) }
        let plain = Self.copy(buffer, byteCount)
        let sealed = security.protectRTCP(&buffer, byteCount: byteCount)
        if sealed != nil { showSent(plain, now: now) }
        return sealed
    }

    func pollSecurity(into buffer: inout MutableRawSpan, now: Instant) -> Int? {
        guard let byteCount = security.pollTransmit(into: &buffer) else { return nil }
        showSent(buffer, byteCount: byteCount, on: ice.selectedPath ?? lastPath, now: now)
        return byteCount
    }

    /// A packet is sealed in place, and shown only when that went well.
    private static func copy(_ buffer: borrowing MutableRawSpan, _ byteCount: Int) -> [UInt8] {
        buffer.bytes.extracting(0..<min(byteCount, buffer.byteCount)).withUnsafeBytes { Array($0) }
    }

    private func showSent(_ plain: [UInt8], now: Instant) {
        guard let packetTap, let path = ice.selectedPath ?? lastPath else { return }
        packetTap(plain.span.bytes, .sent, path, now)
    }
}
