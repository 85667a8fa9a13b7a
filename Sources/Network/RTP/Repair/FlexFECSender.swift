import EmisoraCore

/// Makes the repair packets of one media stream: parity over the packets of a picture, interleaved, so that losses in a
/// row fall into different groups. A stream of its own, with its own SSRC and sequence numbers.
///
/// ```swift
/// sender.protection = 0.25                       // one repair packet for four media packets
/// sender.handleMedia(packet)                     // each packet as it leaves
/// if isLastOfPicture { sender.finishGroup() }
/// while let byteCount = sender.pollPacket(into: &buffer) { … }
/// ```
struct FlexFECSender: Sendable {
    struct Configuration: Equatable, Sendable {
        var ssrc: UInt32
        var payloadType: UInt8
        var mediaSSRC: UInt32
        /// Written into repair packets, too.
        var extensions: HeaderExtensionBlock?
        var extensionIDs = HeaderExtensionIDs()
        /// Media packets that are protected together at most; the rest of a picture begins a new group.
        var groupLimit = 48
    }

    private struct Member: Sendable {
        var sequenceNumber: UInt16
        var bits: ProtectedBits
    }

    private(set) var configuration: Configuration
    /// Repair packets for each media packet, 0…1; with 0 nothing is kept and nothing sent.
    var protection = 0.0
    private var nextSequenceNumber: UInt16
    private var members: [Member] = []
    private var timestamp: UInt32 = 0
    private var ready: [FlexFECPacket] = []

    init(_ configuration: Configuration, using generator: inout some RandomNumberGenerator) {
        self.configuration = configuration
        nextSequenceNumber = UInt16(truncatingIfNeeded: generator.next())
    }

    var hasPackets: Bool { !ready.isEmpty }

    /// Takes a plain media packet that is sent for the first time.
    mutating func handleMedia(_ packet: RawSpan) {
        guard protection > 0, packet.byteCount >= RTPHeader.fixedByteCount,
            let bits = ProtectedBits(of: packet, ids: configuration.extensionIDs)
        else { return }
        let number = UInt16(bigEndian: packet.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self))
        if let first = members.first, number &- first.sequenceNumber > FlexFECPacket.maximumDistance { finishGroup() }
        timestamp = bits.timestamp
        members.append(Member(sequenceNumber: number, bits: bits))
        if members.count >= configuration.groupLimit { finishGroup() }
    }

    /// The picture is complete: its repair packets follow.
    mutating func finishGroup() {
        defer { members.removeAll(keepingCapacity: true) }
        guard protection > 0, let first = members.first else { return }
        let share = min(protection, 1) * Double(members.count)
        let count = max(1, min(members.count, Int(share.rounded(.up))))
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

    /// Writes the next repair packet as plain RTP and answers its size; `nil` when none waits.
    mutating func pollPacket(
        into buffer: inout MutableRawSpan, values: HeaderExtensionValues = HeaderExtensionValues()
    ) -> Int? {
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
                return writer.count
            } catch {
                // One that does not fit is left out; the media packets are there all the same.
            }
        }
        return nil
    }
}
