import EmisoraCore

/// Sees to it that two different RTP packets are never sealed under the same index.
///
/// AES-GCM loses its authentication key to whoever sees two packets of one nonce (RFC 7714 §9.1). Retransmissions on
/// the media's own SSRC repeat an index lawfully, as long as they repeat the packet; a header extension that counts
/// up, as transport-wide sequence numbers do, would break that unseen. One digest is kept for each packet of the
/// replay window; older packets are refused by libsrtp itself.
struct IndexGuard {
    private struct Slot {
        var sequenceNumber: UInt16 = 0
        /// 0: empty.
        var digest: UInt64 = 0
    }

    private struct Stream {
        let ssrc: UInt32
        var slots: [Slot]
    }

    private let window: Int
    /// Our own SSRCs: a handful, so searched one after another.
    private var streams: [Stream] = []

    /// `window`: a power of two, so that it divides the sequence numbers' range.
    init(window: Int) {
        self.window = window
    }

    /// Whether the packet, of at least 12 bytes, may be sealed: its index is new, or it is the same packet again.
    mutating func admits(_ packet: RawSpan) -> Bool {
        let high = packet.unsafeLoad(fromByteOffset: 2, as: UInt8.self)
        let low = packet.unsafeLoad(fromByteOffset: 3, as: UInt8.self)
        let sequenceNumber = UInt16(high) << 8 | UInt16(low)
        let ssrc = packet.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt32.self)
        let digest = Self.digest(packet)
        let position = Int(sequenceNumber) % window
        guard let index = streams.firstIndex(where: { $0.ssrc == ssrc }) else {
            streams.append(Stream(ssrc: ssrc, slots: Array(repeating: Slot(), count: window)))
            streams[streams.count - 1].slots[position] = Slot(sequenceNumber: sequenceNumber, digest: digest)
            return true
        }
        let known = streams[index].slots[position]
        if known.digest != 0 {
            if known.sequenceNumber == sequenceNumber { return known.digest == digest }
            // Behind the window: libsrtp refuses it, and the newer packet's digest is still needed.
            if Int16(bitPattern: sequenceNumber &- known.sequenceNumber) < 0 { return true }
        }
        streams[index].slots[position] = Slot(sequenceNumber: sequenceNumber, digest: digest)
        return true
    }

    /// Guards against our own mistakes and not against an adversary, so mixing suffices; never 0.
    private static func digest(_ packet: RawSpan) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: packet.byteCount) &* 0x9E37_79B9_7F4A_7C15
        var offset = 0
        // Four lanes, since each multiplication would wait for the one before.
        var lanes = (hash, hash ^ 1, hash ^ 2, hash ^ 3)
        while offset + 32 <= packet.byteCount {
            lanes.0 = mix(lanes.0, packet.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
            lanes.1 = mix(lanes.1, packet.unsafeLoadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
            lanes.2 = mix(lanes.2, packet.unsafeLoadUnaligned(fromByteOffset: offset + 16, as: UInt64.self))
            lanes.3 = mix(lanes.3, packet.unsafeLoadUnaligned(fromByteOffset: offset + 24, as: UInt64.self))
            offset += 32
        }
        hash = mix(mix(mix(lanes.0, lanes.1), lanes.2), lanes.3)
        while offset < packet.byteCount {
            hash = mix(hash, UInt64(packet.unsafeLoad(fromByteOffset: offset, as: UInt8.self)))
            offset += 1
        }
        return hash | 1
    }

    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let mixed = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ (mixed >> 29)
    }
}
