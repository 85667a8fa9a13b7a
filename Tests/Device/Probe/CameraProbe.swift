import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import FoundationEssentials
import Glibc
import Synchronization

/// Captures from a camera as the encoder's thread would, and tells what happened: on standard error as it happens, a line
/// an event, and on standard output in the end. Its other commands are a viewer, a publisher and a clock for the tests of
/// what viewers see.
@main
enum CameraProbe {
    static func main() async {
        // Blocked before there are threads, so that it stays pending until it is looked for.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            switch words.first {
            case "stalls":
                pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                try StallTicker.run()
            case "watch": try await Viewer(url: try ProbeArguments.url(words)).run()
            case "publish":
                let arguments = try ProbeArguments(Array(words.dropFirst(2)))
                try await SwitchingPublisher(url: try ProbeArguments.url(words), arguments: arguments).run()
            default: try capture(try ProbeArguments(words))
            }
        } catch let error as ProbeArguments.Malformed {
            tell("\(error)\n\(ProbeArguments.usage)")
            exit(2)
        } catch {
            tell("camera-probe: \(error)")
            exit(1)
        }
    }

    private static func capture(_ arguments: ProbeArguments) throws {
        let system = WatchedV4L2(only: arguments.format)
        let descriptors = descriptorCount()
        var report = try capture(arguments, system)
        awaitRelease(system, descriptors)
        report.system = system.counts
        report.descriptorsLeft = descriptorCount() - descriptors
        Self.report(report)
    }

    static func report(_ report: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let text = try? encoder.encode(report) else {
            return tell("camera-probe: the report has no JSON")
        }
        print(String(decoding: text, as: UTF8.self))
    }

    private static func capture(_ arguments: ProbeArguments, _ system: WatchedV4L2) throws
        -> ProbeReport
    {
        let journal = Journal()
        let consumer = VideoCaptureConsumer()
        consumer.setHasSubscribers(true)
        consumer.open()
        let camera = CameraCapture(device: arguments.device, wish: arguments.wish, system: system) {
            event in
            journal.note(event)
        }
        try camera.start(into: consumer)
        let end = arguments.seconds.map { MonotonicClock.now + .seconds($0) } ?? .distantFuture
        var follower = FrameFollower()
        var sampler = RequestSampler()
        while MonotonicClock.now < end && !isTerminationPending {
            sampler.look(system.counts.requests, at: MonotonicClock.now)
            let pause = min(end, MonotonicClock.now + .milliseconds(100))
            guard let taken = consumer.waitForLatest(until: pause) else { continue }
            follower.take(taken.frame, at: MonotonicClock.now, consumer.ledger)
            taken.encoded()
        }
        var report = journal.report
        let format = camera.format
        let stopBegan = MonotonicClock.now
        camera.stop()
        report.stopBeganAt = stopBegan.seconds
        report.stopSeconds = (MonotonicClock.now - stopBegan).inSeconds
        report.devicesOpenAfterStop = system.counts.openDevices
        consumer.close()
        report.frames = follower.frames
        report.requestsOverTime = sampler.samples
        report.pixelFormat = "\(format.pixelFormat)"
        report.take(consumer.ledger)
        return report
    }

    /// The capturer is gone now. Its thread may have been ended but not yet have let go of everything.
    private static func awaitRelease(_ system: WatchedV4L2, _ descriptors: Int) {
        let end = MonotonicClock.now + .seconds(1)
        while MonotonicClock.now < end
            && (system.counts.mappings > 0 || descriptorCount() > descriptors)
        {
            usleep(5_000)
        }
    }

    private static var isTerminationPending: Bool {
        var signals = sigset_t()
        sigpending(&signals)
        return sigismember(&signals, SIGTERM) == 1
    }

    /// The descriptors this process has open, but for the one that lists them.
    private static func descriptorCount() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = -1
        while let entry = readdir(folder) {
            if entry.pointee.d_type == UInt8(DT_LNK) { count += 1 }
        }
        return count
    }

    static func tell(_ text: String) {
        var line = text + "\n"
        line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

/// Keeps what the capturer's events tell. Called on the capturer's thread.
private final class Journal: Sendable {
    private let state = Mutex(ProbeReport())

    var report: ProbeReport { state.withLock { $0 } }

    func note(_ event: CameraEvent) {
        let now = MonotonicClock.now.seconds
        state.withLock { report in
            switch event {
            case .modeChosen(let mode, _, _):
                report.modes.append(
                    ProbeReport.Mode(
                        fourcc: "\(mode.fourcc)", width: mode.width, height: mode.height,
                        rate: mode.interval.map { Double($0.denominator) / Double($0.numerator) }))
            case .interruptionBegan(let reason):
                report.interruptions.append(ProbeReport.Interruption(reason: "\(reason)", beganAt: now))
            case .interruptionEnded:
                guard let last = report.interruptions.indices.last else { break }
                report.interruptions[last].endedAt = now
            case .rateMissed(_, let measured):
                report.ratesMissed.append(measured)
            case .framesLostByDriver(let count):
                report.lossesReported += count
            case .framesDropped(let reason, let count):
                report.dropsReported[reason.rawValue, default: 0] += count
            }
        }
        CameraProbe.tell("\(now) \(event)")
    }
}

/// Notes a few times a second how much the driver has been asked.
private struct RequestSampler {
    private(set) var samples: [ProbeReport.Sample] = []
    private var next = Instant.zero

    mutating func look(_ requests: Int, at now: Instant) {
        guard now >= next else { return }
        next = now + .milliseconds(200)
        samples.append(ProbeReport.Sample(at: now.seconds, requests: requests))
    }
}

/// Follows the frames that arrive.
private struct FrameFollower {
    private(set) var frames = ProbeReport.Frames()
    private var lastTimestamp: Instant?
    private var lastPicture: [UInt8] = []
    private var first: (timestamp: Instant, captured: Int)?

    mutating func take(_ frame: VideoFrame, at now: Instant, _ ledger: CaptureLedger) {
        let now = now.seconds
        if let first, let last = frames.lastAt {
            if now - last >= 0.5 { frames.silences.append([last, now]) }
            // By the driver's clock: when the first frame gets here says little on a busy host.
            let duration = (frame.timestamp - first.timestamp).inSeconds
            frames.capturedRate = Double(ledger.captured - first.captured) / duration
        } else {
            frames.firstAt = now
            first = (frame.timestamp, ledger.captured)
            CameraProbe.tell("\(now) first frame")
        }
        frames.lastAt = now
        frames.count += 1
        if frames.count.isMultiple(of: 5) { CameraProbe.tell("\(now) \(frames.count) frames") }
        if let lastTimestamp, frame.timestamp <= lastTimestamp { frames.timestampsIncrease = false }
        lastTimestamp = frame.timestamp
        if differsFromLast(frame) { frames.changes.append(now) }
    }

    /// The driver draws a running number into each picture.
    private mutating func differsFromLast(_ frame: VideoFrame) -> Bool {
        frame.withUnsafePlanes { planes in
            let picture = planes[0]
            let isSame =
                picture.count == lastPicture.count
                && lastPicture.withUnsafeBytes {
                    memcmp($0.baseAddress!, picture.baseAddress!, picture.count) == 0
                }
            if !isSame { lastPicture = [UInt8](picture) }
            return !isSame
        }
    }
}

extension Instant {
    var seconds: Double { Double(nanoseconds) / 1e9 }
}
