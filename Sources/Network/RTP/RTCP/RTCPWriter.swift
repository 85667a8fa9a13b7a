import EmisoraCore

/// Writes the packets of one compound RTCP packet, or of a reduced-size one, into memory of the caller.
///
/// In a compound packet the reports, SR or RR, must come first and SDES after them (RFC 3550 §6.1); other orders throw
/// before anything is written. A packet that does not fit leaves what was written before it valid.
///
/// ```swift
/// var writer = RTCPWriter(&buffer, form: .compound)
/// try writer.write(report)
/// try writer.write(SourceDescription(chunks: [.init(ssrc: ssrc, cname: cname)]))
/// try writer.write(nack)
/// return writer.byteCount
/// ```
package struct RTCPWriter: ~Copyable, ~Escapable {
    package enum Form: Equatable, Sendable {
        case compound
        /// Without reports in front; only when `a=rtcp-rsize` was negotiated (RFC 5506 §4.1).
        case reducedSize
    }

    private enum Expectation {
        case report
        case sourceDescription
        case anything
    }

    private var writer: ByteWriter
    private var expectation: Expectation
    /// The end of the last packet that was written whole.
    package private(set) var byteCount = 0

    @_lifetime(&buffer)
    package init(_ buffer: inout MutableRawSpan, form: Form) {
        writer = ByteWriter(&buffer)
        expectation = form == .compound ? .report : .anything
    }

    /// Bytes left in the caller's memory.
    package var freeCapacity: Int { writer.freeCapacity }

    @_lifetime(self: copy self)
    package mutating func write(_ report: SenderReport) throws(RTPError) {
        let words = 6 + 6 * report.reports.count
        try begin(.senderReport, count: report.reports.count, words: words, completes: .report)
        do throws(ByteError) {
            try writer.writeInteger(report.ssrc)
            try writer.writeInteger(report.ntpTimestamp.rawValue)
            try writer.writeInteger(report.rtpTimestamp)
            try writer.writeInteger(report.packetCount)
            try writer.writeInteger(report.octetCount)
            for block in report.reports { try write(block) }
        } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    @_lifetime(self: copy self)
    package mutating func write(_ report: ReceiverReport) throws(RTPError) {
        let words = 1 + 6 * report.reports.count
        try begin(.receiverReport, count: report.reports.count, words: words, completes: .report)
        do throws(ByteError) {
            try writer.writeInteger(report.ssrc)
            for block in report.reports { try write(block) }
        } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    /// Writes the chunks with their CNAMEs, of at most 255 bytes each.
    @_lifetime(self: copy self)
    package mutating func write(_ description: SourceDescription) throws(RTPError) {
        var words = 0
        for chunk in description.chunks {
            let length = chunk.cname?.utf8.count ?? 0
            guard length <= 255 else { throw .valueOutOfRange(field: "CNAME length") }
            words += Self.chunkWords(cnameLength: chunk.cname == nil ? nil : length)
        }
        try begin(
            .sourceDescription, count: description.chunks.count, words: words, completes: .sourceDescription)
        do throws(ByteError) {
            for chunk in description.chunks {
                let start = writer.count
                try writer.writeInteger(chunk.ssrc)
                if let cname = chunk.cname {
                    let bytes = Array(cname.utf8)
                    try writer.writeInteger(UInt8(1))
                    try writer.writeInteger(UInt8(bytes.count))
                    try writer.writeBytes(bytes.span.bytes)
                }
                // One to four zero bytes: the end of the list and the filling up to the border.
                try writer.writeZeros(4 - (writer.count - start) % 4)
            }
        } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    @_lifetime(self: copy self)
    package mutating func write(_ goodbye: Goodbye) throws(RTPError) {
        try begin(.goodbye, count: goodbye.sources.count, words: goodbye.sources.count, completes: .anything)
        do throws(ByteError) {
            for source in goodbye.sources { try writer.writeInteger(source) }
        } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    @_lifetime(self: copy self)
    package mutating func write(_ nack: GenericNACK) throws(RTPError) {
        let items = nack.items
        guard !items.isEmpty else { throw .valueOutOfRange(field: "NACK without sequence numbers") }
        try begin(.transportFeedback, count: 1, words: 2 + items.count, completes: .anything)
        do throws(ByteError) {
            try writer.writeInteger(nack.senderSSRC)
            try writer.writeInteger(nack.mediaSSRC)
            for item in items {
                try writer.writeInteger(item.packetID)
                try writer.writeInteger(item.lostPackets)
            }
        } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    @_lifetime(self: copy self)
    package mutating func write(_ indication: PictureLossIndication) throws(RTPError) {
        try begin(.payloadSpecificFeedback, count: 1, words: 2, completes: .anything)
        do throws(ByteError) {
            try writer.writeInteger(indication.senderSSRC)
            try writer.writeInteger(indication.mediaSSRC)
        } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    @_lifetime(self: copy self)
    package mutating func write(_ request: FullIntraRequest) throws(RTPError) {
        try begin(.payloadSpecificFeedback, count: 4, words: 2 + 2 * request.entries.count, completes: .anything)
        do throws(ByteError) {
            try writer.writeInteger(request.senderSSRC)
            // The media SSRC is unused and zero; the entries name their targets (RFC 5104 §4.3.1.2).
            try writer.writeInteger(UInt32(0))
            for entry in request.entries {
                try writer.writeInteger(entry.ssrc)
                try writer.writeInteger(entry.sequenceNumber)
                try writer.writeZeros(3)
            }
        } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    @_lifetime(self: copy self)
    package mutating func write(_ estimate: ReceiverEstimatedMaximumBitrate) throws(RTPError) {
        guard estimate.sources.count <= 255, estimate.bitrate.bitsPerSecond >= 0 else {
            throw .valueOutOfRange(field: "REMB")
        }
        try begin(.payloadSpecificFeedback, count: 15, words: 4 + estimate.sources.count, completes: .anything)
        let (mantissa, exponent) = estimate.bitrate.mantissaAndExponent(mantissaBits: 18)
        do throws(ByteError) {
            try writer.writeInteger(estimate.senderSSRC)
            try writer.writeInteger(UInt32(0))
            try writer.writeInteger(UInt32(0x5245_4D42))
            try writer.writeInteger(UInt8(estimate.sources.count))
            try writer.writeUInt24(UInt32(exponent) << 18 | UInt32(mantissa))
            for source in estimate.sources { try writer.writeInteger(source) }
        } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    /// Writes any other packet: TMMBR, TMMBN, transport feedback, XR.
    @_lifetime(self: copy self)
    package mutating func write(_ message: some RTCPMessage) throws(RTPError) {
        let words = try message.bodyWordCount()
        try begin(message.packetType, count: Int(message.format), words: words, completes: .anything)
        do throws(ByteError) { try message.writeBody(to: &writer) } catch { throw RTPError(error) }
        byteCount = writer.count
    }

    /// Checks order and room for the whole packet, then writes its head; after this nothing fails half-way.
    @_lifetime(self: copy self)
    private mutating func begin(
        _ type: RTCPPacketType, count: Int, words: Int, completes: Expectation
    ) throws(RTPError) {
        guard count <= 31 else { throw .valueOutOfRange(field: "RTCP count, at most 31") }
        guard words <= Int(UInt16.max) else { throw .valueOutOfRange(field: "RTCP length") }
        // More reports may stand before the SDES, one for each of the sender's own sources.
        let isFurtherReport = expectation == .sourceDescription && completes == .report
        guard expectation == .anything || expectation == completes || isFurtherReport else { throw .compoundOrder }
        let needed = 4 + 4 * words
        guard writer.freeCapacity >= needed else {
            throw .bufferFull(needed: needed, available: writer.freeCapacity)
        }
        do throws(ByteError) {
            try writer.writeInteger(0x80 | UInt8(count))
            try writer.writeInteger(type.rawValue)
            try writer.writeInteger(UInt16(words))
        } catch { throw RTPError(error) }
        if expectation == .report {
            expectation = .sourceDescription
        } else if !isFurtherReport {
            expectation = .anything
        }
    }

    @_lifetime(self: copy self)
    private mutating func write(_ block: ReportBlock) throws(ByteError) {
        let lost = max(-0x80_0000, min(0x7F_FFFF, block.cumulativeLost))
        try writer.writeInteger(block.ssrc)
        try writer.writeInteger(block.fractionLost)
        try writer.writeUInt24(UInt32(bitPattern: lost) & 0xFF_FFFF)
        try writer.writeInteger(block.extendedHighestSequenceNumber)
        try writer.writeInteger(block.jitter)
        try writer.writeInteger(block.lastSenderReport)
        try writer.writeInteger(block.delaySinceLastSenderReport)
    }

    private static func chunkWords(cnameLength: Int?) -> Int {
        let filled = 4 + (cnameLength.map { $0 + 2 } ?? 0)
        return (filled + 4 - filled % 4) / 4
    }
}
