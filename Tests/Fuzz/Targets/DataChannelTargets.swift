import EmisoraCore
import EmisoraSCTP

/// What opens data channels: read as written, and never a trap.
func fuzzOpening(_ bytes: [UInt8]) throws(FuzzFailure) {
    guard let message = DCEPMessage(parsing: bytes.span.bytes) else { return }
    let again = DCEPMessage(parsing: message.bytes.span.bytes)
    try FuzzFailure.check(again == message, "\(message) is read as \(String(describing: again))")
}

/// A peer that holds the keys and sends any chunks: the input's parts, under the association's own tag and checksum.
func fuzzDataChannels(_ bytes: [UInt8]) throws(FuzzFailure) {
    let opponent = try SCTPOpponent()
    // A genuine opening first, so that what follows is known to get that far.
    let opening = DCEPMessage.open(DataChannelParameters(label: "a"))
    opponent.send(SCTPChunk.data(tsn: 0, stream: 1, ppid: 50, opening.bytes))
    try FuzzFailure.check(opponent.victim.count == 2, "a genuine opening was not taken")
    for part in Parts(bytes).prefix(64) {
        opponent.send(part)
        let count = opponent.victim.count
        try FuzzFailure.check(count <= DataChannels.maximumChannels, "there are \(count) channels")
        try FuzzFailure.check(
            opponent.largestMessage <= SCTPAssociation.maximumMessageByteCount,
            "a message of \(opponent.largestMessage) bytes was taken")
    }
}

/// Chunks of SCTP (RFC 9260 §3.3).
enum SCTPChunk {
    static func make(_ type: UInt8, flags: UInt8 = 0, _ body: [UInt8]) -> [UInt8] {
        let length = body.count + 4
        return [type, flags, UInt8(length >> 8 & 255), UInt8(length & 255)] + body
            + [UInt8](repeating: 0, count: (4 - length % 4) % 4)
    }

    /// A whole message; its number counts from what the victim expects next.
    static func data(
        tsn: UInt32, stream: UInt16, ssn: UInt16 = 0, ppid: UInt32, flags: UInt8 = 3, _ bytes: [UInt8]
    ) -> [UInt8] {
        make(0, flags: flags, big(tsn) + big(stream) + big(ssn) + big(ppid) + bytes)
    }

    static func big(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}

/// A connected association whose other end writes packets of its own.
private final class SCTPOpponent {
    let victim = DataChannels()
    private let honest = DataChannels()
    private(set) var largestMessage = 0
    /// Tag and numbers that the victim expects.
    private var tag: [UInt8] = [0, 0, 0, 0]
    private var nextTSN: UInt32 = 0
    /// No timer is of use here, and the library's clock goes on with others that use it.
    private let now = Instant.zero + .seconds(1)

    init() throws(FuzzFailure) {
        victim.connect(isClient: true, remotePort: 5_000, now: now)
        honest.connect(isClient: false, remotePort: 5_000, now: now)
        // One of the victim's own, so that both sides' are there.
        _ = try? victim.open(DataChannelParameters(label: "own"), now: now)
        for _ in 0..<32 {
            while let packet = victim.pollTransmit() { honest.handle(packet.span.bytes, now: now) }
            while let packet = honest.pollTransmit() {
                note(packet)
                victim.handle(packet.span.bytes, now: now)
            }
        }
        try FuzzFailure.check(victim.isConnected && honest.isConnected, "the association was not made")
    }

    private func note(_ packet: [UInt8]) {
        guard packet.count >= 28 else { return }
        if packet[4..<8] != [0, 0, 0, 0] { tag = Array(packet[4..<8]) }
        // INIT and INIT ACK tell the first number, DATA its own.
        let offset =
            switch packet[12] {
            case 1, 2: 28
            case 0: 16
            default: 0
            }
        guard offset > 0, packet.count >= offset + 4 else { return }
        let number = packet[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        nextTSN = packet[12] == 0 ? number &+ 1 : number
    }

    func send(_ chunks: [UInt8]) {
        let packet = seal(renumber(chunks))
        victim.handle(packet.span.bytes, now: now)
        while victim.pollTransmit() != nil {}
        while let event = victim.pollEvent() {
            if case .message(_, let payload) = event { largestMessage = max(largestMessage, payload.byteCount) }
        }
    }

    /// Numbers of DATA and FORWARD TSN count from what is expected.
    private func renumber(_ chunks: [UInt8]) -> [UInt8] {
        var chunks = chunks
        var offset = 0
        while offset + 8 <= chunks.count {
            let length = Int(chunks[offset + 2]) << 8 | Int(chunks[offset + 3])
            if chunks[offset] == 0 || chunks[offset] == 192 {
                let number = chunks[offset + 4..<offset + 8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                chunks.replaceSubrange(offset + 4..<offset + 8, with: SCTPChunk.big(number &+ nextTSN))
            }
            guard length >= 4 else { break }
            offset += (length + 3) & ~3
        }
        return chunks
    }

    private func seal(_ chunks: [UInt8]) -> [UInt8] {
        var packet = SCTPChunk.big(UInt16(5_000)) + SCTPChunk.big(UInt16(5_000)) + tag + [0, 0, 0, 0] + chunks
        // CRC32c (RFC 9260 appendix A), which goes with its lowest byte first.
        var crc = UInt32.max
        for byte in packet {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
        }
        withUnsafeBytes(of: (~crc).littleEndian) { packet.replaceSubrange(8..<12, with: $0) }
        return packet
    }
}

extension Seeds {
    static func opening(using random: inout FuzzRandom) -> [UInt8] {
        var parameters = DataChannelParameters(label: String(repeating: "ä", count: random.number(below: 20)))
        parameters.subprotocol = random.chance(percent: 50) ? "json" : ""
        parameters.isOrdered = random.chance(percent: 50)
        switch random.number(below: 3) {
        case 0: parameters.reliability = .maxRetransmits(random.short())
        case 1: parameters.reliability = .maxPacketLifeTime(random.short())
        default: break
        }
        return random.chance(percent: 10) ? DCEPMessage.acknowledge.bytes : DCEPMessage.open(parameters).bytes
    }

    /// Packets of a peer with the keys, without their headers.
    static func chunks(using random: inout FuzzRandom) -> [UInt8] {
        var tsn: UInt32 = 1
        return Parts.joined(
            (0..<1 + random.number(below: 6)).map { _ in
                (0..<1 + random.number(below: 3)).flatMap { _ in chunk(&tsn, using: &random) }
            })
    }

    private static func chunk(_ tsn: inout UInt32, using random: inout FuzzRandom) -> [UInt8] {
        let stream = UInt16(random.number(below: 6))
        switch random.number(below: 10) {
        case 0, 1:
            defer { tsn += 1 }
            return SCTPChunk.data(tsn: tsn, stream: stream, ppid: 50, opening(using: &random))
        case 2, 3:
            defer { tsn += 1 }
            return SCTPChunk.data(
                tsn: tsn, stream: stream, ssn: UInt16(random.number(below: 3)),
                ppid: UInt32(50 + random.number(below: 8)), flags: UInt8(random.number(below: 8)),
                random.bytes(1 + random.number(below: 300)))
        case 4:  // SACK
            return SCTPChunk.make(
                3,
                SCTPChunk.big(random.word()) + SCTPChunk.big(UInt32(100_000)) + [0, 1, 0, 1]
                    + random.bytes(8))
        case 5:  // FORWARD TSN
            return SCTPChunk.make(
                192, SCTPChunk.big(UInt32(random.number(below: 4))) + SCTPChunk.big(stream) + [0, 0])
        case 6:  // RE-CONFIG with an outgoing reset request
            let request = [0, 13, 0, 18] + random.bytes(8) + SCTPChunk.big(tsn) + SCTPChunk.big(stream) + [0, 0]
            return SCTPChunk.make(130, request)
        case 7: return SCTPChunk.make(4, [0, 1, 0, 12] + random.bytes(8))
        case 8: return SCTPChunk.make(9, [0, UInt8(random.number(below: 14)), 0, 8] + random.bytes(4))
        default:  // INIT
            return SCTPChunk.make(
                1,
                random.bytes(4) + SCTPChunk.big(UInt32(100_000)) + [1, 0, 1, 0] + random.bytes(4)
                    + [0xC0, 0, 0, 4, 0x80, 8, 0, 6, 0xC0, 130, 0, 0])
        }
    }
}
