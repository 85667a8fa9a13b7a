import EmisoraCore

/// What a packet of sound carries of the packets before it (RFC 2198), so that one loss, or as many in a row as blocks
/// are carried, needs no repetition.
struct REDSoundBlocks: Sendable {
    private struct Past: Sendable {
        var timestamp: UInt32
        var payload: [UInt8]
    }

    /// Older packets that each packet carries.
    private let depth: Int
    private var past: [Past] = []

    init(depth: Int) {
        self.depth = max(0, min(depth, 4))
    }

    /// The payload in which `primary` is carried with its forerunners as far as they fit into `byteLimit`.
    mutating func payload(
        for primary: [UInt8], timestamp: UInt32, payloadType: UInt8, byteLimit: Int
    ) -> [UInt8] {
        defer { remember(primary, timestamp) }
        var room = byteLimit - primary.count - REDPayload.primaryHeaderByteCount
        // The newest are worth most, so they are fitted first; they are written oldest first.
        var carried: [Past] = []
        for old in past.reversed() {
            let offset = timestamp &- old.timestamp
            let needed = REDPayload.redundantHeaderByteCount + old.payload.count
            guard offset > 0, offset <= REDPayload.maximumOffset, needed <= room else { break }
            room -= needed
            carried.append(old)
        }
        var payload: [UInt8] = []
        payload.reserveCapacity(byteLimit - max(0, room))
        for old in carried.reversed() {
            let word = (timestamp &- old.timestamp) << 10 | UInt32(old.payload.count)
            payload.append(0x80 | payloadType & 0x7F)
            payload.append(UInt8(truncatingIfNeeded: word >> 16))
            payload.append(UInt8(truncatingIfNeeded: word >> 8))
            payload.append(UInt8(truncatingIfNeeded: word))
        }
        payload.append(payloadType & 0x7F)
        for old in carried.reversed() { payload += old.payload }
        payload += primary
        return payload
    }

    private mutating func remember(_ payload: [UInt8], _ timestamp: UInt32) {
        // A packet without sound (DTX) or a very large one is not worth carrying.
        guard depth > 0, !payload.isEmpty, payload.count <= REDPayload.maximumBlockByteCount else { return }
        if past.count == depth { past.removeFirst() }
        past.append(Past(timestamp: timestamp, payload: payload))
    }
}
