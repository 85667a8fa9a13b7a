import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct REDTests {
    private func blocks(_ payload: [UInt8]) -> [REDPayload.Block] { REDPayload.blocks(of: payload.span.bytes) }

    @Test func blocksOfTwoAreFoundWhereTheyLie() {
        // Type 111, 960 ticks ago, 3 bytes; then the primary one of type 111.
        let payload: [UInt8] = [0xEF, 0x0F, 0x00, 0x03, 0x6F, 1, 2, 3, 4, 5]
        let found = blocks(payload)
        #expect(
            found == [
                REDPayload.Block(payloadType: 111, timestampOffset: 960, range: 5..<8),
                REDPayload.Block(payloadType: 111, timestampOffset: 0, range: 8..<10),
            ])
    }

    @Test(
        arguments: [
            [], [0xEF], [0xEF, 0x0F, 0x00, 0x03], [0xEF, 0x0F, 0x00, 0x03, 0x6F, 1, 2],
            [UInt8](repeating: 0xFF, count: 200),
        ] as [[UInt8]])
    func payloadThatEndsTooEarlyHasNoBlocks(_ payload: [UInt8]) {
        #expect(blocks(payload).isEmpty)
    }

    @Test func whatIsWrittenIsRead() {
        var red = REDSoundBlocks(depth: 2)
        let sounds: [[UInt8]] = [[1, 2, 3], [4, 5], [6], [7, 8]]
        var written: [[UInt8]] = []
        for (index, sound) in sounds.enumerated() {
            written.append(
                red.payload(for: sound, timestamp: UInt32(index) &* 960 &- 960, payloadType: 111, byteLimit: 1000))
        }
        #expect(written[0] == [0x6F, 1, 2, 3])
        let found = blocks(written[3])
        #expect(found.map { Array(written[3][$0.range]) } == [[4, 5], [6], [7, 8]])
        #expect(found.map(\.timestampOffset) == [1920, 960, 0])
    }

    @Test func forerunnersThatDoNotFitAreLeftOutOldestFirst() {
        var red = REDSoundBlocks(depth: 2)
        for index in 0..<2 {
            _ = red.payload(
                for: [UInt8](repeating: UInt8(index), count: 100), timestamp: UInt32(index) * 960, payloadType: 111,
                byteLimit: 1000)
        }
        let payload = red.payload(
            for: [UInt8](repeating: 9, count: 100), timestamp: 1920, payloadType: 111, byteLimit: 210)
        let found = blocks(payload)
        #expect(found.map(\.timestampOffset) == [960, 0])
        #expect(payload.count <= 210)
    }

    @Test func soundThatIsTooLongAgoIsNotCarried() {
        var red = REDSoundBlocks(depth: 1)
        _ = red.payload(for: [1], timestamp: 0, payloadType: 111, byteLimit: 100)
        let payload = red.payload(for: [2], timestamp: 20_000, payloadType: 111, byteLimit: 100)
        #expect(payload == [0x6F, 2])
    }

    @Test func anyBytesAreTakenWithoutHarm() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            let bytes = generator.bytes(generator.number(below: 40))
            for block in blocks(bytes) {
                #expect(block.range.lowerBound >= 0 && block.range.upperBound <= bytes.count)
            }
        }
    }

    @Test func lostPacketsOfSoundComeWithTheNextOne() {
        var configuration = RTPAudioReceiveStream.Configuration(payloadType: 111)
        configuration.redPayloadType = 63
        var stream = RTPAudioReceiveStream(configuration)
        var red = REDSoundBlocks(depth: 1)
        for index in 0..<20 {
            // Opus: 20 ms, one frame.
            let sound: [UInt8] = [0x78, UInt8(index)]
            let timestamp = UInt32(index) * 960
            let payload = red.payload(for: sound, timestamp: timestamp, payloadType: 111, byteLimit: 1000)
            guard index % 4 != 3 else { continue }
            let packet = rtpPacket(
                payloadType: 63, sequenceNumber: UInt16(truncatingIfNeeded: 65_530 + index), timestamp: timestamp,
                ssrc: 5, payload: payload)
            let header = try? RTPHeader(parsing: packet.span.bytes)
            if let header { stream.handle(header, packet: packet.span.bytes, now: at(20 * index)) }
        }
        var played: [UInt8] = []
        for pull in 0..<40 {
            if case .packet(let bytes, _) = stream.pop(now: at(400 + 20 * pull)) { played.append(bytes[1]) }
        }
        // The buffer may have shortened its delay, but has no hole: each lost packet stands between its neighbours.
        #expect(zip(played, played.dropFirst()).allSatisfy { $1 == $0 + 1 })
        #expect(played.last == 18)
        #expect(stream.statistics.concealmentEvents == 0)
        #expect(stream.statistics.fecPacketsReceived == 14)
        #expect(stream.statistics.fecPacketsReceived - stream.statistics.fecPacketsDiscarded == 4)
    }
}

/// A plain packet.
func rtpPacket(
    payloadType: UInt8, marker: Bool = false, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32, payload: [UInt8],
    extensions: HeaderExtensionBlock? = nil, values: HeaderExtensionValues = HeaderExtensionValues()
) -> [UInt8] {
    let head = written { buffer in
        try? RTPHeader(
            marker: marker, payloadType: payloadType, sequenceNumber: sequenceNumber, timestamp: timestamp, ssrc: ssrc
        ).write(into: &buffer, extensions: extensions, values: values)
    }
    return (head ?? []) + payload
}
