import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraMicrophone
import EmisoraTesting
import Glibc
import Synchronization
import Testing

/// A configuration of ALSA's that is the tests' own: sound from files, and nothing at all.
private enum Configuration {
    static let folder = "/tmp/emisora-alsa-\(getpid())"

    /// Made once, since ALSA looks at the environment when it is first asked.
    static let isReady: Bool = {
        mkdir(folder, 0o700)
        atexit {
            _ = Configuration.names.map { unlink("\(Configuration.folder)/\($0)") } + [rmdir(Configuration.folder)]
        }
        write(tone(rate: 48_000), to: "48000.raw")
        write(tone(rate: 44_100), to: "44100.raw")
        let text = """
            </usr/share/alsa/alsa.conf>
            pcm.film { \(file("48000.raw")) slave.pcm { type null } hint { show on description "A film\nof sound" } }
            pcm.disc {
                type plug
                slave { pcm { \(file("44100.raw")) slave.pcm { type null } } rate 44100 }
            }
            pcm.speaker { type null  }
            pcm.broken { type nonsense }
            """
        write(Array(text.utf8), to: "asound.conf")
        setenv("ALSA_CONFIG_PATH", "\(folder)/asound.conf", 1)
        return true
    }()

    private static let names = ["48000.raw", "44100.raw", "asound.conf"]

    private static func file(_ name: String) -> String {
        "type file file \"/dev/null\" infile \"\(folder)/\(name)\" format \"raw\""
    }

    /// Three seconds of 1 kHz, 16 bits.
    private static func tone(rate: Int) -> [UInt8] {
        (0..<3 * rate).flatMap { index -> [UInt8] in
            let value = Int16(16_000 * sin(2 * .pi * 1000 * Double(index) / Double(rate)))
            return [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
        }
    }

    private static func write(_ bytes: [UInt8], to name: String) {
        guard let file = fopen("\(folder)/\(name)", "w") else { return }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}

@Suite(.serialized) struct ALSATests {
    init() {
        #expect(Configuration.isReady)
    }

    private func openConsumer() -> AudioCaptureConsumer {
        let consumer = AudioCaptureConsumer(queueLimit: 200)
        consumer.open()
        consumer.setHasSubscribers(true)
        return consumer
    }

    private func take(_ count: Int, from consumer: AudioCaptureConsumer) -> [AudioFrame] {
        var frames: [AudioFrame] = []
        while frames.count < count, let taken = consumer.waitForNext(until: MonotonicClock.now + .seconds(20)) {
            frames.append(taken.frame)
            taken.encoded()
        }
        return frames
    }

    @Test func microphoneConformsToTheRulesOfCapturers() async throws {
        // Time is not judged under sanitizers.
        let options = ConformanceOptions(
            checks: Set(ConformanceCheck.allCases).subtracting(
                getenv("EMISORA_NO_TIMING") == nil ? [] : ConformanceCheck.timed))
        let report = try await CaptureConformance.check(
            audio: { MicrophoneCapture(device: "film") }, options: options)
        #expect(report.findings.isEmpty && report.skipped.isEmpty, "\(report)")
    }

    @Test(arguments: [("film", 48_000), ("disc", 44_100)])
    func aFilesToneArrivesAtItsPitch(_ device: String, _ rate: Int) throws {
        let consumer = openConsumer()
        let opened = Mutex<[MicrophoneEvent]>([])
        let capture = MicrophoneCapture(device: device) { event in opened.withLock { $0.append(event) } }
        let start = MonotonicClock.now
        try capture.start(into: consumer)
        #expect(capture.isCapturing)
        #expect(throws: CaptureError.self) { try capture.start(into: consumer) }
        let frames = take(60, from: consumer)
        let elapsed = MonotonicClock.now - start
        capture.stop()
        #expect(!capture.isCapturing)
        try #require(frames.count == 60)
        #expect(opened.withLock { $0.first } == .opened(device: device, sampleRate: rate, channels: 1))
        // The file gives whatever is asked for at once: it is read at the machine's pace.
        #expect(elapsed > .milliseconds(1100))
        #expect(abs((frames[0].timestamp - start).inSeconds) < 1)
        // Where the machine held the thread up sound was skipped, which is told.
        if isSeamless(frames) {
            let sound = samples(Array(frames.dropFirst()))
            #expect(abs(amplitude(of: 1000, in: Array(sound.prefix(48_000))) - 16_000.0 / 32_768) < 0.002)
            #expect(amplitude(of: 1088.4, in: Array(sound.prefix(48_000))) < 0.002)
        } else {
            #expect(capture.statistics.lost > .zero)
            #expect(consumer.ledger.lostByDriver > 0)
        }
    }

    @Test func nothingSoundsAfterAFilesEndOrFromNothing() throws {
        for device in ["null", "speaker"] {
            let consumer = openConsumer()
            let capture = MicrophoneCapture(device: device, channels: 2)
            try capture.start(into: consumer)
            let frames = take(5, from: consumer)
            capture.stop()
            #expect(frames.count == 5)
            #expect(samples(frames).count == 5 * 1920)
            #expect(samples(frames).allSatisfy { $0 == 0 })
        }
    }

    /// That no descriptor stays open either is the conformance kit's check.
    @Test func fiftyStartsAndStopsLeaveNothingBehind() throws {
        let consumer = openConsumer()
        let capture = MicrophoneCapture(device: "film")
        let machine = try Yardstick()
        var longest = Duration.zero
        for _ in 0..<50 {
            try capture.start(into: consumer)
            let start = MonotonicClock.now
            capture.stop()
            longest = max(longest, MonotonicClock.now - start)
            capture.stop()
        }
        #expect(longest < .milliseconds(500) + machine.finish().worstLateness)
        let captured = consumer.ledger.captured
        #expect(take(captured, from: consumer).count == captured)
        #expect(consumer.ledger.captured == captured, "nothing arrives after stop")
    }

    @Test func stopFromWithinAnEventEndsIt() async throws {
        let consumer = openConsumer()
        let holder = Mutex<MicrophoneCapture?>(nil)
        let capture = MicrophoneCapture(device: "film") { _ in holder.withLock { $0 }?.stop() }
        holder.withLock { $0 = capture }
        do throws(CaptureError) {
            try capture.start(into: consumer)
        } catch {
            guard case .stopped = error else { throw error }
        }
        let deadline = MonotonicClock.now + .seconds(10)
        while capture.isCapturing, MonotonicClock.now < deadline { await Task.yield() }
        #expect(!capture.isCapturing)
        holder.withLock { $0 = nil }
    }

    @Test func aNameThatIsNoneTellsWhichThereAre() throws {
        for device in ["nowhere", "hw:7,3", "broken"] {
            do throws(CaptureError) {
                try MicrophoneCapture(device: device).start(into: openConsumer())
                Issue.record("\(device) opened")
            } catch {
                guard case .custom(let reason as MicrophoneError) = error else { throw error }
                #expect("\(reason)".contains("\"\(device)\""))
                #expect("\(reason)".contains("film"), "\(reason)")
            }
        }
        for capture in [
            MicrophoneCapture(device: ""), MicrophoneCapture(device: "film", channels: 0),
            MicrophoneCapture(device: "film", channels: 3),
        ] {
            #expect(throws: CaptureError.self) { try capture.start(into: openConsumer()) }
            #expect(!capture.isCapturing)
        }
    }

    @Test func devicesAreThoseOfTheConfigurationThatRecord() {
        let devices = MicrophoneCapture.devices()
        #expect(devices.contains { $0.name == "film" && $0.title == "A film, of sound" })
        #expect(!devices.contains { ["null", "samplerate", "upmix"].contains($0.name) })
    }
}
