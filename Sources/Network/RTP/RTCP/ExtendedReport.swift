import EmisoraCore

/// XR, of which the two blocks are kept that let a receiver measure the round trip: its reference time, and the sender's
/// answer to it (RFC 3611 §4.4, §4.5). Other blocks are skipped by their length.
package struct ExtendedReport: Equatable, Sendable {
    /// DLRR: what a sender answers to one receiver's reference time.
    package struct Delay: Equatable, Sendable {
        /// The receiver that is answered.
        package var ssrc: UInt32
        /// The middle 32 bits of its reference time, 0 if none came.
        package var lastReceiverReport: UInt32
        /// Between receiving that and sending this, in 1/65536 s.
        package var delaySinceLastReceiverReport: UInt32

        package init(ssrc: UInt32, lastReceiverReport: UInt32, delaySinceLastReceiverReport: UInt32) {
            self.ssrc = ssrc
            self.lastReceiverReport = lastReceiverReport
            self.delaySinceLastReceiverReport = delaySinceLastReceiverReport
        }
    }

    /// A report that has more is read up to it.
    package static let delayLimit = 64

    package var ssrc: UInt32
    /// RRTR: the receiver's wall-clock time when it sent this.
    package var receiverReferenceTime: NTPTimestamp?
    package var delays: [Delay]

    package init(ssrc: UInt32, receiverReferenceTime: NTPTimestamp? = nil, delays: [Delay] = []) {
        self.ssrc = ssrc
        self.receiverReferenceTime = receiverReferenceTime
        self.delays = delays
    }

    private static let referenceTimeBlock: UInt8 = 4
    private static let delayBlock: UInt8 = 5

    @_lifetime(reader: copy reader)
    static func parse(_ reader: inout ByteReader) throws(ByteError) -> ExtendedReport {
        var report = ExtendedReport(ssrc: try reader.readInteger())
        while reader.remaining >= 4 {
            let type: UInt8 = try reader.readInteger()
            try reader.skip(1)
            let words = Int(try reader.readInteger(UInt16.self))
            var block = ByteReader(try reader.readBytes(4 * words))
            switch type {
            case referenceTimeBlock where words == 2:
                report.receiverReferenceTime = NTPTimestamp(rawValue: try block.readInteger())
            case delayBlock:
                while block.remaining >= 12, report.delays.count < delayLimit {
                    report.delays.append(
                        Delay(
                            ssrc: try block.readInteger(), lastReceiverReport: try block.readInteger(),
                            delaySinceLastReceiverReport: try block.readInteger()))
                }
            default:
                break
            }
        }
        return report
    }
}

extension ExtendedReport: RTCPMessage {
    package var packetType: RTCPPacketType { .extendedReport }
    package var format: UInt8 { 0 }

    package func bodyWordCount() throws(RTPError) -> Int {
        1 + (receiverReferenceTime == nil ? 0 : 3) + (delays.isEmpty ? 0 : 1 + 3 * delays.count)
    }

    @_lifetime(writer: copy writer)
    package func writeBody(to writer: inout ByteWriter) throws(ByteError) {
        try writer.writeInteger(ssrc)
        if let receiverReferenceTime {
            try writer.writeInteger(UInt32(Self.referenceTimeBlock) << 24 | 2)
            try writer.writeInteger(receiverReferenceTime.rawValue)
        }
        guard !delays.isEmpty else { return }
        try writer.writeInteger(UInt32(Self.delayBlock) << 24 | UInt32(UInt16(clamping: 3 * delays.count)))
        for delay in delays {
            try writer.writeInteger(delay.ssrc)
            try writer.writeInteger(delay.lastReceiverReport)
            try writer.writeInteger(delay.delaySinceLastReceiverReport)
        }
    }
}
