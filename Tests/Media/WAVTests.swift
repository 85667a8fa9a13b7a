import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import Glibc
import Testing

/// Builds WAV files, sound and broken ones.
struct WAVBuilder {
    var tag = 1
    var channels = 1
    var sampleRate = 48_000
    var bits = 16
    /// Written for the block's size; `nil` for the right one.
    var blockSize: Int?
    var speakers: UInt32?
    var data: [UInt8] = []
    /// Written for the length of the samples; `nil` for the right one.
    var dataLength: UInt32?
    /// Stands before the samples, with an odd length to be padded.
    var extraChunk = false

    var bytes: [UInt8] {
        let kind = speakers == nil ? tag : 0xFFFE
        var format = little(kind, 2) + little(channels, 2) + little(sampleRate, 4)
        let block = blockSize ?? channels * bits / 8
        format += little(sampleRate * block, 4) + little(block, 2) + little(bits, 2)
        if let speakers {
            format += little(22, 2) + little(bits, 2) + little(Int(speakers), 4) + little(tag, 2)
            format += [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
        }
        var chunks = Array("fmt ".utf8) + little(format.count, 4) + format
        if extraChunk { chunks += Array("LIST".utf8) + little(3, 4) + [1, 2, 3, 0] }
        chunks += Array("data".utf8) + little(Int(dataLength ?? UInt32(data.count)), 4) + data
        return Array("RIFF".utf8) + little(chunks.count + 4, 4) + Array("WAVE".utf8) + chunks
    }

    func write() throws -> String {
        let path = temporaryPath()
        try writeFile(bytes, to: path)
        return path
    }

    private func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}

private func temporaryPath() -> String { "/tmp/emisora-wav-\(getpid())-\(UInt64.random(in: 0 ... .max)).wav" }

private func writeFile(_ bytes: [UInt8], to path: String) throws {
    let file = try #require(fopen(path, "w"))
    #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    fclose(file)
}

private func samples(_ frames: [AudioFrame]) -> [Float] {
    frames.flatMap { frame -> [Float] in
        if case .float32(let samples) = frame.samples { samples } else { [] }
    }
}

/// Plays a file once, to its end.
private func play(_ path: String, queueLimit: Int = 64) async throws -> (frames: [AudioFrame], capture: WAVCapture) {
    let consumer = makeOpenAudioConsumer(queueLimit: queueLimit)
    let capture = try WAVCapture(path: path, playback: .once)
    try capture.start(into: consumer)
    #expect(await eventually { !capture.isCapturing })
    var frames: [AudioFrame] = []
    while let taken = consumer.takeNext() {
        frames.append(taken.frame)
        taken.encoded()
    }
    #expect(consumer.ledger.isBalanced)
    return (frames, capture)
}

@Suite struct WAVCaptureTests {
    @Test func sixteenBitsAtFortyEightKilohertzArriveSampleForSample() async throws {
        let values = (0..<2000).map { Int16(truncatingIfNeeded: $0 &* 12_345) }
        var builder = WAVBuilder(channels: 2, extraChunk: true)
        builder.data = values.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        let path = try builder.write()
        defer { unlink(path) }
        let (frames, capture) = try await play(path)
        #expect(capture.failure == nil)
        #expect(abs(capture.duration.inSeconds - 1000.0 / 48_000) < 1e-8)
        #expect(capture.format == AudioFormat(channels: 2, sampleFormat: .float32))
        #expect(frames.count == 2)
        for frame in frames { #expect(frame.samplesPerChannel == 960) }
        let got = samples(frames).map { Int($0 * 32_768) }
        #expect(got == values.map(Int.init) + [Int](repeating: 0, count: 3840 - 2000))
        #expect(frames[1].timestamp == frames[0].timestamp + .milliseconds(20))
    }

    /// 0.5 and −0.25 in each encoding.
    @Test(
        arguments: [
            (8, 1, [0xC0, 0x60]), (16, 1, [0, 0x40, 0, 0xE0]), (24, 1, [0, 0, 0x40, 0, 0, 0xE0]),
            (32, 1, [0, 0, 0, 0x40, 0, 0, 0, 0xE0]), (32, 3, [0, 0, 0, 0x3F, 0, 0, 0x80, 0xBE]),
        ] as [(Int, Int, [UInt8])])
    func everyEncodingHasItsFullScale(_ bits: Int, _ tag: Int, _ data: [UInt8]) async throws {
        for speakers in [nil, UInt32(4)] {
            let path = try WAVBuilder(tag: tag, bits: bits, speakers: speakers, data: data).write()
            defer { unlink(path) }
            #expect(Array(samples(try await play(path).frames).prefix(3)) == [0.5, -0.25, 0])
        }
    }

    @Test func soundAtAnotherRateKeepsItsPitchAndLength() async throws {
        let count = 44_100 / 5
        var builder = WAVBuilder(sampleRate: 44_100)
        builder.data = (0..<count).flatMap { index -> [UInt8] in
            let value = Int16(16_000 * sin(2 * .pi * 1000 * Double(index) / 44_100))
            return [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
        }
        let path = try builder.write()
        defer { unlink(path) }
        let sound = samples(try await play(path).frames)
        #expect(sound.count == 9600)
        let tone = FittedTone(Array(sound[960..<8640]), near: 1000, range: 1)
        #expect(tone.signalToNoise > 65)
        #expect(abs(tone.frequency - 1000) < 0.05)
        #expect(abs(tone.amplitude - 16_000.0 / 32_768) < 0.001)
    }

    @Test func fiveChannelsBecomeTwoWithoutClipping() async throws {
        // Front left alone, then all at full scale.
        let frame = { (values: [Int]) in
            values.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        }
        let data = frame([16_384, 0, 0, 0, 0, 0]) + frame([Int](repeating: 32_767, count: 6))
        let path = try WAVBuilder(channels: 6, speakers: 0x3F, data: data).write()
        defer { unlink(path) }
        let sound = samples(try await play(path).frames)
        #expect(sound[0] > 0.2 && sound[1] == 0)
        #expect(sound[2] > 0.99 && sound[2] <= 1 && sound[3] == sound[2])
    }

    @Test func loopsJoinWithoutAGap() throws {
        // 50 periods of 1 kHz in 2205 samples: the loop's end fits its beginning.
        var builder = WAVBuilder(sampleRate: 44_100)
        builder.data = (0..<2205).flatMap { index -> [UInt8] in
            let value = Int16(16_000 * sin(2 * .pi * 1000 * Double(index) / 44_100))
            return [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
        }
        let path = try builder.write()
        defer { unlink(path) }
        let consumer = makeOpenAudioConsumer(queueLimit: 64)
        let capture = try WAVCapture(path: path)
        try capture.start(into: consumer)
        let frames = take(20, from: consumer)
        #expect(capture.isCapturing)
        capture.stop()
        #expect(!capture.isCapturing)
        try #require(frames.count == 20)
        // A thread that was held up skips: what is judged is what follows without a gap.
        let whole = zip(frames, frames.dropFirst()).allSatisfy { $1.timestamp == $0.timestamp + .milliseconds(20) }
        let sound = samples(frames)
        if whole {
            #expect(FittedTone(Array(sound[960..<17_280]), near: 1000, range: 0.5).signalToNoise > 65)
        } else {
            #expect(consumer.ledger.dropped(.captureLate) > 0)
        }
    }

    @Test func whoWritesToAPipeDoesNotKnowTheLength() async throws {
        for length in [UInt32.max, 0x7FFF_F000, 0x8000_0000] {
            let path = try WAVBuilder(data: [0, 0x40], dataLength: length).write()
            defer { unlink(path) }
            #expect(samples(try await play(path).frames).first == 0.5)
        }
    }

    @Test func aFileThatShrinksEndsWithAFailureThatSaysWhere() async throws {
        let path = try WAVBuilder(data: [UInt8](repeating: 1, count: 96_000)).write()
        defer { unlink(path) }
        let capture = try WAVCapture(path: path)
        let consumer = makeOpenAudioConsumer()
        try capture.start(into: consumer)
        #expect(truncate(path, 44 + 2000) == 0)
        #expect(await eventually { !capture.isCapturing })
        guard case .custom(let error as WAVError) = try #require(capture.failure) else {
            Issue.record("\(String(describing: capture.failure))")
            return
        }
        if case .truncated = error.problem {} else { Issue.record("\(error)") }
        #expect("\(error)".contains(path))
        #expect(consumer.ledger.dropped(.invalid) == 1)
    }

    @Test func brokenFilesAreRefusedWithThePlace() throws {
        func refusal(_ builder: WAVBuilder, cutTo length: Int? = nil) throws -> WAVError? {
            let path = temporaryPath()
            try writeFile(Array(builder.bytes.prefix(length ?? .max)), to: path)
            defer { unlink(path) }
            do throws(CaptureError) {
                _ = try WAVCapture(path: path)
                return nil
            } catch {
                if case .custom(let error as WAVError) = error { return error }
                throw error
            }
        }
        let data: [UInt8] = [1, 2, 3, 4]
        let cases: [(WAVBuilder, WAVError.Problem, Int)] = [
            (WAVBuilder(tag: 2, data: data), .unsupportedEncoding(tag: 2), 20),
            (WAVBuilder(bits: 12, data: data), .unsupportedBits(12, isFloat: false), 20),
            (WAVBuilder(tag: 3, bits: 64, data: data), .unsupportedBits(64, isFloat: true), 20),
            (WAVBuilder(channels: 0, data: data), .channelCountOutOfRange(0), 20),
            (WAVBuilder(channels: 65_535, data: data), .channelCountOutOfRange(65_535), 20),
            (WAVBuilder(sampleRate: 0, data: data), .sampleRateOutOfRange(0), 20),
            (WAVBuilder(sampleRate: 4_000_000_000, data: data), .sampleRateOutOfRange(4_000_000_000), 20),
            (WAVBuilder(blockSize: 0, data: data), .contradictoryBlockSize(needed: 2, given: 0), 20),
            (WAVBuilder(data: []), .noSamples, 44),
            (WAVBuilder(channels: 2, data: [1, 2, 3]), .noSamples, 44),
            (WAVBuilder(data: data, dataLength: 5), .truncated(needed: 5, available: 4), 44),
        ]
        for (builder, problem, offset) in cases {
            let error = try #require(try refusal(builder), "\(problem)")
            #expect(error.problem == problem)
            #expect(error.offset == offset)
            #expect("\(error)".contains("byte \(offset)"))
        }
        #expect(try refusal(WAVBuilder(data: data), cutTo: 11)?.problem == .notWAV)
        #expect(try refusal(WAVBuilder(data: data), cutTo: 12)?.problem == .missingChunk("fmt "))
        #expect(try refusal(WAVBuilder(data: data), cutTo: 30)?.problem == .formatTooShort(bytes: 10))
        #expect(try refusal(WAVBuilder(data: data), cutTo: 36)?.problem == .missingChunk("data"))
        #expect(throws: CaptureError.self) { try WAVCapture(path: "/nowhere/at/all.wav") }
        #expect(throws: CaptureError.self) { try WAVCapture(path: "/dev/null") }
    }

    @Test func damagedHeadersNeverTrap() throws {
        var random = TestRandom(state: 11)
        let sound = WAVBuilder(channels: 2, speakers: 3, data: [UInt8](repeating: 7, count: 64), extraChunk: true).bytes
        let path = temporaryPath()
        defer { unlink(path) }
        var opened = 0
        for _ in 0..<500 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let values: [UInt8] = [0, 0xFF, UInt8.random(in: 0...255, using: &random)]
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = values.randomElement(using: &random) ?? 0
            }
            // Half of them are cut, too.
            let isCut = Bool.random(using: &random)
            let length = isCut ? Int.random(in: 0...bytes.count, using: &random) : bytes.count
            try writeFile(Array(bytes.prefix(length)), to: path)
            if (try? WAVCapture(path: path)) != nil { opened += 1 }
        }
        #expect(opened < 500 && opened > 10)
    }
}
