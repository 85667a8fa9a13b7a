import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct FuzzTests {
    /// Random bytes, half of them with a plausible start, through everything that reads packets.
    @Test(arguments: [11, 22, 33, 44] as [UInt64]) func randomBytesNeverTrap(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var read = 0
        for round in 0..<30_000 {
            var bytes = generator.bytes(generator.number(below: 72))
            if round % 2 == 0, bytes.count >= 4 {
                bytes[0] = 0x80 | bytes[0] & 0x3F
                if round % 4 == 0 {
                    bytes[1] = 200 + bytes[1] % 8
                    bytes[2] = 0
                    bytes[3] = bytes[3] % 18
                    // Mostly the formats of transport feedback that there are.
                    let format = [1, 3, 4, 11, 15][round / 4 % 5] as UInt8
                    if bytes[1] == 205, round % 8 == 0 { bytes[0] = bytes[0] & 0xE0 | format }
                } else {
                    bytes[0] &= 0xDF
                }
            }
            if let header = try? RTPHeader(parsing: bytes.span.bytes) {
                read += 1
                var extensions = HeaderExtensions(of: header, in: bytes.span.bytes)
                while let element = extensions.next() { read += extensions.value(of: element).byteCount > 0 ? 1 : 0 }
                let values = HeaderExtensionValues(of: header, in: bytes.span.bytes, ids: .everyID)
                if values != HeaderExtensionValues() { read += 1 }
                if RTXPacket.original(of: header, in: bytes.span.bytes) != nil { read += 1 }
            }
            var reader = RTCPReader(bytes.span.bytes)
            while let packet = try? reader.next() { if case .other = packet {} else { read += 1 } }
            _ = try? VP8PayloadDescriptor.parse(bytes.span.bytes)
            _ = VP8FrameHeader(parsing: bytes.span.bytes)
            _ = OpusPacket.durationInTicks(of: bytes.span.bytes)
        }
        #expect(read > 5_000)
    }

    /// Random packets that pass the header checks, and random feedback, through whole streams: no trap, bounded memory.
    @Test(arguments: [5, 6] as [UInt64]) func randomPacketsNeverTrapAStream(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var video = RTPVideoReceiveStream(receiverConfiguration(rtx: true))
        var audio = RTPAudioReceiveStream(.init(payloadType: 111))
        var sender = RTPSendStream(senderConfiguration(rtx: true), using: &generator)
        let wallClock = WallClock(unixNanosecondsAtZero: 0)
        var frames = 0
        var milliseconds = 0
        for round in 0..<20_000 {
            milliseconds += generator.number(below: 12)
            let now = at(milliseconds)
            let isAudio = generator.chance(percent: 30)
            // Mostly a stretch of numbers that moves on, so that the packets get past the checks of the sequence.
            var number = UInt16(truncatingIfNeeded: round / 2 + generator.number(below: 20))
            if generator.chance(percent: 2) { number = UInt16(truncatingIfNeeded: generator.next()) }
            var packet: [UInt8] = [0x80, isAudio ? 111 : 96 + UInt8(generator.number(below: 2))]
            packet[1] |= generator.chance(percent: 50) ? 0x80 : 0
            packet += [UInt8(number >> 8), UInt8(number & 0xFF)] + [0, 0, UInt8(number >> 8), UInt8(number & 0xFE)]
            packet += [0, 0, 0, packet[1] & 0x7F == 97 ? 2 : 1] + generator.bytes(generator.number(below: 12))
            let header = try RTPHeader(parsing: packet.span.bytes)
            if isAudio {
                audio.handle(header, packet: packet.span.bytes, now: now)
                if generator.chance(percent: 50) { _ = audio.pop(now: now) }
            } else {
                video.handle(header, packet: packet.span.bytes, now: now)
                if generator.chance(percent: 10) { video.handleTimeout(now: now) }
                while video.pollFrame(now: now) != nil { frames += 1 }
                while let feedback = video.pollFeedback(now: now) {
                    if case .nack(let numbers) = feedback { sender.handleNACK(numbers, now: now) }
                }
            }
            let block = ReportBlock(
                ssrc: generator.chance(percent: 50) ? 0x1111 : 1,
                fractionLost: UInt8(truncatingIfNeeded: generator.next()),
                cumulativeLost: Int32(truncatingIfNeeded: generator.next()),
                jitter: UInt32(truncatingIfNeeded: generator.next()),
                lastSenderReport: UInt32(truncatingIfNeeded: generator.next()),
                delaySinceLastSenderReport: UInt32(truncatingIfNeeded: generator.next()))
            _ = sender.handle(
                .receiverReport(.init(ssrc: 1, reports: [block])), wallClock: wallClock, now: now)
            let report = SenderReport(
                ssrc: 1, ntpTimestamp: NTPTimestamp(rawValue: generator.next()),
                rtpTimestamp: UInt32(truncatingIfNeeded: generator.next()), packetCount: 0, octetCount: 0)
            video.handle(.senderReport(report), now: now)
            _ = video.senderClock.age(of: header.timestamp, wallClock: wallClock, now: now)
            if generator.chance(percent: 5) { _ = video.reportBlock(now: now) }
        }
        #expect(frames > 0)
        #expect(video.statistics.packetsReceived > 10_000)
    }
}
