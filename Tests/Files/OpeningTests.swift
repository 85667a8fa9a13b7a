import EmisoraCapture
import EmisoraCore
import Synchronization
import Testing

@testable import EmisoraFiles

/// A file on a disk that takes its time: opening it must not keep anyone from asking or stopping.
@Suite(.serialized) struct OpeningTests {
    private let studio: Studio
    private let path: String
    private let disk: SlowDisk
    private let video: MediaFileVideoCapture
    private let audio: MediaFileAudioCapture

    init() throws {
        studio = try Studio()
        path = try studio.make("film.webm", pattern, tone, vp8("-c:a libopus"))
        let demuxer = try Demuxer(path: path, as: .film)
        let disk = SlowDisk()
        self.disk = disk
        let player = FilePlayer(path: path, playback: .looped, onEnd: nil) {
            [path] interruption throws(MediaFileError) in
            disk.wait(interruption)
            return try Demuxer(path: path, as: .film, interruption: interruption)
        }
        video = MediaFileVideoCapture(player, try #require(demuxer.video))
        audio = MediaFileAudioCapture(player, try #require(demuxer.audio))
    }

    private func start(_ capture: any VideoCapture, _ consumer: VideoCaptureConsumer) throws -> StartCall {
        try StartCall { () throws(CaptureError) in try capture.start(into: consumer) }
    }

    private func start(_ capture: any AudioCapture, _ consumer: AudioCaptureConsumer) throws -> StartCall {
        try StartCall { () throws(CaptureError) in try capture.start(into: consumer) }
    }

    @Test func stopEndsAnOpeningThatHangs() async throws {
        let collector = try Collector()
        defer { collector.stop() }
        let starting = try start(video, collector.videoConsumer)
        #expect(await eventually { disk.openings == 1 })
        // Answered while the file is being opened.
        #expect(!video.isCapturing)
        #expect(throws: CaptureError.self) { try video.start(into: collector.videoConsumer) }
        video.stop()
        #expect(await eventually { starting.answer == .stopped })
        #expect(!video.isCapturing)
        disk.work()
        try video.start(into: collector.videoConsumer)
        #expect(await eventually { !collector.pictures.isEmpty })
        video.stop()
        #expect(disk.openings == 2)
    }

    @Test func theOtherCapturerCanBeStoppedWhileItWaitsForTheFile() async throws {
        let collector = try Collector()
        defer { collector.stop() }
        let first = try start(video, collector.videoConsumer)
        #expect(await eventually { disk.openings == 1 })
        let second = try start(audio, collector.audioConsumer)
        // However far the second has come.
        #expect(
            await eventually {
                audio.stop()
                return second.answer == .stopped
            })
        disk.work()
        #expect(await eventually { first.answer == .started })
        #expect(await eventually { !collector.pictures.isEmpty })
        video.stop()
        #expect(disk.openings == 1)
    }

    @Test func theOtherCapturerOpensTheFileWhenTheFirstIsStopped() async throws {
        let collector = try Collector()
        defer { collector.stop() }
        let first = try start(video, collector.videoConsumer)
        #expect(await eventually { disk.openings == 1 })
        let second = try start(audio, collector.audioConsumer)
        video.stop()
        #expect(await eventually { first.answer == .stopped })
        #expect(await eventually { disk.openings == 2 })
        disk.work()
        #expect(await eventually { second.answer == .started })
        #expect(await eventually { collector.sounds.count > 5 })
        audio.stop()
    }
}

/// A start on a thread of its own, since it blocks.
private final class StartCall: Sendable {
    enum Answer: Equatable, Sendable {
        case started
        case stopped
        case failed(String)
    }

    private let result = Mutex<Answer?>(nil)
    /// Once it has returned.
    var answer: Answer? { result.withLock { $0 } }

    init(_ start: @escaping @Sendable () throws(CaptureError) -> Void) throws(CaptureError) {
        try MediaThread().start { [self] _ in
            let answer: Answer
            do throws(CaptureError) {
                try start()
                answer = .started
            } catch {
                if case .stopped = error { answer = .stopped } else { answer = .failed("\(error)") }
            }
            result.withLock { $0 = answer }
        }
    }
}

/// Holds who opens a file until it works, or until the opening is interrupted; that must be looked for, as FFmpeg does.
private final class SlowDisk: Sendable {
    private struct State: Sendable {
        var openings = 0
        var works = false
    }

    private let state = Monitor(State())

    var openings: Int { state.withLock { $0.openings } }

    func wait(_ interruption: Interruption) {
        state.withLock { $0.openings += 1 }
        while !interruption.hasCome {
            if state.wait(until: MonotonicClock.now + .milliseconds(1), poll: { $0.works ? true : nil }) == true {
                return
            }
        }
    }

    func work() {
        state.withLock { $0.works = true }
        state.notifyAll()
    }
}
