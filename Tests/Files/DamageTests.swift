import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Glibc
import Testing

@testable import EmisoraFiles

@Suite struct DamageTests {
    /// What reading a file to its end gives, as fast as it goes.
    struct Reading: Equatable {
        var pictures = 0
        var sounds = 0
        var damages = 0
    }

    /// Reads, decodes and converts everything.
    static func readAll(_ path: String) throws -> Reading {
        let demuxer = try Demuxer(path: path, as: .film)
        var decoders: [TrackKind: Decoder] = [:]
        for kind in TrackKind.allCases {
            if let stream = demuxer.stream(kind) { decoders[kind] = try? Decoder(stream, path: path) }
        }
        let converter = PictureConverter()
        let resampler = Resampler(channels: demuxer.audio?.outputChannels ?? 1)
        var reading = Reading()
        func collect(_ decoder: Decoder) {
            var steps = 0
            while steps < 1000 {
                steps += 1
                switch decoder.receive() {
                case .needsPacket, .isEmpty: return
                case .damage: reading.damages += 1
                case .frame(let frame):
                    if decoder.stream.kind == .audio {
                        if resampler.convert(frame) != nil { reading.sounds += 1 } else { reading.damages += 1 }
                    } else if let picture = try? converter.frame(frame, of: decoder.stream, timestamp: .zero) {
                        reading.pictures += picture.width > 0 ? 1 : 0
                    } else {
                        reading.damages += 1
                    }
                }
            }
            Issue.record("a decoder that never wants a packet")
        }
        var steps = 0
        reading: while steps < 100_000 {
            steps += 1
            switch demuxer.next() {
            case .end: break reading
            case .damage:
                reading.damages += 1
                if reading.damages > 1000 { break reading }
            case .packet(let kind, let packet):
                guard let decoder = decoders[kind] else { continue }
                if !decoder.send(packet) { reading.damages += 1 }
                collect(decoder)
            }
        }
        for decoder in decoders.values {
            decoder.drain()
            collect(decoder)
        }
        return reading
    }

    static let films = [
        ("film.webm", vp8("-c:a libopus")), ("film.mp4", h264("-g 5 -c:a aac")), ("film.ivf", vp8("-an")),
        ("film.avi", "-c:v mjpeg -c:a pcm_s16le"), ("film.ts", h264("-g 5 -c:a aac")),
    ]

    @Test(arguments: films) func mutatedFilmIsRefusedOrPlayedInPart(_ name: String, _ coding: String) throws {
        let studio = try Studio()
        let path = try studio.make(
            name, "-f lavfi -i testsrc2=s=64x48:r=25:d=0.3", "-f lavfi -i sine=f=1000:r=44100:d=0.3", coding)
        let sound = try studio.bytes(path)
        #expect(try Self.readAll(path).pictures > 0)
        var random = SplitMix64(seed: 0x000E_0001)
        let start = MonotonicClock.now
        var refused = 0
        for round in 0..<80 {
            var bytes = sound
            // The head of a file, where its structure is, more often than the rest.
            let reach = round.isMultiple(of: 2) ? min(bytes.count, 600) : bytes.count
            for _ in 0..<(1 + random.below(8)) { bytes[random.below(reach)] = UInt8(truncatingIfNeeded: random.next()) }
            if round % 5 == 4 { bytes.removeLast(random.below(bytes.count)) }
            let mutated = try studio.write("mutated", bytes)
            do {
                let reading = try Self.readAll(mutated)
                #expect(reading.pictures <= 200)
            } catch let error as MediaFileError {
                refused += 1
                #expect(error.description.contains(mutated))
            }
        }
        #expect(refused < 80)
        #expect(MonotonicClock.now - start < .seconds(60))
    }

    @Test func mutatedFilmsPlayAndStopInBoundedTime() async throws {
        let studio = try Studio()
        let path = try studio.make(
            "film.webm", "-f lavfi -i testsrc2=s=64x48:r=25:d=0.12", "-f lavfi -i sine=f=1000:r=48000:d=0.12",
            vp8("-c:a libopus"))
        let whole = try studio.bytes(path)
        var random = SplitMix64(seed: 0x000E_0002)
        let collector = try Collector()
        defer { collector.stop() }
        for _ in 0..<30 {
            var bytes = whole
            for _ in 0..<(1 + random.below(12)) {
                bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            guard let film = try? MediaFile(path: studio.write("mutated", bytes), playback: .once) else { continue }
            try? film.video?.start(into: collector.videoConsumer)
            try? film.audio?.start(into: collector.audioConsumer)
            // A time that is far off but believable may keep the film on its last picture; `stop` ends that, too.
            _ = await eventually(within: .milliseconds(400)) {
                film.video?.isCapturing != true && film.audio?.isCapturing != true
            }
            let start = MonotonicClock.now
            film.video?.stop()
            film.audio?.stop()
            #expect(MonotonicClock.now - start < .seconds(5))
        }
        #expect(await eventually { collector.videoConsumer.ledger.inFlight == 0 })
        #expect(collector.videoConsumer.ledger.isBalanced && collector.audioConsumer.ledger.isBalanced)
    }

    /// Where the data of each picture lie: IVF has a header of 32 bytes, then 12 bytes before each picture.
    private static func pictures(ofIVF bytes: [UInt8]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var position = 32
        while position + 12 < bytes.count {
            let size = Int(bytes[position]) | Int(bytes[position + 1]) << 8 | Int(bytes[position + 2]) << 16
            ranges.append((position + 12)..<min(position + 12 + size, bytes.count))
            position += 12 + size
        }
        return ranges
    }

    @Test func damagedPicturesAreCountedAndTheFilmGoesOn() async throws {
        let studio = try Studio()
        var bytes = try studio.bytes(studio.make("film.ivf", pattern, vp8()))
        let ranges = Self.pictures(ofIVF: bytes)
        #expect(ranges.count == 20)
        // A first partition longer than the picture (RFC 6386 §9.1).
        for index in [5, 12] { bytes.replaceSubrange(ranges[index].prefix(3), with: [0xFF, 0xFF, 0xFF]) }
        let film = try MediaFile(path: studio.write("damaged.ivf", bytes), playback: .once)
        let collector = try Collector()
        defer { collector.stop() }
        try film.video?.start(into: collector.videoConsumer)
        #expect(await eventually { film.video?.isCapturing == false })
        let ledger = collector.videoConsumer.ledger
        #expect(ledger.dropped(.invalid) == 2 && ledger.captured == 20 && film.failure == nil)
    }

    @Test func filmOfWhichNothingCanBeDecodedEndsWithItsError() async throws {
        let studio = try Studio()
        var bytes = try studio.bytes(studio.make("film.ivf", "-f lavfi -i testsrc2=s=160x120:r=25:d=0.4", vp8()))
        for range in Self.pictures(ofIVF: bytes) {
            for index in range { bytes[index] = 0xFF }
        }
        let film = try MediaFile(path: studio.write("broken.ivf", bytes))
        let collector = try Collector()
        defer { collector.stop() }
        try film.video?.start(into: collector.videoConsumer)
        // Looped, and yet not for ever.
        #expect(await eventually { film.video?.isCapturing == false })
        #expect(await eventually { film.failure != nil })
        #expect("\(film.failure, default: "")".contains("not one picture"))
        #expect(collector.videoConsumer.ledger.dropped(.invalid) == 10)
    }

    @Test func whatIsNoFilmIsRefusedWithItsReason() throws {
        let studio = try Studio()
        let film = try studio.make("film.mp4", "-f lavfi -i testsrc2=s=64x48:r=25:d=0.2", h264())
        let picture = try studio.make("picture.png", "-f lavfi -i testsrc2=s=64x48:r=25:d=0.2 -frames:v 1")
        let text = try studio.write("text.txt", Array("Not a film at all, just words.\n".utf8))
        let playlist = try studio.write(
            "list.m3u8",
            Array("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n\(film)\n#EXT-X-ENDLIST\n".utf8))
        let concatenation = try studio.write("list.ffconcat", Array("ffconcat version 1.0\nfile \(film)\n".utf8))
        let empty = try studio.write("empty.mp4", [])
        #expect(throws: MediaFileError.stillPicture(path: picture)) { try MediaFile(path: picture) }
        #expect(throws: MediaFileError.unsupportedFormat(path: playlist, kind: "hls")) { try MediaFile(path: playlist) }
        #expect(throws: MediaFileError.unsupportedFormat(path: concatenation, kind: "concat")) {
            try MediaFile(path: concatenation)
        }
        #expect(throws: MediaFileError.self) { try MediaFile(path: text) }
        #expect(throws: MediaFileError.self) { try MediaFile(path: empty) }
        #expect(throws: MediaFileError.notARegularFile(path: studio.folder)) { try MediaFile(path: studio.folder) }
        #expect(throws: MediaFileError.cannotOpen(path: studio.folder + "/none", code: 2)) {
            try MediaFile(path: studio.folder + "/none")
        }
        #expect {
            try ImageCapture(path: film)
        } throws: { error in
            "\(error)".contains("file:\(film)")
        }
        #expect {
            try ImageCapture(path: text)
        } throws: { error in
            "\(error)".contains(text)
        }
    }

    /// The most memory this process ever had, in bytes.
    private static var peakMemory: Int {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return usage.ru_maxrss * 1024
    }

    @Test func tooLargePicturesAreRefusedBeforeTheyCostMemory() throws {
        let before = Self.peakMemory
        let studio = try Studio()
        var ivf = try studio.bytes(studio.make("film.ivf", "-f lavfi -i testsrc2=s=64x48:r=25:d=0.2", vp8()))
        // The size in the file's header, and in the VP8 key frame (RFC 6386 §9.1).
        for position in [12, 14, 32 + 12 + 6, 32 + 12 + 8] { (ivf[position], ivf[position + 1]) = (0xFF, 0x3F) }
        let film = try studio.write("large.ivf", ivf)
        #expect(throws: MediaFileError.pictureTooLarge(path: film, width: 16383, height: 16383)) {
            try MediaFile(path: film)
        }
        let png = try studio.bytes(studio.make("picture.png", "-f lavfi -i testsrc2=s=64x48:r=25:d=0.2 -frames:v 1"))
        for side in [10_000, 16_000, 20_000, 2_000_000_000] {
            var large = png
            // Width and height in IHDR, and its checksum.
            let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: side >> $0) }
            large.replaceSubrange(16..<24, with: bytes + bytes)
            large.replaceSubrange(29..<33, with: Self.crc32(large[12..<29]))
            let picture = try studio.write("large.png", large)
            #expect {
                try ImageCapture(path: picture)
            } throws: { error in
                "\(error)".contains(picture) && "\(error)".contains("\(MediaFile.largestPictureArea) pixels")
            }
        }
        // The smallest of them would take 300 MB.
        #expect(Self.peakMemory - before < 200 << 20)
    }

    private static func crc32(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        crc = ~crc
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: crc >> $0) }
    }
}
