import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraFiles
import EmisoraVideo
import Foundation
import Synchronization
import Testing

@Suite(.serialized) struct PlayingTests {
    struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        let coding: String
        var testDescription: String { name }
    }

    static let kinds = [
        Kind(name: "film.webm", coding: vp8("-c:a libopus")),
        Kind(name: "film.mp4", coding: h264("-c:a aac")),
        Kind(name: "bframes.mp4", coding: "-c:v libx264 -bf 3 -pix_fmt yuv420p -c:a aac"),
        Kind(name: "film.ivf", coding: vp8()),
        Kind(name: "film.mkv", coding: "-c:v ffv1 -pix_fmt yuv420p -c:a flac"),
        Kind(name: "film.ts", coding: h264("-c:a aac")),
    ]

    /// Plays once; the pictures as they came, with those that were too late.
    private func playOnce(_ path: String) async throws -> (Collector, MediaFile) {
        let ends = Mutex<[MediaFileError?]>([])
        let film = try MediaFile(path: path, playback: .once) { failure in ends.withLock { $0.append(failure) } }
        let collector = try Collector()
        defer { collector.stop() }
        try film.video?.start(into: collector.videoConsumer)
        try film.audio?.start(into: collector.audioConsumer)
        #expect(await eventually { ends.withLock { !$0.isEmpty } })
        #expect(film.video?.isCapturing != true && film.audio?.isCapturing != true)
        #expect(ends.withLock { $0.count } == 1 && ends.withLock { $0.first } == .some(nil))
        #expect(film.failure == nil)
        #expect(await eventually { collector.videoConsumer.ledger.inFlight == 0 })
        #expect(await eventually { collector.audioConsumer.ledger.inFlight == 0 })
        return (collector, film)
    }

    @Test func theFileIsOpenOnlyWhileItIsPlayed() async throws {
        let studio = try Studio()
        let path = try studio.make("film.webm", pattern, tone, vp8("-c:a libopus"))
        let (_, film) = try await playOnce(path)
        #expect(await eventually { descriptors(of: path) == 0 }, "after its end")
        withExtendedLifetime(film) {}
        let collector = try Collector()
        defer { collector.stop() }
        let looped = try MediaFile(path: path, playback: .looped)
        let video = try #require(looped.video)
        try video.start(into: collector.videoConsumer)
        #expect(await eventually { !collector.pictures.isEmpty })
        #expect(descriptors(of: path) == 1)
        video.stop()
        #expect(await eventually { descriptors(of: path) == 0 }, "after a stop")
    }

    private func descriptors(of path: String) -> Int {
        let folder = "/proc/self/fd/"
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return numbers.count { (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0)) == path }
    }

    @Test(arguments: kinds) func eachPictureOfAFilmComesOnceAsItIsAndAtItsTime(_ kind: Kind) async throws {
        let studio = try Studio()
        let isSilent = kind.name.hasSuffix("ivf")
        let path = try studio.make(kind.name, pattern, isSilent ? "" : tone, kind.coding)
        let source = try studio.bytes(studio.make("source.yuv", pattern, "-f rawvideo -pix_fmt yuv420p"))
        let (collector, film) = try await playOnce(path)
        let ledger = collector.videoConsumer.ledger
        #expect(ledger.captured == 20)
        #expect(ledger.captured == ledger.encoded + ledger.dropped(.captureLate) + ledger.dropped(.mailboxReplaced))
        #expect(ledger.encoded >= 10)
        #expect(film.video?.format.frameRate == 25)
        let pictures = collector.pictures
        let first = try #require(pictures.first)
        let size = 160 * 120 * 3 / 2
        for picture in pictures {
            let index = Int(((picture.timestamp - first.timestamp).inSeconds * 25).rounded())
            // The times are the file's, to the rounding of its own unit.
            let error = (picture.timestamp - first.timestamp).inMilliseconds - Double(index) * 40
            #expect(abs(error) <= 1)
            #expect(picture.format.pixelFormat == .i420 && picture.rotation == .none)
            guard ledger.dropped == 0 else { continue }
            #expect(psnr(source[(index * size)..<((index + 1) * size)], picture.packedBytes) > 25)
        }
        let sound = collector.audioConsumer.ledger
        #expect(isSilent ? sound.captured == 0 : (40...46).contains(sound.captured))
    }

    @Test func losslessPicturesArriveBitForBit() async throws {
        let studio = try Studio()
        let path = try studio.make("film.mkv", pattern, "-c:v ffv1 -pix_fmt yuv420p")
        let source = try studio.bytes(studio.make("source.yuv", pattern, "-f rawvideo -pix_fmt yuv420p"))
        let (collector, _) = try await playOnce(path)
        let first = try #require(collector.pictures.first)
        let size = 160 * 120 * 3 / 2
        for picture in collector.pictures {
            let index = Int(((picture.timestamp - first.timestamp).inSeconds * 25).rounded())
            #expect(psnr(source[(index * size)..<((index + 1) * size)], picture.packedBytes) == .infinity)
        }
    }

    @Test func variableFrameRateKeepsTheFilesOwnTimes() async throws {
        let studio = try Studio()
        let path = try studio.make(
            "film.mkv", "-f lavfi -i testsrc2=s=160x120:r=50:d=1,select='not(mod(n,7))+eq(n,3)'",
            "-fps_mode passthrough -c:v ffv1 -pix_fmt yuv420p")
        let (collector, _) = try await playOnce(path)
        let expected: [Double] = [0, 60, 140, 280, 420, 560, 700, 840, 980]
        #expect(collector.videoConsumer.ledger.captured == expected.count)
        let first = try #require(collector.pictures.first)
        for picture in collector.pictures {
            let time = (picture.timestamp - first.timestamp).inMilliseconds
            #expect(expected.contains { abs($0 - time) <= 1 })
        }
    }

    @Test func soundIsResampledWithoutAGapAndKeepsItsPitch() async throws {
        let studio = try Studio()
        for (rate, layout, channels) in [(44_100, "mono", 1), (22_050, "stereo", 2), (96_000, "5.1", 2)] {
            let path = try studio.make(
                "sound.wav", "-f lavfi -i sine=f=1000:r=\(rate):d=0.6",
                "-af pan=\(layout)|\(layout == "5.1" ? "FL=c0|FR=c0" : "c0=c0" + (channels == 2 ? "|c1=c0" : ""))")
            let film = try MediaFile(path: path, playback: .once)
            #expect(film.video == nil)
            let (collector, _) = try await playOnce(path)
            let sounds = collector.sounds
            let first = try #require(sounds.first)
            #expect(first.format == AudioFormat(sampleRate: 48_000, channels: channels))
            #expect(collector.audioConsumer.ledger.captured == 30)
            guard collector.audioConsumer.ledger.dropped == 0 else { continue }
            for (index, sound) in sounds.enumerated() {
                #expect(sound.samplesPerChannel == 960)
                #expect(abs((sound.timestamp - first.timestamp).inMilliseconds - 20 * Double(index)) < 0.001)
            }
            let samples = collector.samples
            let crossings = zip(samples, samples.dropFirst()).count { $0 < 0 && $1 >= 0 }
            #expect((597...603).contains(crossings))
        }
    }

    @Test(arguments: ["film.mp4", "film.webm"]) func pictureAndSoundKeepTogetherThroughLoops(
        _ name: String
    ) async throws {
        let studio = try Studio()
        let path = try studio.make(
            name, flash, click, name.hasSuffix("mp4") ? h264("-c:a aac") : vp8("-c:a libopus"))
        let film = try MediaFile(path: path)
        let collector = try Collector()
        defer { collector.stop() }
        try film.video?.start(into: collector.videoConsumer)
        try film.audio?.start(into: collector.audioConsumer)
        #expect(await eventually { collector.sounds.count > 175 })
        film.video?.stop()
        film.audio?.stop()
        let flashes = collector.pictures.filter { $0.meanLuma > 128 }.map(\.timestamp)
        let clicks = Self.clicks(collector.sounds)
        #expect(flashes.count >= 3 && clicks.count >= 3)
        for (flash, click) in zip(flashes, clicks) {
            #expect(abs((flash - click).inMilliseconds) <= 20)
        }
        let distances = zip(flashes, clicks).map { ($1 - $0).inMilliseconds }
        print("\(name): click after flash by \(distances.map { ($0 * 10).rounded() / 10 }) ms")
        // Each pass as long as the other, and no picture or sound twice or missing in between.
        for (one, next) in zip(flashes, flashes.dropFirst()) {
            #expect(abs((next - one).inMilliseconds - (flashes[1] - flashes[0]).inMilliseconds) <= 1)
            #expect((1000...1050).contains((next - one).inMilliseconds.rounded()))
        }
        let times = collector.pictures.map(\.timestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        let sounds = collector.sounds.map(\.timestamp)
        if collector.audioConsumer.ledger.dropped == 0 {
            #expect(zip(sounds, sounds.dropFirst()).allSatisfy { abs(($1 - $0).inMilliseconds - 20) < 0.01 })
        }
    }

    /// When each click begins.
    private static func clicks(_ sounds: [AudioFrame]) -> [Instant] {
        var clicks: [Instant] = []
        for sound in sounds {
            guard case .int16(let samples) = sound.samples else { continue }
            let channels = sound.format.channels
            guard let index = samples.firstIndex(where: { abs(Int($0)) > 8000 }) else { continue }
            let time = sound.timestamp + .nanoseconds(Int64(index / channels) * 1_000_000_000 / 48_000)
            if let last = clicks.last, time - last < .milliseconds(100) { continue }
            clicks.append(time)
        }
        return clicks
    }

    @Test(arguments: kinds) func aLoopShowsTheSamePicturesAgain(_ kind: Kind) async throws {
        let studio = try Studio()
        let isSilent = kind.name.hasSuffix("ivf")
        let film = try MediaFile(
            path: studio.make(
                kind.name, "-f lavfi -i testsrc2=s=160x120:r=25:d=0.4",
                isSilent ? "" : "-f lavfi -i sine=f=1000:r=44100:d=0.4", kind.coding))
        let collector = try Collector()
        defer { collector.stop() }
        try film.video?.start(into: collector.videoConsumer)
        try film.audio?.start(into: collector.audioConsumer)
        #expect(await eventually { collector.pictures.count >= 40 })
        film.video?.stop()
        film.audio?.stop()
        var appearances: [[UInt8]: Int] = [:]
        for picture in collector.pictures { appearances[picture.packedBytes, default: 0] += 1 }
        // Four passes through ten pictures, whose decoding begins anew each time.
        #expect(appearances.count == 10)
        #expect(collector.videoConsumer.ledger.dropped(.invalid) == 0)
        let times = collector.pictures.map(\.timestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func aLoopLastsAsLongAsTheLongerOfTheTwo() async throws {
        let studio = try Studio()
        let path = try studio.make(
            "film.mkv", "-f lavfi -i testsrc2=s=64x48:r=25:d=0.2", "-f lavfi -i sine=f=1000:r=48000:d=0.4",
            "-c:v ffv1 -c:a flac")
        let film = try MediaFile(path: path)
        let collector = try Collector()
        defer { collector.stop() }
        try film.audio?.start(into: collector.audioConsumer)
        try film.video?.start(into: collector.videoConsumer)
        #expect(await eventually { collector.sounds.count > 45 })
        film.video?.stop()
        film.audio?.stop()
        let ledger = collector.videoConsumer.ledger
        let times = collector.pictures.map(\.timestamp)
        let first = try #require(times.first)
        for time in times {
            // Five pictures, then the last one stays for two tenths of a second.
            let inLoop = Int(((time - first).inMilliseconds).rounded()) % 400
            #expect(inLoop <= 161 || inLoop >= 399)
        }
        #expect(ledger.captured >= 10 && ledger.dropped(.invalid) == 0)
        // The tone goes on as if the file had no end: 0.4 s are 400 whole waves.
        let samples = collector.samples
        let steps = zip(samples, samples.dropFirst()).map { abs(Int($0) - Int($1)) }
        if collector.audioConsumer.ledger.dropped == 0 { #expect(steps.max() ?? 0 < 700) }
    }

    @Test func eitherStreamPlaysAlone() async throws {
        let studio = try Studio()
        let path = try studio.make("film.webm", pattern, tone, vp8("-c:a libopus"))
        for kind in ["video", "audio"] {
            let film = try MediaFile(path: path, playback: .once)
            let collector = try Collector()
            defer { collector.stop() }
            if kind == "video" {
                try film.video?.start(into: collector.videoConsumer)
            } else {
                try film.audio?.start(into: collector.audioConsumer)
            }
            #expect(await eventually { film.video?.isCapturing == false && film.audio?.isCapturing == false })
            #expect(collector.videoConsumer.ledger.captured == (kind == "video" ? 20 : 0))
            #expect((collector.audioConsumer.ledger.captured >= 40) == (kind == "audio"))
        }
    }

    @Test func whoJoinsOnTheWayIsInTime() async throws {
        let studio = try Studio()
        let path = try studio.make("film.mp4", flash, click, h264("-g 5 -c:a aac"))
        let film = try MediaFile(path: path)
        let collector = try Collector()
        defer { collector.stop() }
        try film.audio?.start(into: collector.audioConsumer)
        #expect(await eventually { collector.sounds.count > 70 })
        try film.video?.start(into: collector.videoConsumer)
        #expect(await eventually { collector.pictures.count { $0.meanLuma > 128 } >= 2 })
        let count = collector.sounds.count
        #expect(await eventually { collector.sounds.count > count + 10 })
        film.video?.stop()
        film.audio?.stop()
        let clicks = Self.clicks(collector.sounds)
        for picture in collector.pictures where picture.meanLuma > 128 {
            #expect(clicks.contains { abs(($0 - picture.timestamp).inMilliseconds) <= 20 })
        }
        #expect(collector.videoConsumer.ledger.dropped(.invalid) == 0)
    }

    @Test func stoppingIsRepeatableAndNothingComesAfterIt() async throws {
        let studio = try Studio()
        let path = try studio.make("film.webm", pattern, tone, vp8("-c:a libopus"))
        let film = try MediaFile(path: path)
        let collector = try Collector()
        defer { collector.stop() }
        for round in 0..<20 {
            try film.video?.start(into: collector.videoConsumer)
            try film.audio?.start(into: collector.audioConsumer)
            #expect(throws: CaptureError.self) { try film.video?.start(into: collector.videoConsumer) }
            if round % 4 == 0 {
                let count = collector.videoConsumer.ledger.captured
                #expect(await eventually { collector.videoConsumer.ledger.captured > count })
            }
            film.video?.stop()
            film.video?.stop()
            let captured = collector.videoConsumer.ledger.captured
            film.audio?.stop()
            #expect(film.video?.isCapturing == false && film.audio?.isCapturing == false)
            #expect(collector.videoConsumer.ledger.captured == captured)
        }
    }

    @Test func capturersAndConsumersAreLetGo() async throws {
        let studio = try Studio()
        let path = try studio.make("film.webm", pattern, tone, vp8("-c:a libopus"))
        weak var video: MediaFileVideoCapture?
        weak var audio: MediaFileAudioCapture?
        weak var consumer: VideoCaptureConsumer?
        try {
            let film = try MediaFile(path: path)
            let made = VideoCaptureConsumer()
            (video, audio, consumer) = (film.video, film.audio, made)
            try film.video?.start(into: made)
            try film.audio?.start(into: AudioCaptureConsumer())
            // Not even stopped: letting go of a capturer ends it.
        }()
        #expect(await eventually { video == nil && audio == nil && consumer == nil })
    }
}
