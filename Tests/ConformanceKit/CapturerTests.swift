import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraTesting
import EmisoraVideo
import Glibc
import Synchronization
import Testing

/// Every capturer of the base product keeps the rules.
@Suite struct CapturerTests {
    private let picturesOnly: Set<ConformanceCheck> = [.pixels, .heldFrames, .frameRate, .wants]

    private func check(
        _ options: ConformanceOptions = ConformanceOptions(checks: judgedChecks),
        _ make: @escaping @Sendable () throws -> any VideoCapture
    ) async throws {
        var options = options
        options.mustObeyWants = true
        let report = try await Gate.shared.pass { [options] in
            try await CaptureConformance.check(options: options, make)
        }
        #expect(report.findings.isEmpty, "\(report)")
        #expect(report.skipped.isEmpty, "\(report)")
        #expect(!report.description.contains("not judged"), "\(report)")
    }

    private func check(audio make: @escaping @Sendable () throws -> any AudioCapture) async throws {
        let report = try await Gate.shared.pass {
            try await CaptureConformance.check(audio: make, options: ConformanceOptions(checks: judgedChecks))
        }
        #expect(report.findings.isEmpty, "\(report)")
        #expect(report.skipped.isEmpty, "\(report)")
        #expect(Set(report.passed) == judgedChecks.subtracting(picturesOnly), "\(report)")
    }

    @Test func noiseCaptureConforms() async throws {
        try await check { NoiseCapture(width: 320, height: 240) }
    }

    @Test func patternCaptureConforms() async throws {
        // Drawing it without optimisation takes its time.
        try await check(ConformanceOptions(checks: judgedChecks, highestLoad: 1.5)) {
            PatternCapture(width: 160, height: 120, frameRate: 15)
        }
    }

    @Test func fileCaptureConforms() async throws {
        let path = "/tmp/emisora-conformance-\(getpid()).y4m"
        defer { unlink(path) }
        let pool = VideoFramePool()
        var writer = try Y4MWriter(
            path: path, size: VideoSize(width: 64, height: 48), frameRate: FrameRate(30_000, 1001)!)
        for number in 0..<7 {
            var picture = try pool.makeFrame(VideoFormat(.i420, width: 64, height: 48))
            for plane in 0..<3 {
                picture.withUnsafeMutablePlane(plane) {
                    _ = $0.initializeMemory(as: UInt8.self, repeating: UInt8(40 + 20 * number))
                }
            }
            try writer.append(picture.finish(timestamp: .zero))
        }
        try await check { try FileCapture(path: path) }
    }

    @Test func pacedCaptureWithADrawingConforms() async throws {
        try await check {
            PacedCapture(format: VideoFormat(.bgra, width: 65, height: 33, strides: [300], frameRate: 50)) {
                picture, tick in
                picture.withUnsafeMutablePlane(0) {
                    _ = $0.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: tick.index))
                }
            }
        }
    }

    @Test func pushCaptureConformsWhenAThreadPushes() async throws {
        try await check { try FedCapture() }
    }

    @Test func toneAndSilenceConform() async throws {
        try await check(audio: { ToneCapture(format: .stereo) })
        try await check(audio: { SilenceCapture(frameDuration: .milliseconds10) })
    }

    @Test func wavCaptureConforms() async throws {
        let path = "/tmp/emisora-conformance-\(getpid()).wav"
        defer { unlink(path) }
        try write(wav(sampleRate: 44_100, sampleCount: 5000), to: path)
        try await check(audio: { try WAVCapture(path: path) })
    }

    /// Linear PCM, 16 bits, one channel.
    private func wav(sampleRate: UInt32, sampleCount: UInt32) -> [UInt8] {
        func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: number.littleEndian) { [UInt8]($0) }
        }
        let format =
            bytes(UInt16(1)) + bytes(UInt16(1)) + bytes(sampleRate) + bytes(2 * sampleRate)
            + bytes(UInt16(2)) + bytes(UInt16(16))
        return Array("RIFF".utf8) + bytes(36 + 2 * sampleCount) + Array("WAVEfmt ".utf8) + bytes(UInt32(16)) + format
            + Array("data".utf8) + bytes(2 * sampleCount) + [UInt8](repeating: 0, count: Int(2 * sampleCount))
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    }

    @Test func oneInstanceCanBeCheckedAndIsLeftStopped() async throws {
        let options = ConformanceOptions(checks: judgedChecks, cycles: 5, watchDuration: .milliseconds(500))
        let capture = NoiseCapture(width: 64, height: 48)
        let report = try await Gate.shared.pass { try await CaptureConformance.check(capture, options: options) }
        #expect(report.findings.isEmpty, "\(report)")
        #expect(report.skipped.map(\.check) == [.abandonment])
        #expect(!capture.isCapturing)
        let sound = ToneCapture()
        let soundReport = try await CaptureConformance.check(audio: sound, options: options)
        #expect(soundReport.findings.isEmpty, "\(soundReport)")
        #expect(!sound.isCapturing)
    }

    @Test func whatIsThrownIsTheFactorysOwn() async throws {
        struct NoCamera: Error {}
        do throws(CaptureError) {
            _ = try await CaptureConformance.check { () throws -> any VideoCapture in throw NoCamera() }
            Issue.record("a factory that throws gave a report")
        } catch {
            guard case .custom(let own) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(own is NoCamera)
        }
    }

    @Test func aCapturerThatCannotStartIsAFindingThatSaysWhy() async throws {
        let report = try await CaptureConformance.check { PatternCapture(width: 16, height: 16) }
        #expect(report.findings.map(\.check) == [.startAndStop])
        #expect(report.description.contains("at least 160x120"), "\(report)")
        #expect(report.passed.isEmpty)
    }

    @Test func onlyTheChecksThatAreWantedAreMade() async throws {
        let options = ConformanceOptions(checks: [.doubleStart], cycles: 2)
        let report = try await CaptureConformance.check(options: options) { NoiseCapture(width: 32, height: 32) }
        #expect(Set(report.passed) == [.startAndStop, .doubleStart])
        #expect(report.skipped.isEmpty && report.findings.isEmpty)
    }

    @Test(.enabled(if: judgedChecks.contains(.wants))) func ignoredWantsAreANoteOrAFindingAsAsked() async throws {
        var options = ConformanceOptions(checks: [.wants], cycles: 2)
        let make: @Sendable () -> any VideoCapture = { UnthriftyCapture() }
        let lenient = try await Gate.shared.pass { [options] in
            try await CaptureConformance.check(options: options, make)
        }
        #expect(lenient.findings.isEmpty)
        #expect(lenient.notes.contains { $0.check == .wants && $0.sentence.contains("consumer.wants") }, "\(lenient)")
        options.mustObeyWants = true
        let strict = try await Gate.shared.pass { [options] in
            try await CaptureConformance.check(options: options, make)
        }
        #expect(strict.findings.map(\.check) == [.wants], "\(strict)")
    }
}

/// A `PushCapture` that a thread pushes into all the time, as a renderer would.
private final class FedCapture: VideoCapture {
    private let push = PushCapture(format: VideoFormat(.i420, width: 32, height: 32, frameRate: 50))
    private let feeder = MediaThread()

    init() throws {
        let push = push
        try feeder.start { thread in
            let pool = VideoFramePool()
            var thinner = FrameThinner()
            var due = MonotonicClock.now
            while thread.wait(until: due) {
                defer { due = due + push.format.frameRate!.interval }
                guard thinner.keep(due, rate: push.wants?.highestFrameRate) else { continue }
                guard var picture = try? pool.makeFrame(push.format) else { continue }
                for plane in 0..<3 {
                    picture.withUnsafeMutablePlane(plane) { _ = $0.initializeMemory(as: UInt8.self, repeating: 99) }
                }
                push.push(picture.finish(timestamp: MonotonicClock.now))
            }
        }
    }

    deinit {
        feeder.requestStop()
    }

    var format: VideoFormat { push.format }
    var isCapturing: Bool { push.isCapturing }
    func start(into consumer: VideoCaptureConsumer) throws(CaptureError) { try push.start(into: consumer) }
    func stop() { push.stop() }
}

/// Hands over every picture whatever is wanted.
private final class UnthriftyCapture: VideoCapture {
    let format = VideoFormat(.i420, width: 32, height: 32, frameRate: 50)
    private let thread = MediaThread()

    var isCapturing: Bool { thread.isRunning }

    func start(into consumer: VideoCaptureConsumer) throws(CaptureError) {
        let format = format
        let isStarted = try thread.start { thread in
            while thread.wait(until: MonotonicClock.now + .milliseconds(20)) {
                guard let picture = try? consumer.makeFrame(format) else { continue }
                consumer.consume(picture.finish(timestamp: MonotonicClock.now))
            }
        }
        guard isStarted else { throw .alreadyCapturing }
    }

    func stop() { thread.stop() }

    deinit { thread.requestStop() }
}
