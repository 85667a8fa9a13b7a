import EmisoraCore
import EmisoraCrypto
import EmisoraDTLS
import EmisoraRTP
import EmisoraSTUN
import EmisoraTURN

/// Messages of their own: what is read is written, and read again the same.
extension FuzzTarget {
    func fuzzSTUN(_ bytes: [UInt8]) throws(FuzzFailure) {
        _ = STUNUsername.localFragment(of: bytes.span.bytes)
        guard let message = try? STUNMessage(parsing: bytes.span.bytes) else { return }
        let key = HMACSHA1Key(Array("password".utf8).span.bytes)
        _ = message.isAuthentic(in: bytes.span.bytes, key: key)
        _ = message.isAuthentic(in: bytes.span.bytes, .sha256(HMACSHA256Key(Array("password".utf8).span.bytes)))
        try FuzzFailure.check(STUNMessage.looksLikeSTUN(bytes.span.bytes), "what was read does not look like STUN")
    }

    /// However a stream is cut into pieces, the same messages come out of it.
    func fuzzFramer(_ bytes: [UInt8]) throws(FuzzFailure) {
        func messages(pieces size: Int) -> [[UInt8]] {
            var framer = TURNStreamFramer()
            var found: [[UInt8]] = []
            var start = 0
            while start < bytes.count {
                let piece = Array(bytes[start..<min(bytes.count, start + size)])
                start += piece.count
                guard (try? framer.append(piece.span.bytes)) != nil else { return found }
                while let message = try? framer.next() { found.append(message) }
            }
            return found
        }
        let whole = messages(pieces: max(1, bytes.count))
        for size in [1, 3, 20] where bytes.count < 4_096 {
            try FuzzFailure.check(messages(pieces: size) == whole, "pieces of \(size) bytes give other messages")
        }
    }

    func fuzzRTP(_ bytes: [UInt8]) throws(FuzzFailure) {
        let packet = bytes.span.bytes
        guard let header = try? RTPHeader(parsing: packet) else { return }
        try FuzzFailure.check(
            header.payload.upperBound <= bytes.count && header.extensionRange.upperBound <= bytes.count,
            "a header's ranges lie outside the packet")
        var extensions = HeaderExtensions(of: header, in: packet)
        var count = 0
        while let element = extensions.next() {
            count += 1
            _ = extensions.value(of: element).byteCount
            _ = extensions.text(of: element.id)
        }
        try FuzzFailure.check(count <= bytes.count, "more header extensions than bytes")
        var ids = HeaderExtensionIDs()
        for (number, kind) in HeaderExtensionIDs.Kind.allCases.enumerated() { ids[kind] = UInt8(number + 1) }
        let values = HeaderExtensionValues(of: header, in: packet, ids: ids)
        _ = RTXPacket.original(of: header, in: packet)

        var again = [UInt8](repeating: 0, count: 2_048)
        var span = again.mutableSpan
        var buffer = span.mutableBytes
        guard let block = try? HeaderExtensionBlock([], ids: ids),
            let written = try? header.write(into: &buffer, extensions: block, values: values)
        else { return }
        let copy = Array(again[..<written])
        let read = try? RTPHeader(parsing: copy.span.bytes)
        try FuzzFailure.check(
            read?.ssrc == header.ssrc && read?.sequenceNumber == header.sequenceNumber
                && read?.timestamp == header.timestamp && read?.marker == header.marker
                && read?.payloadType == header.payloadType && read?.contributingSources == header.contributingSources,
            "a header is written otherwise than it was read")
        guard let read else { return }
        try FuzzFailure.check(
            HeaderExtensionValues(of: read, in: copy.span.bytes, ids: ids) == values,
            "header extensions are written otherwise than they were read: \(values)")
    }

    func fuzzRTCP(_ bytes: [UInt8]) throws(FuzzFailure) {
        var reader = RTCPReader(bytes.span.bytes)
        var count = 0
        while let packet = try? reader.next() {
            count += 1
            try FuzzFailure.check(count <= bytes.count, "more RTCP packets than bytes")
            try Self.checkWriting(packet)
        }
    }

    private static func checkWriting(_ packet: RTCPPacket) throws(FuzzFailure) {
        guard let again = try rewritten(packet) else { return }
        switch (packet, again) {
        case (.nack(let before), .nack(let after)):
            // Its numbers come back in their order, each once.
            try FuzzFailure.check(
                Set(before.sequenceNumbers) == Set(after.sequenceNumbers), "a NACK asks for other packets: \(before)")
        case (.receiverEstimatedMaximumBitrate, .receiverEstimatedMaximumBitrate),
            (.temporaryMaximumBitrate, .temporaryMaximumBitrate):
            // Rates beyond all bounds are held at the largest one, which is written rounded.
            try FuzzFailure.check(try rewritten(again) == again, "\(again) is written otherwise")
        default:
            try FuzzFailure.check(again == packet, "\(packet) is written as \(again)")
        }
    }

    /// `nil`: it cannot be written, as an empty list that others may send and we would not.
    private static func rewritten(_ packet: RTCPPacket) throws(FuzzFailure) -> RTCPPacket? {
        var bytes = [UInt8](repeating: 0, count: 70_000)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        var writer = RTCPWriter(&buffer, form: .reducedSize)
        do throws(RTPError) {
            switch packet {
            case .senderReport(let report): try writer.write(report)
            case .receiverReport(let report): try writer.write(report)
            case .sourceDescription(let description): try writer.write(description)
            case .goodbye(let goodbye): try writer.write(goodbye)
            case .nack(let nack): try writer.write(nack)
            case .pictureLossIndication(let indication): try writer.write(indication)
            case .fullIntraRequest(let request): try writer.write(request)
            case .receiverEstimatedMaximumBitrate(let estimate): try writer.write(estimate)
            case .temporaryMaximumBitrate(let message): try writer.write(message)
            case .transportWideFeedback(let feedback): try writer.write(feedback)
            case .congestionControlFeedback(let feedback): try writer.write(feedback)
            case .extendedReport(let report): try writer.write(report)
            case .other: return nil
            }
        } catch {
            return nil
        }
        let byteCount = writer.byteCount
        let written = Array(bytes[..<byteCount])
        var reader = RTCPReader(written.span.bytes)
        guard let again = try? reader.next() else { throw FuzzFailure("\(packet) is written so that nobody reads it") }
        return again
    }

    func fuzzVP8(_ bytes: [UInt8]) throws(FuzzFailure) {
        _ = VP8FrameHeader(parsing: bytes.span.bytes)
        _ = OpusPacket.durationInTicks(of: bytes.span.bytes)
        guard let (descriptor, byteCount) = try? VP8PayloadDescriptor.parse(bytes.span.bytes) else { return }
        try FuzzFailure.check(byteCount < bytes.count, "a descriptor leaves no payload")
        let written = descriptor.bytes
        var copy = (0..<written.count).map { written[$0] }
        copy.append(0)
        let again = try? VP8PayloadDescriptor.parse(copy.span.bytes)
        try FuzzFailure.check(again?.descriptor == descriptor, "a descriptor is written otherwise: \(descriptor)")
    }

    func fuzzRepair(_ bytes: [UInt8]) throws(FuzzFailure) {
        let payload = bytes.span.bytes
        for block in REDPayload.blocks(of: payload) {
            try FuzzFailure.check(
                block.range.lowerBound >= 0 && block.range.upperBound <= bytes.count, "a RED block lies outside")
        }
        if let packet = ULPFECPacket(parsing: payload) {
            try FuzzFailure.check(packet.distances.count <= 48, "a ULPFEC packet protects \(packet.distances.count)")
        }
        if let packet = FlexFECPacket(parsing: payload) {
            try FuzzFailure.check(packet.distances.count <= 109, "a FlexFEC packet protects \(packet.distances.count)")
        }
    }

    /// Before the handshake is done anything may come by the path, in the clear.
    func fuzzDTLS(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let transport = try? DTLSTransport(context: Seeds.dtlsContext) else { return }
        var now = Instant.zero + .seconds(1)
        transport.setExpectedFingerprints([Seeds.dtlsContext.certificate.fingerprint], now: now)
        transport.start(role: bytes.first ?? 0 & 1 == 0 ? .server : .client, now: now)
        var buffer = [UInt8](repeating: 0, count: 2_048)
        func drain() -> Int {
            var sent = 0
            for _ in 0..<100 {
                var span = buffer.mutableSpan
                var raw = span.mutableBytes
                guard let count = transport.pollTransmit(into: &raw) else { break }
                sent += count
            }
            return sent
        }
        var sent = drain()
        var received = 0
        for part in Parts(Array(bytes.dropFirst())) {
            transport.handle(part.span.bytes, now: now)
            received += part.count
            now = now + .milliseconds(1)
            sent += drain()
            while let event = transport.pollEvent() {
                if case .connected = event { throw FuzzFailure("noise connects") }
            }
        }
        // A server's flight is some 1200 bytes with its certificate; a ClientHello that asks for it is much shorter.
        try FuzzFailure.check(sent <= 4_096 + 16 * received, "\(received) bytes were answered with \(sent)")
    }
}
