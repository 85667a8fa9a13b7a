import EmisoraCore

/// Puts lost packets of one stream together again from its ULPFEC packets (RFC 5109), which share its SSRC and its
/// sequence numbers.
///
/// ```swift
/// receiver.handleMedia(packet, number: number)
/// receiver.handleParity(payload, number: number)
/// while let packet = receiver.pollRecovered() { … }
/// ```
struct ULPFECReceiver: Sendable {
    struct Recovered: Equatable, Sendable {
        var number: Int64
        /// A whole RTP packet.
        var packet: [UInt8]
    }

    private struct Group: Sendable {
        var numbers: [Int64]
        var parity: ProtectedBits
    }

    /// Media packets and parity packets that are kept: a second or two of a stream of some megabits.
    private static let mediaLimit = 512
    private static let groupLimit = 64
    /// A parity packet follows what it protects closely.
    private static let longestDistance: Int64 = 256

    private let ssrc: UInt32
    private let extensionIDs: HeaderExtensionIDs
    private var media: [Int64: ProtectedBits] = [:]
    private var highest: Int64 = .min
    private var groups: [Group] = []
    private var recovered: [Recovered] = []

    init(ssrc: UInt32, extensionIDs: HeaderExtensionIDs = HeaderExtensionIDs()) {
        self.ssrc = ssrc
        self.extensionIDs = extensionIDs
    }

    /// Takes a media packet as it was before it was put into RED.
    mutating func handleMedia(_ packet: RawSpan, number: Int64) {
        guard media[number] == nil, let bits = ProtectedBits(of: packet, ids: extensionIDs) else { return }
        insert(bits, number: number)
        recover()
    }

    /// Takes the payload of a parity packet that came with that number; `false` if it is of no use.
    mutating func handleParity(_ payload: RawSpan, number: Int64) -> Bool {
        guard let packet = ULPFECPacket(parsing: payload) else { return false }
        let distance = Int64(UInt16(truncatingIfNeeded: number) &- packet.baseSequenceNumber)
        guard distance <= Self.longestDistance else { return false }
        let base = number - distance
        let group = Group(numbers: packet.distances.map { base + Int64($0) }, parity: packet.parity)
        // One whose packets are all here has nothing to give.
        guard group.numbers.contains(where: { media[$0] == nil }) else { return false }
        if groups.count == Self.groupLimit { groups.removeFirst() }
        groups.append(group)
        recover()
        return true
    }

    mutating func pollRecovered() -> Recovered? {
        recovered.isEmpty ? nil : recovered.removeFirst()
    }

    /// For tests of the bounds.
    var keptCount: Int { media.count + groups.count }

    private mutating func insert(_ bits: ProtectedBits, number: Int64) {
        media[number] = bits
        highest = max(highest, number)
        guard media.count > Self.mediaLimit else { return }
        let floor = highest - Int64(Self.mediaLimit / 2)
        media = media.filter { $0.key >= floor }
        groups.removeAll { $0.numbers.allSatisfy { $0 < floor } }
    }

    /// Goes on as long as some group lacks exactly one packet: each recovered one may complete another group.
    private mutating func recover() {
        var hasProgressed = true
        while hasProgressed {
            hasProgressed = false
            for index in groups.indices.reversed() {
                let missing = groups[index].numbers.filter { media[$0] == nil }
                guard missing.count <= 1 else { continue }
                let group = groups.remove(at: index)
                guard let number = missing.first, let packet = restore(number, from: group),
                    let bits = ProtectedBits(of: packet.span.bytes, ids: extensionIDs)
                else { continue }
                recovered.append(Recovered(number: number, packet: packet))
                insert(bits, number: number)
                hasProgressed = true
                break
            }
        }
    }

    private func restore(_ number: Int64, from group: Group) -> [UInt8]? {
        var bits = group.parity
        let protectedByteCount = bits.body.count
        for other in group.numbers where other != number {
            guard let received = media[other] else { return nil }
            bits.combine(received)
        }
        bits.body.removeLast(max(0, bits.body.count - protectedByteCount))
        return bits.packet(sequenceNumber: UInt16(truncatingIfNeeded: number), ssrc: ssrc)
    }
}
