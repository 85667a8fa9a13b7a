import EmisoraCore

/// Makes the repair packets of one media stream: parity over the packets of a picture, interleaved, so that losses in a
/// row fall into different groups. Where pictures are so small that a parity packet for each would exceed the share, it
/// is over several of them. A stream of its own, with its own SSRC and sequence numbers.
///
/// ```swift
/// sender.protection = 0.25                       // one repair packet for four media packets
/// sender.handleMedia(packet)                     // each packet as it leaves
/// if isLastOfPicture { sender.finishGroup() }
/// while let packet = sender.pollPacket(into: &buffer) { … }
/// ```
struct FlexFECSender: Sendable {
    struct Configuration: Equatable, Sendable {
        var ssrc: UInt32
        var payloadType: UInt8
        var mediaSSRC: UInt32
        /// Written into repair packets, too.
        var extensions: HeaderExtensionBlock?
        var extensionIDs = HeaderExtensionIDs()
        /// Media packets that are protected together at most; the rest of a picture begins a new group. With more the
        /// mask takes eight bytes more.
        var groupLimit = 46
        /// In ticks of the RTP clock: what is older is not protected any more, since it could be asked for sooner.
        var longestSpan: UInt32 = 9_000
    }

    private struct Member: Sendable {
        var sequenceNumber: UInt16
        var bits: ProtectedBits
    }

    /// A whole repair packet.
    private static let unit = 1_000_000

    private(set) var configuration: Configuration
    /// Repair packets for each media packet, 0…1, never exceeded on the long run; with 0 nothing is kept and nothing sent.
    var protection = 0.0 {
        didSet { if protection <= 0 { reset() } }
    }
    /// Repair packets that the media packets so far are owed, in millionths.
    private var credit = 0
    private var nextSequenceNumber: UInt16
    private var members: [Member] = []
    private var timestamp: UInt32 = 0
    private var ready: [FlexFECPacket] = []

    init(_ configuration: Configuration, using generator: inout some RandomNumberGenerator) {
        self.configuration = configuration
        // In the lower half, as RTPSendStream's.
        nextSequenceNumber = UInt16(truncatingIfNeeded: generator.next()) & 0x7FFF
    }

    var hasPackets: Bool { !ready.isEmpty }

    /// Follows a later description; numbers go on.
    mutating func renegotiate(payloadType: UInt8, extensions: HeaderExtensionBlock?) {
        configuration.payloadType = payloadType
        configuration.extensions = extensions
        configuration.extensionIDs = extensions?.ids ?? HeaderExtensionIDs()
    }

    /// Forgets what is gathered and what waits.
    mutating func discard() { reset() }

    /// Takes a plain media packet that is sent for the first time.
    mutating func handleMedia(_ packet: RawSpan) {
        guard protection > 0, packet.byteCount >= RTPHeader.fixedByteCount,
            let bits = ProtectedBits(of: packet, ids: configuration.extensionIDs)
        else { return }
        let number = UInt16(bigEndian: packet.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self))
        members.removeAll { number &- $0.sequenceNumber > FlexFECPacket.maximumDistance }
        timestamp = bits.timestamp
        members.append(Member(sequenceNumber: number, bits: bits))
        credit += Int((min(protection, 1) * Double(Self.unit)).rounded())
        guard members.count >= configuration.groupLimit else { return }
        finishGroup()
        if members.count >= configuration.groupLimit { members.removeFirst() }
    }

    /// The picture is complete: repair packets for it follow, if there is one to spare.
    mutating func finishGroup() {
        members.removeAll { timestamp &- $0.bits.timestamp > configuration.longestSpan }
        let count = min(members.count, credit / Self.unit)
        guard count > 0, let first = members.first else { return }
        defer { members.removeAll(keepingCapacity: true) }
        credit -= count * Self.unit
        for offset in 0..<count {
            var packet = FlexFECPacket(
                ssrc: configuration.mediaSSRC, baseSequenceNumber: first.sequenceNumber, distances: [],
                parity: ProtectedBits())
            for index in stride(from: offset, to: members.count, by: count) {
                packet.distances.append(members[index].sequenceNumber &- first.sequenceNumber)
                packet.parity.combine(members[index].bits)
            }
            ready.append(packet)
        }
    }

    private mutating func reset() {
        members.removeAll()
        ready.removeAll()
        credit = 0
    }

    /// Writes the next repair packet as plain RTP and answers its size; `nil` when none waits.
    mutating func pollPacket(
        into buffer: inout MutableRawSpan, values: HeaderExtensionValues = HeaderExtensionValues()
    ) -> (byteCount: Int, sequenceNumber: UInt16)? {
        while !ready.isEmpty {
            let packet = ready.removeFirst()
            let header = RTPHeader(
                marker: false, payloadType: configuration.payloadType, sequenceNumber: nextSequenceNumber,
                timestamp: timestamp, ssrc: configuration.ssrc)
            do throws(ByteError) {
                var writer = ByteWriter(&buffer)
                try header.write(to: &writer, extensions: configuration.extensions, values: values)
                try packet.write(to: &writer)
                nextSequenceNumber &+= 1
                return (writer.count, header.sequenceNumber)
            } catch {
                // One that does not fit is left out; the media packets are there all the same.
            }
        }
        return nil
    }
}
