import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// Loss repair beyond NACK between two whole peers.
@Suite struct RepairTests {
    private static let largestDatagram = 1_200

    // MARK: Sound

    private func call(seed: UInt64, loss: Double, hasRED: Bool) throws -> PublishedCall {
        let call = try PublishedCall(seed: seed, kilobits: nil, delay: 20) { offer, answer in
            guard !hasRED, answer.isEmpty else { return }
            offer = offer.replacing("SAVPF 111 112", with: "SAVPF 111").without("red/48000", "111/111")
        }
        call.run(until: 2)
        call.simulation.links[0].conditions.loss = loss
        call.run(until: 6)
        return call
    }

    @Test(arguments: 1...3) func soundWithSingleLossesHasNoHole(seed: UInt64) throws {
        var gaps: [Bool: Int] = [:]
        for hasRED in [true, false] {
            let call = try call(seed: seed, loss: 0.03, hasRED: hasRED)
            let (pulls, before) = (call.soundPulls, call.soundGaps)
            call.run(until: 36)
            gaps[hasRED] = call.soundGaps - before
            #expect(call.soundPulls - pulls == 1_500)
            let audio = try #require(call.receiver.statistics.inboundAudio)
            #expect(audio.packetsLost > 30)
            #expect((audio.packetsRepaired > 25) == hasRED, "\(audio)")
            #expect((try #require(call.sender.statistics.outboundAudio).fecPacketsSent > 1_000) == hasRED)
        }
        // What is left are losses in a row, of which there are some thirtieth as many.
        let (with, without) = (try #require(gaps[true]), try #require(gaps[false]))
        #expect(without > 30 && with <= 8 && with * 6 < without, "\(with) with RED, \(without) without")
    }

    @Test func soundIsPlainWhileNothingIsLostAndAgainHalfAMinuteLater() throws {
        let call = try call(seed: 4, loss: 0, hasRED: true)
        #expect(call.sender.statistics.outboundAudio?.fecPacketsSent == 0)
        call.simulation.links[0].conditions.loss = 0.05
        call.run(until: 12)
        #expect(call.sender.audioSender?.redundancyDepth ?? 0 > 0)
        #expect(call.sender.mediaBitrate < call.sender.sendDecision.targetBitrate)
        call.simulation.links[0].conditions.loss = 0
        call.run(until: 50)
        #expect(call.sender.audioSender?.redundancyDepth == 0)
        let sent = call.sender.statistics.outboundAudio?.fecPacketsSent
        call.run(until: 52)
        #expect(call.sender.statistics.outboundAudio?.fecPacketsSent == sent)
        #expect(call.sender.mediaBitrate == call.sender.sendDecision.targetBitrate)
    }

    @Test func oneOfTwoReceiversAloneGetsRED() throws {
        // They share each packetised frame.
        let frame = try OpusPacketizer.packetize(payload: [UInt8](repeating: 0x78, count: 80))
        let lossy = try call(seed: 5, loss: 0.05, hasRED: true)
        let clean = try call(seed: 6, loss: 0, hasRED: true)
        for call in [lossy, clean] {
            call.run(until: 10)
            #expect(call.sender.sendAudio(frame, captureTime: call.simulation.now, now: call.simulation.now) == .queued)
            call.run(until: 11)
        }
        #expect(frame.payload.count == 80)
        #expect(lossy.sender.statistics.outboundAudio?.fecPacketsSent ?? 0 > 0)
        #expect(clean.sender.statistics.outboundAudio?.fecPacketsSent == 0)
    }

    // MARK: Pictures

    /// Our receiver does not take FlexFEC: another one's offer has it.
    private func flexFECCall(seed: UInt64, loss: Double, delay: Int, kilobits: Int? = nil) throws -> PublishedCall {
        let call = try PublishedCall(seed: seed, kilobits: kilobits, delay: delay) { offer, answer in
            let video = " 96 97 98 99 100"
            if answer.isEmpty {
                offer = offer.replacing(video, with: video + " 45")
                    .replacing("a=rtpmap:96 ", with: "a=rtpmap:45 flexfec-03/90000\r\na=rtpmap:96 ")
                return
            }
            #expect(answer.contains(" 96 97 45\r\n") && answer.contains("a=ssrc-group:FEC-FR "))
            answer = answer.replacing(" 96 97 45", with: " 96 97").without(":45 ")
        }
        call.simulation.links[0].conditions.loss = loss
        return call
    }

    @Test(arguments: 1...3) func parityPacketsBringBackWhatWasLostByteForByte(seed: UInt64) throws {
        let call = try flexFECCall(seed: seed, loss: 0.03, delay: 60)
        let log = PacketLog(call)
        call.run(until: 20)
        let sent = try #require(call.sender.statistics.outboundVideo)
        let share = Double(sent.fecPacketsSent) / Double(sent.packetsSent)
        #expect(sent.fecPacketsSent > 100 && share < 0.25, "\(share)")
        #expect(log.largestDatagram <= Self.largestDatagram)
        let (lost, mended) = log.mend()
        // Of each group one can come back.
        #expect(lost > 50 && mended > lost / 2, "\(mended) of \(lost)")
        #expect(log.wrong == 0)
        // Media has made room for them, and pictures arrive nonetheless.
        #expect(call.sender.mediaBitrate < call.sender.sendDecision.targetBitrate)
        #expect(call.figures(5..<20).framesPerSecond > 25, "\(call.figures(5..<20))")
    }

    @Test func parityPacketsAreNotForShortRoundTripsNorForPathsWithoutLoss() throws {
        for (loss, delay) in [(0.03, 20), (0, 100)] {
            let call = try flexFECCall(seed: 3, loss: loss, delay: delay)
            call.run(until: 12)
            #expect(call.sender.statistics.outboundVideo?.fecPacketsSent == 0)
        }
    }

    @Test func whereNobodyTakesThemThereAreNone() throws {
        let call = try PublishedCall(seed: 2, kilobits: nil, delay: 80)
        call.simulation.links[0].conditions.loss = 0.05
        call.run(until: 12)
        #expect(call.sender.statistics.outboundVideo?.fecPacketsSent == 0)
        #expect(call.sender.videoSender?.protection == 0)
    }

    @Test func theyEndWithTheLossesAndTheRateIsWholeAgain() throws {
        let call = try flexFECCall(seed: 1, loss: 0.04, delay: 60)
        call.run(until: 15)
        #expect(call.sender.videoSender?.protection ?? 0 > 0)
        call.simulation.links[0].conditions.loss = 0
        call.run(until: 60)
        #expect(call.sender.videoSender?.protection == 0)
        let sent = call.sender.statistics.outboundVideo?.fecPacketsSent
        call.run(until: 62)
        #expect(call.sender.statistics.outboundVideo?.fecPacketsSent == sent)
        #expect(call.sender.mediaBitrate == call.ceiling)
    }

    @Test func onANarrowPathTheyDoNotAddToTheQueue() throws {
        let call = try flexFECCall(seed: 2, loss: 0.03, delay: 60, kilobits: 700)
        call.run(until: 40)
        let late = call.figures(20..<40)
        #expect(call.sender.statistics.outboundVideo?.fecPacketsSent ?? 0 > 100)
        #expect(late.loss < 0.08 && late.latency95 < 1_000 && late.bitsPerSecond > 0.35 * 700_000, "\(late)")
    }

    /// What libwebrtc sends: everything in RED, a parity packet behind each picture in the stream's own numbers.
    @Test("RFC 5109 §10: pictures in RED are taken, and what is lost of them comes back by their parity packets")
    func picturesInREDAreTakenAndMended() throws {
        var setup = Call<NullSecurity>.Setup()
        setup.changeAnswer = {
            $0.replacing(" 96 97\r\n", with: " 96 97 98 99 100\r\n")
                .replacing("a=rtpmap:96 ", with: "a=rtpmap:98 red/90000\r\na=rtpmap:100 ulpfec/90000\r\na=rtpmap:96 ")
                .replacing("a=fmtp:97 ", with: "a=rtpmap:99 rtx/90000\r\na=fmtp:99 apt=98\r\na=fmtp:97 ")
        }
        let call = try Call(setup)
        #expect(call.connect())
        var received = 0
        for picture in 0..<12 {
            let number = UInt16(picture * 3)
            func packet(_ offset: UInt16, _ payload: [UInt8], in type: UInt8) throws -> [UInt8] {
                var bytes = [UInt8](repeating: 0, count: 12)
                var span = bytes.mutableSpan
                var raw = span.mutableBytes
                let header = RTPHeader(
                    marker: offset == 1, payloadType: type, sequenceNumber: number + offset,
                    timestamp: UInt32(picture) * 3_000, ssrc: 77)
                _ = try header.write(into: &raw)
                return bytes + payload
            }
            let payloads: [[UInt8]] = [
                [0x90, 0x80, UInt8(picture), picture == 0 ? 0 : 1] + [UInt8](repeating: 7, count: 300 + picture),
                [0x80, 0x80, UInt8(picture)] + [UInt8](repeating: 9, count: 200),
            ]
            let media = try payloads.enumerated().map { try packet(UInt16($0), $1, in: 96) }
            var wrapped = try payloads.enumerated().map { try packet(UInt16($0), [96] + $1, in: 98) }
            wrapped.append(try packet(2, [100] + Self.parity(media[0], media[1]), in: 98))
            // Of each picture behind the first another packet is lost.
            for (index, packet) in wrapped.enumerated() where picture == 0 || index != picture % 3 {
                call.deliver(packet)
            }
            while let frame = call.receiver.pollVideoFrame(now: call.simulation.now) {
                #expect(frame.payload.count == 501 + picture)
                received += 1
            }
            call.run(.milliseconds(33))
        }
        #expect(received == 12)
        let video = try #require(call.receiver.statistics.inboundVideo)
        #expect(video.packetsRepaired == 7 && video.fecPacketsReceived == 8 && video.packetsLost == 10, "\(video)")
        #expect(video.fecPacketsDiscarded == 1)
        #expect(call.receiver.statistics.packetsDiscardedOnReceive == 0)
    }

    /// ULPFEC over two packets (RFC 5109 §7.3, §7.4).
    private static func parity(_ first: [UInt8], _ second: [UInt8]) -> [UInt8] {
        let length = max(first.count, second.count) - 12
        let lengths = (first.count - 12) ^ (second.count - 12)
        func sum(_ range: Range<Int>) -> [UInt8] {
            range.map { ($0 < first.count ? first[$0] : 0) ^ ($0 < second.count ? second[$0] : 0) }
        }
        return [0, sum(1..<2)[0]] + first[2..<4] + sum(4..<8) + [UInt8(lengths >> 8), UInt8(lengths & 0xFF)]
            + [UInt8(length >> 8), UInt8(length & 0xFF), 0xC0, 0] + sum(12..<12 + length)
    }

    // MARK: RFC 8888

    @Test func aPeerThatKnowsOnlyRFC8888IsFollowedAndTold() throws {
        let call = try PublishedCall(seed: 3, kilobits: 500) { offer, answer in
            if answer.isEmpty { offer = offer.without("transport-cc", "goog-remb") }
            #expect(answer.isEmpty || answer.contains("a=rtcp-fb:* ack ccfb\r\n"))
        }
        var messages = 0
        call.sender.packetTap = { packet, direction, _, _ in
            guard direction == .received, DatagramKind(of: packet) == .rtcp else { return }
            var reader = RTCPReader(packet)
            while let message = try? reader.next() {
                if case .congestionControlFeedback = message { messages += 1 }
                if case .transportWideFeedback = message { Issue.record("feedback of another kind") }
            }
        }
        call.run(until: 30)
        #expect(messages > 250, "\(messages)")
        let late = call.figures(15..<30)
        #expect(late.loss < 0.05 && late.latency95 < 700, "\(late)")
        #expect(late.bitsPerSecond > 0.5 * 500_000, "\(late)")
    }
}

extension Call where Security == NullSecurity {
    /// Hands the receiver a packet as though the sender had sent it.
    fileprivate func deliver(_ packet: [UInt8]) {
        var bytes = packet + [UInt8](repeating: 0, count: NullSecurity.maximumOverhead)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        guard let whole = sender.security.protectRTP(&raw, byteCount: packet.count) else { return }
        let path = ICEPath(local: PeerEngineTests.rightAddress, remote: PeerEngineTests.leftAddress)
        _ = receiver.inject(Array(bytes.prefix(whole)), path: path, now: simulation.now)
    }
}

/// What left, what arrived, and what a receiver of FlexFEC makes of it, written from
/// draft-ietf-payload-flexible-fec-scheme-03.
private final class PacketLog {
    private var sent: [UInt16: [UInt8]] = [:]
    private var arrived: Set<UInt16> = []
    private var parity: [[UInt8]] = []
    private var transportWideID: UInt8?
    private let ssrc: UInt32
    private(set) var largestDatagram = 0
    private(set) var wrong = 0

    init(_ call: PublishedCall) {
        let configuration = call.sender.videoSender?.configuration
        ssrc = configuration?.ssrc ?? 0
        transportWideID = configuration?.extensions?.ids.transportSequenceNumber
        call.sender.packetTap = { [unowned self] packet, direction, _, _ in
            guard direction == .sent, let header = rtp(packet), header.ssrc == ssrc else { return }
            sent[header.sequenceNumber] = packet.withUnsafeBytes { Array($0) }
        }
        let fec = configuration?.flexfecSSRC
        call.receiver.packetTap = { [unowned self] packet, direction, _, _ in
            guard direction == .received, let header = rtp(packet) else { return }
            if header.ssrc == ssrc { arrived.insert(header.sequenceNumber) }
            if header.ssrc == fec { parity.append(packet.extracting(header.payload).withUnsafeBytes { Array($0) }) }
        }
        call.simulation.filter = { [unowned self] _, bytes in
            largestDatagram = max(largestDatagram, bytes.byteCount)
            return true
        }
    }

    private func rtp(_ packet: RawSpan) -> RTPHeader? {
        DatagramKind(of: packet) == .rtp ? try? RTPHeader(parsing: packet) : nil
    }

    /// How many were lost, and how many of them come back.
    func mend() -> (lost: Int, mended: Int) {
        let lost = Set(sent.keys).subtracting(arrived)
        var mended: Set<UInt16> = []
        for payload in parity {
            guard let (numbers, head) = group(payload) else { continue }
            let missing = numbers.filter { !arrived.contains($0) }
            guard missing.count == 1, let number = missing.first, let original = sent[number] else { continue }
            var sum = [payload[0] & 0x3F, payload[1], payload[2], payload[3]] + payload[4..<8] + payload[head...]
            for other in numbers where other != number {
                guard let packet = sent[other].map(zeroed) else { continue }
                let length = packet.count - 12
                let bits = [packet[0] & 0x3F, packet[1], UInt8(length >> 8), UInt8(length & 0xFF)] + packet[4..<8]
                for (index, byte) in (bits + packet[12...]).enumerated() {
                    if index < sum.count { sum[index] ^= byte } else { wrong += 1 }
                }
            }
            let length = Int(sum[2]) << 8 | Int(sum[3])
            let expected = zeroed(original)
            let isSame =
                length == expected.count - 12 && sum[0] == expected[0] & 0x3F && sum[1] == expected[1]
                && sum[4..<8].elementsEqual(expected[4..<8])
                && sum.dropFirst(8).prefix(length).elementsEqual(expected[12...])
            if isSame { mended.insert(number) } else { wrong += 1 }
        }
        return (lost.count, mended.intersection(lost).count)
    }

    /// The numbers that a parity packet is over, and where its bits begin (§4.2.2.1: 15, 31 and 63 bits of mask).
    private func group(_ payload: [UInt8]) -> (numbers: [UInt16], head: Int)? {
        func word(_ offset: Int, _ count: Int) -> UInt64 {
            payload[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard payload.count > 32, payload[0] & 0xC0 == 0, payload[8] == 1, word(12, 4) == UInt64(ssrc) else {
            wrong += 1
            return nil
        }
        let base = UInt16(word(16, 2))
        var numbers: [UInt16] = []
        var offset = 18
        var first: UInt16 = 0
        for (byteCount, bitCount) in [(2, 15), (4, 31), (8, 63)] {
            let mask = word(offset, byteCount)
            for bit in 0..<bitCount where mask >> UInt64(bitCount - 1 - bit) & 1 == 1 {
                numbers.append(base &+ first &+ UInt16(bit))
            }
            offset += byteCount
            first += UInt16(bitCount)
            if mask >> UInt64(bitCount) & 1 == 1 { break }
        }
        return (numbers, offset)
    }

    /// A packet as it is protected: what belongs to one sending is zero.
    private func zeroed(_ packet: [UInt8]) -> [UInt8] {
        var packet = packet
        guard let header = try? RTPHeader(parsing: packet.span.bytes) else { return packet }
        var index = header.extensionRange.lowerBound
        while index < header.extensionRange.upperBound, packet[index] != 0 {
            let count = Int(packet[index] & 0x0F) + 1
            if packet[index] >> 4 == transportWideID { for byte in 1...count { packet[index + byte] = 0 } }
            index += 1 + count
        }
        return packet
    }
}
