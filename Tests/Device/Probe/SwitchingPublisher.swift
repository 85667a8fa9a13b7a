import Emisora
import EmisoraCapture

/// `camera-probe publish URL …`: publishes a camera and goes over to others, as lines on standard input say:
/// `switch NAME [WxH [FPS]]`. Events and outcomes are told on standard error.
struct SwitchingPublisher {
    let url: String
    let arguments: ProbeArguments

    func run() async throws {
        let camera = CameraCapture(device: arguments.device, wish: arguments.wish) { event in
            CameraProbe.tell("\(MonotonicClock.now.seconds) \(event)")
        }
        let publisher = Publisher(videoCapture: camera)
        let session = try await Session.connect(to: url)
        try await session.publish(publisher)
        CameraProbe.tell("publishing")
        let commands = MediaThread()
        // A thread, since a switch blocks until it is done.
        try commands.start { _ in
            while let line = readLine() { obey(line, camera) }
        }
        await Terminated.wait()
        await session.disconnect()
        var report = ProbeReport()
        report.take(publisher.captureLedger)
        CameraProbe.report(report)
    }

    private func obey(_ line: String, _ camera: CameraCapture) {
        let words = line.split(separator: " ").map(String.init)
        guard words.first == "switch", words.count >= 2 else {
            return CameraProbe.tell("unknown: \(line)")
        }
        do {
            var options = ["--device", words[1]]
            if words.count > 2 { options += ["--size", words[2]] }
            if words.count > 3 { options += ["--fps", words[3]] }
            let wanted = try ProbeArguments(options)
            try camera.switchCamera(to: words[1], wish: words.count > 2 ? wanted.wish : nil)
            CameraProbe.tell("\(MonotonicClock.now.seconds) switched to \(words[1])")
        } catch {
            CameraProbe.tell("\(MonotonicClock.now.seconds) not switched: \(error)")
        }
    }
}
