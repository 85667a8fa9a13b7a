import EmisoraCore

/// What a packet of sound carries of the packets before it (RFC 2198), so that one loss, or as many in a row as blocks
/// are carried, needs no repetition.
struct REDSoundBlocks: Sendable {
    private struct Past: Sendable {
        var timestamp: UInt32
        var payload: [UInt8]
    }

    static let maximumDepth = 4

    /// Older packets that each packet carries; with 0 there is nothing to be put into RED. More are remembered, so that
    /// packets carry their forerunners as soon as that is asked for.
    var depth: Int
    private var past: [Past] = []
    /// Of what was carried, for counting: blocks and their bytes in the payload made last.
    private(set) var carriedBlocks = 0
    private(set) var carriedByteCount = 0

    init(depth: Int) {
        self.depth = depth
    }

    /// The payload in which `primary` is carried with its forerunners as far as they fit into `byteLimit`.
    mutating func payload(
        for primary: [UInt8], timestamp: UInt32, payloadType: UInt8, byteLimit: Int
    ) -> [UInt8] {
        defer { remember(primary, timestamp) }
        var room = byteLimit - primary.count - REDPayload.primaryHeaderByteCount
        // The newest are worth most, so they are fitted first; they are written oldest first.
        var carried: [Past] = []
        for old in past.suffix(max(0, min(depth, Self.maximumDepth))).reversed() {
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
        carriedBlocks = carried.count
        carriedByteCount = carried.reduce(0) { $0 + $1.payload.count }
        return payload
    }

    /// Takes a packet that is sent as it is.
    mutating func remember(_ payload: [UInt8], _ timestamp: UInt32) {
        guard !payload.isEmpty, payload.count <= REDPayload.maximumBlockByteCount else {
            // Receivers take blocks for packets in a row: there must be no gap among them.
            past.removeAll()
            return
        }
        if past.count == Self.maximumDepth { past.removeFirst() }
        past.append(Past(timestamp: timestamp, payload: payload))
    }
}
