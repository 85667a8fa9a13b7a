import EmisoraAudio
import EmisoraCodecs
import EmisoraCore
import EmisoraVideo
import Glibc
import Testing

@testable import Emisora

/// The encoder threads by themselves: frames in, what goes to the network out.
@Suite(.serialized) struct EncodingPipelineTests {
    // MARK: Pictures

    /// A pipeline with pictures of its own, taken on a clock of the test's.
    private final class Pictures {
        let pipeline: VideoPipeline
        private let pool = VideoFramePool(limit: 64)
        private var index = 0
        private(set) var encoded: [EncodedVideoFrame] = []

        init(_ size: VideoSize) {
            pipeline = VideoPipeline(
                settings: .init(
                    targetBitrate: .kilobitsPerSecond(2_000), maximumFramesPerSecond: 30, contentHint: .text,
                    sourceSize: size),
                onReport: { _ in }, didEncode: {})
            pipeline.consumer.open()
            pipeline.consumer.setHasSubscribers(true)
        }

        func start() throws { try #require(pipeline.start()) }

        /// Hands over one picture and waits for what becomes of it.
        func push(_ size: VideoSize, rotation: VideoRotation = .none) async throws -> EncodedVideoFrame? {
            var picture = try pool.makeFrame(VideoFormat(.i420, size: size))
            for plane in 0..<3 {
                picture.withUnsafeMutablePlane(plane) { _ = $0.initializeMemory(as: UInt8.self, repeating: 100) }
            }
            index += 1
            let frame = picture.finish(timestamp: .zero + .milliseconds(Int64(index) * 33), rotation: rotation)
            guard case .accepted = pipeline.consumer.consume(frame) else { return nil }
            try await eventually("the picture has a fate") { pipeline.consumer.ledger.inFlight == 0 }
            let new = pipeline.queue.takeAll()
            encoded += new
            return new.last
        }
    }

    private static let size = VideoSize(width: 640, height: 480)

    @Test("RFC 7741 §6.1: max-fs and max-fr are kept to by encoder and capturer, and let go")
    func limitsHold() async throws {
        let pictures = Pictures(Self.size)
        try pictures.start()
        defer { pictures.pipeline.stop() }
        let first = try #require(try await pictures.push(Self.size))
        #expect(first.isKeyFrame && first.width == 640)
        let second = try #require(try await pictures.push(Self.size))
        #expect(!second.isKeyFrame)
        pictures.pipeline.update { $0.limits = VideoLimits(frameSize: 300, frameRate: 15) }
        #expect(
            pictures.pipeline.consumer.wants
                == VideoWants(largestSize: VideoSize(width: 320, height: 240), highestFrameRate: 15))
        var sizes: Set<[Int]> = []
        let before = pictures.encoded.count
        for _ in 0..<30 {
            guard let picture = try await pictures.push(Self.size) else { continue }
            sizes.insert([picture.width, picture.height])
            #expect(picture.isKeyFrame == (pictures.encoded.count == before + 1))
        }
        #expect(sizes == [[320, 240]])
        #expect((14...16).contains(pictures.encoded.count - before), "\(pictures.encoded.count - before) of 30")
        // A capturer that draws no larger than wanted changes nothing.
        _ = try await pictures.push(VideoSize(width: 320, height: 240))
        let small = try #require(try await pictures.push(VideoSize(width: 320, height: 240)) ?? pictures.encoded.last)
        #expect(!small.isKeyFrame && small.width == 320)
        pictures.pipeline.update { $0.limits = VideoLimits() }
        #expect(pictures.pipeline.consumer.wants == VideoWants())
        let last = try #require(try await pictures.push(Self.size))
        #expect(last.width == 640 && last.height == 480 && last.isKeyFrame)
    }

    @Test func picturesAreTurnedHereOrByReceiversAndEachChangeBeginsAnew() async throws {
        let pictures = Pictures(Self.size)
        try pictures.start()
        defer { pictures.pipeline.stop() }
        var picture = try #require(try await pictures.push(Self.size, rotation: .clockwise90))
        #expect(picture.width == 480 && picture.height == 640 && picture.rotation == VideoRotation.none)
        pictures.pipeline.update { $0.signalsOrientation = true }
        picture = try #require(try await pictures.push(Self.size, rotation: .clockwise90))
        #expect(picture.width == 640 && picture.height == 480 && picture.rotation == .clockwise90)
        #expect(picture.isKeyFrame)
        // A camera that is turned is told of, and costs no key frame.
        picture = try #require(try await pictures.push(Self.size, rotation: .clockwise180))
        #expect(picture.rotation == .clockwise180 && !picture.isKeyFrame)
        // The publisher's own turn comes on top.
        pictures.pipeline.update { $0.rotation = .clockwise270 }
        picture = try #require(try await pictures.push(Self.size, rotation: .clockwise180))
        #expect(picture.rotation == .clockwise90)
        // Upside down there is no other size to tell the change by.
        pictures.pipeline.update { $0.rotation = .clockwise180 }
        picture = try #require(try await pictures.push(Self.size))
        #expect(picture.rotation == .clockwise180 && !picture.isKeyFrame)
        pictures.pipeline.update { $0.signalsOrientation = false }
        picture = try #require(try await pictures.push(Self.size))
        #expect(picture.rotation == VideoRotation.none && picture.width == 640 && picture.isKeyFrame)
    }

    @Test func turnedPicturesKeepToTheLimitToo() async throws {
        let pictures = Pictures(Self.size)
        try pictures.start()
        defer { pictures.pipeline.stop() }
        pictures.pipeline.update { $0.limits.frameSize = 300 }
        var picture = try #require(try await pictures.push(Self.size, rotation: .clockwise90))
        #expect(picture.width == 240 && picture.height == 320)
        pictures.pipeline.update { $0.signalsOrientation = true }
        picture = try #require(try await pictures.push(Self.size, rotation: .clockwise90))
        #expect(picture.width == 320 && picture.height == 240)
    }

    // MARK: Sound

    /// 20 ms of a tone of 440 Hz on the left and 1000 Hz on the right.
    private static func sound(_ index: Int, amplitude: Double = 8_000) throws -> AudioFrame {
        var samples: [Int16] = []
        for sample in 0..<960 {
            let time = Double(index * 960 + sample) / 48_000
            for frequency in [440.0, 1_000.0] {
                let phase: Double = 2 * Double.pi * frequency * time
                samples.append(Int16(amplitude * sin(phase)))
            }
        }
        return try AudioFrame(samples, format: .stereo, timestamp: .zero + .milliseconds(Int64(index) * 20 + 1_000))
    }

    private static func amplitude(of frequency: Double, in samples: some Sequence<Int16>) -> Double {
        var (re, im, count) = (0.0, 0.0, 0.0)
        for sample in samples {
            let angle: Double = 2 * Double.pi * frequency * count / 48_000
            re += Double(sample) * cos(angle)
            im += Double(sample) * sin(angle)
            count += 1
        }
        return 2 * (re * re + im * im).squareRoot() / count
    }

    /// Encodes frames one after the other, and gives the packets.
    private static func encode(
        _ range: Range<Int>, with pipeline: AudioPipeline, amplitude: Double = 8_000
    ) async throws -> [EncodedAudioFrame] {
        var packets: [EncodedAudioFrame] = []
        for index in range {
            pipeline.consumer.consume(try sound(index, amplitude: amplitude))
            try await eventually("the sound has a fate") { pipeline.consumer.ledger.inFlight == 0 }
            packets += pipeline.queue.takeAll()
        }
        return packets
    }

    private static func pipeline() throws -> AudioPipeline {
        let pipeline = AudioPipeline(bitrate: .kilobitsPerSecond(64), onReport: { _ in }, didEncode: {})
        pipeline.consumer.open()
        pipeline.consumer.setHasSubscribers(true)
        try #require(pipeline.start())
        return pipeline
    }

    @Test func channelsFollowTheReceiversWithoutAGap() async throws {
        let pipeline = try Self.pipeline()
        defer { pipeline.stop() }
        let decoder = try OpusDecoder(channels: 2)
        func sides(_ packets: [EncodedAudioFrame]) throws -> [[Double]] {
            var samples: [Int16] = []
            for packet in packets.suffix(20) { samples += try decoder.decode(packet.payload) }
            var sides: [[Double]] = []
            for channel in 0..<2 {
                let side = stride(from: channel, to: samples.count, by: 2).map { samples[$0] }
                sides.append([Self.amplitude(of: 440, in: side), Self.amplitude(of: 1_000, in: side)])
            }
            return sides
        }
        let mono = try await Self.encode(0..<50, with: pipeline)
        // Bit 2 of the first byte (RFC 6716 §3.1).
        #expect(mono.allSatisfy { $0.payload[0] & 4 == 0 })
        let both = try sides(mono)
        #expect(both[0][1] > both[0][0] / 3 && both[1][0] > both[1][1] / 3)
        var wishes = SoundWishes()
        wishes.channels = 2
        pipeline.update(wishes)
        let stereo = try await Self.encode(50..<100, with: pipeline)
        #expect(stereo.allSatisfy { $0.payload[0] & 4 != 0 })
        let apart = try sides(stereo)
        #expect(apart[0][0] > 5 * apart[1][0] && apart[1][1] > 5 * apart[0][1], "\(apart)")
        let times = (mono + stereo).map(\.captureTime)
        let isEven = zip(times, times.dropFirst()).allSatisfy { $1 - $0 == .milliseconds(20) }
        #expect(times.count == 100 && isEven)
    }

    @Test func packetsAreAsLongAsAskedFor() async throws {
        let pipeline = try Self.pipeline()
        defer { pipeline.stop() }
        let decoder = try OpusDecoder()
        var index = 0
        for milliseconds in [20, 60, 10, 40, 5, 20] {
            var wishes = SoundWishes()
            wishes.packetTime = milliseconds
            pipeline.update(wishes)
            let packets = try await Self.encode(index..<index + 12, with: pipeline)
            index += 12
            let lengths = try packets.map { try decoder.decode($0.payload).count / 48 }
            #expect(lengths.suffix(2) == [milliseconds, milliseconds] || milliseconds == 20, "\(lengths)")
            #expect(lengths.reduce(0, +) <= 240 + 60)
            #expect(Set(lengths.dropFirst()) == [milliseconds])
        }
    }

    @Test("RFC 7587 §3.1.3: silence is not sent where all receivers do without, and what follows it is marked")
    func silenceIsLeftOut() async throws {
        let pipeline = try Self.pipeline()
        defer { pipeline.stop() }
        var wishes = SoundWishes()
        wishes.useDTX = true
        pipeline.update(wishes)
        let loud = try await Self.encode(0..<50, with: pipeline)
        // A steady tone is taken for noise here and there.
        #expect(loud.count >= 40)
        let silent = try await Self.encode(50..<200, with: pipeline, amplitude: 0)
        #expect(silent.count < 60, "\(silent.count) of 150")
        let again = try await Self.encode(200..<250, with: pipeline)
        #expect(again.count >= 40)
        let all = loud + silent + again
        for (packet, next) in zip(all, all.dropFirst()) {
            #expect(next.startsTalkspurt == (next.captureTime - packet.captureTime > .milliseconds(20)))
        }
        pipeline.update(SoundWishes())
        let kept = try await Self.encode(250..<300, with: pipeline, amplitude: 0)
        #expect(kept.count == 50)
    }

    @Test func frequenciesThatNobodyCanPlayAreLeftOut() async throws {
        let pipeline = try Self.pipeline()
        defer { pipeline.stop() }
        var wishes = SoundWishes()
        wishes.maximumPlaybackRate = 8_000
        pipeline.update(wishes)
        let packets = try await Self.encode(0..<20, with: pipeline)
        // Narrowband: configurations 0…3, 16…19 and none of the hybrid ones (RFC 6716 §3.1, table 2).
        #expect(packets.dropFirst().allSatisfy { [0, 1, 2, 3, 16, 17, 18, 19].contains($0.payload[0] >> 3) })
    }
}
