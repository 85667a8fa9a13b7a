import EmisoraCodecs
import EmisoraCore
import Testing

@Suite struct OpusTests {
    private static let silence = [Int16](repeating: 0, count: 960)

    @Test(arguments: OpusEncoder.Application.allCases)
    func toneSurvives(application: OpusEncoder.Application) throws {
        let encoder = try OpusEncoder(.init(application: application))
        let decoder = try OpusDecoder()
        var heard: [Int16] = []
        for index in 0..<50 {
            let samples = try decoder.decode(try #require(try encoder.encode(Sound.tone(index))))
            #expect(samples.count == 960)
            heard += samples
        }
        let end = heard.suffix(24_000)
        let amplitude = Sound.amplitude(of: 440, in: end)
        #expect(abs(amplitude - 8_000) < 1_600, "\(amplitude)")
        #expect(Sound.amplitude(of: 1_230, in: end) < 400)
    }

    @Test func stereoKeepsItsSides() throws {
        let encoder = try OpusEncoder(.init(channels: 2, bitrate: .kilobitsPerSecond(96)))
        let decoder = try OpusDecoder(channels: 2)
        var left: [Int16] = []
        var right: [Int16] = []
        for index in 0..<50 {
            let samples = zip(Sound.tone(index), Sound.tone(index, frequency: 1_000)).flatMap { [$0, $1] }
            let decoded = try decoder.decode(try #require(try encoder.encode(samples)))
            #expect(decoded.count == 1_920)
            for pair in stride(from: 0, to: decoded.count, by: 2) {
                left.append(decoded[pair])
                right.append(decoded[pair + 1])
            }
        }
        let (l, r) = (left.suffix(24_000), right.suffix(24_000))
        #expect(Sound.amplitude(of: 440, in: l) > 5 * Sound.amplitude(of: 440, in: r))
        #expect(Sound.amplitude(of: 1_000, in: r) > 5 * Sound.amplitude(of: 1_000, in: l))
    }

    @Test func floatsSoundAsIntegersDo() throws {
        let encoder = try OpusEncoder()
        let decoder = try OpusDecoder()
        var heard: [Int16] = []
        for index in 0..<50 {
            let floats = Sound.tone(index).map { Float($0) / 32_768 }
            heard += try decoder.decodeFloat(try #require(try encoder.encode(floats))).map {
                Int16(max(-32_768, min(32_767, $0 * 32_768)))
            }
        }
        let amplitude = Sound.amplitude(of: 440, in: heard.suffix(24_000))
        #expect(abs(amplitude - 8_000) < 1_600, "\(amplitude)")
    }

    @Test func lossIsConcealedWithoutAGap() throws {
        let encoder = try OpusEncoder(.init(usesInbandFEC: false))
        let decoder = try OpusDecoder()
        for index in 0..<30 { _ = try decoder.decode(try #require(try encoder.encode(Sound.tone(index)))) }
        let made = try decoder.decodeLost()
        #expect(made.count == 960)
        #expect(Sound.level(made) > 2_000)
        #expect(try decoder.decodeLost(sampleCount: 480).count == 480)
        #expect(throws: CodecError.self) { try decoder.decodeLost(sampleCount: 100) }
        #expect(throws: CodecError.self) { try decoder.decodeLost(sampleCount: 1 << 20) }
    }

    /// The tone begins two packets before the last, and the receiver heard only silence: concealment cannot know of the
    /// tone, only what the next packet carries can.
    private func levelOfLostTone(_ configuration: OpusEncoder.Configuration) throws -> Double {
        let encoder = try OpusEncoder(configuration)
        let decoder = try OpusDecoder()
        for _ in 0..<20 { _ = try decoder.decode(try #require(try encoder.encode(Self.silence))) }
        for index in 20..<25 { _ = try encoder.encode(Sound.tone(index)) }
        return Sound.level(try decoder.decodeLost(next: try #require(try encoder.encode(Sound.tone(25)))))
    }

    @Test func fecOfTheDefaultConfigurationRecoversALostPacket() throws {
        let with = try levelOfLostTone(.init())
        let without = try levelOfLostTone(.init(usesInbandFEC: false))
        #expect(with > 1_000, "\(with)")
        #expect(without < 100, "\(without)")
    }

    @Test func silenceSendsFewerPacketsWithDTX() throws {
        func sent(usesDTX: Bool) throws -> Int {
            let encoder = try OpusEncoder(.init(usesDTX: usesDTX))
            return try (0..<100).count { _ in try encoder.encode(Self.silence) != nil }
        }
        #expect(try sent(usesDTX: false) == 100)
        #expect(try sent(usesDTX: true) < 50)
    }

    @Test func bitrateAndLossChangeWhileRunning() throws {
        let encoder = try OpusEncoder(.init(bitrate: .kilobitsPerSecond(64), usesInbandFEC: false))
        func byteCount(_ range: Range<Int>) throws -> Int {
            try range.reduce(0) { $0 + (try encoder.encode(Sound.tone($1))?.count ?? 0) }
        }
        let rich = try byteCount(0..<50)
        try encoder.setBitrate(.kilobitsPerSecond(16))
        #expect(try byteCount(50..<100) * 2 < rich)
        try encoder.setExpectedLossPercent(30)
        #expect(throws: CodecError.self) { try encoder.setExpectedLossPercent(101) }
        #expect(encoder.configuration.expectedLossPercent == 30)
    }

    @Test func wrongSizesAndSettingsAreRefused() throws {
        #expect(throws: CodecError.self) { try OpusEncoder(.init(channels: 3)) }
        #expect(throws: CodecError.self) { try OpusEncoder(.init(complexity: 11)) }
        #expect(throws: CodecError.self) { try OpusDecoder(channels: 0) }
        #expect(throws: CodecError.self) { try OpusEncoder().encode([Int16](repeating: 0, count: 959)) }
        #expect(throws: CodecError.self) { try OpusDecoder().decode([]) }
        #expect(throws: CodecError.self) { try OpusDecoder().decode([UInt8](repeating: 1, count: 20_000)) }
    }

    @Test func damagedAndRandomPacketsNeverTrap() throws {
        var random = SeededRandom(8)
        let encoder = try OpusEncoder()
        let packets = try (0..<10).compactMap { try encoder.encode(Sound.tone($0)) }
        let decoder = try OpusDecoder()
        var decoded = 0
        for round in 0..<10_000 {
            var packet = packets[round % packets.count]
            switch random.next() % 3 {
            case 0: packet = (0..<Int(random.next() % 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            case 1: packet.removeLast(Int(random.next() % UInt64(packet.count)))
            default: packet[Int(random.next() % UInt64(packet.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            let samples = round % 5 == 0 ? try? decoder.decodeLost(next: packet) : try? decoder.decode(packet)
            if let samples {
                decoded += 1
                if samples.count > 5_760 { Issue.record("\(samples.count) samples") }
            }
        }
        #expect(decoded > 1_000)
    }
}
