import Emisora
import EmisoraOperations
import EmisoraSignalingServer

/// `emisora publish`: a picture source into a room.
struct PublishCommand {
    private var url = ""
    private var stream = "main"
    private var video = VideoSource.noise
    private var audio = AudioSource.automatic
    private var wish = CameraWish()
    private var bitrate = DataRate.kilobitsPerSecond(1_500)
    private var sizes = 1
    private var rotation = VideoRotation.none
    private var playoutDelay: ClosedRange<Duration>?
    private var duration: Double?
    private var isOnce = false
    private var cameraLog: String?
    private var dumpPackets: String?

    private var network = NetworkArguments()
    private var sessionOptions = Session.Options()

    private var log = LogSettings()
    private var metrics: MetricsAddress?

    init(_ arguments: [String]) throws {
        // The table's closures write into a box, since they outlive no call of `parse`.
        let box = Box()
        let url = try Arguments.session(arguments, options: Self.options(box))
        self = box.command
        self.url = url
        sessionOptions = try network.sessionOptions(for: url)
        Terminal.use(log)
    }

    private init() {}

    private final class Box {
        var command = PublishCommand()
    }

    static var manual: ProgramManual {
        var manual = ProgramManual(
            program: "emisora publish", purpose: "publishes pictures and sound into a room, to WHIP servers, to Janus",
            synopses: [
                "ws://HOST:PORT/ROOM|wss://HOST/ROOM [options]", "http(s)://HOST/WHIP-ENDPOINT [options]",
                "janus(s)://HOST:PORT/ROOM [options]",
            ],
            options: options(Box()))
        manual.notes = [
            "It publishes until SIGINT, SIGTERM, --duration or the end of the source, and ends with one JSON line of figures "
                + "on standard output, named as in W3C webrtc-stats.",
            PublishConsole.help,
        ]
        manual.isConfigurable = true
        manual.exitCodes = [
            (0, "it published, and was asked to end"), (1, "it could not publish, or the source failed"),
            (2, "wrong arguments; the line says which"),
        ]
        manual.examples = [
            "emisora publish ws://127.0.0.1:8080/demo --video camera --audio mic",
            "emisora publish https://example.org/whip/studio --video file:film.webm --token-file token "
                + "--metrics 127.0.0.1:9465",
        ]
        manual.seeAlso = ["emisora", "emisora-watch", "emisora-devices", "emisora-serve"]
        return manual
    }

    private static func options(_ box: Box) -> [Arguments.Option] {
        func set<Value>(_ path: WritableKeyPath<PublishCommand, Value>, _ value: Value?) -> Bool {
            guard let value else { return false }
            box.command[keyPath: path] = value
            return true
        }
        return [
            .init(name: "video", values: VideoSource.values, help: "picture source (noise)") {
                set(\.video, VideoSource($0))
            },
            .init(name: "audio", values: AudioSource.values, help: "sound source (a film's own, else tone)") {
                set(\.audio, AudioSource($0))
            },
            .init(
                name: "size", values: "WxH, 16x16 to 16383x16383",
                help: "size for noise and pattern (640x480), wished of a camera"
            ) {
                guard let size = Arguments.size($0) else { return false }
                return set(\.wish.width, size.width) && set(\.wish.height, size.height)
            },
            .init(
                name: "fps", values: "1-240|N/D",
                help: "pictures a second for noise, pattern, screen (30), wished of a camera"
            ) {
                guard let rate = Arguments.frameRate($0), (1...240).contains(rate) else { return false }
                return set(\.wish.frameRate, rate)
            },
            .init(name: "bitrate", values: "10k-100M", help: "video bits a second (1500k)") {
                set(\.bitrate, Arguments.bitrate($0).map(DataRate.bitsPerSecond))
            },
            .init(
                name: "simulcast", values: "1-3",
                help: "sizes for an SFU to choose from, each with sides half as long (1)"
            ) {
                guard let sizes = Int($0), (1...3).contains(sizes) else { return false }
                return set(\.sizes, sizes)
            },
            .init(name: "rotate", values: "0|90|180|270", help: "degrees clockwise that pictures must be turned (0)") {
                set(\.rotation, Int($0).flatMap(VideoRotation.init))
            },
            .init(
                name: "playout-delay", values: "MIN-MAX in ms, 0 to 40950",
                help: "how long after capture viewers are asked to show pictures"
            ) {
                set(\.playoutDelay, Arguments.delays($0).map { .some($0) })
            },
            .init(name: "duration", values: "SECONDS above 0", help: "ends by itself after that time") {
                guard let seconds = Arguments.seconds($0) else { return false }
                return set(\.duration, seconds)
            },
            .init(name: "once", values: "", help: "a film plays once, then publishing ends (else for ever)") { _ in
                set(\.isOnce, true)
            },
            .init(
                name: "camera-log", values: "FILE",
                help: "writes what passes between camera and program, for a report"
            ) {
                set(\.cameraLog, $0.isEmpty ? nil : .some(.some($0)))
            },
            .init(name: "dump-packets", values: PacketDumpFile.values, help: PacketDumpFile.help) {
                set(\.dumpPackets, $0.isEmpty ? nil : .some(.some($0)))
            },
            .init(name: "stream", values: Arguments.name, help: "the stream's name in the room (main)") {
                set(\.stream, Publisher.isAllowed(name: $0) ? $0 : nil)
            },
            .init(
                name: "metrics", values: "HOST:PORT", help: "where Prometheus reads figures of the stream, at /metrics"
            ) {
                set(\.metrics, MetricsAddress($0).map { .some($0) })
            },
            ProcessOptions.file,
        ] + LogSettings.options { change in change(&box.command.log) }
            + NetworkArguments.options { change in change(&box.command.network) }
    }

    func run() async -> Int32 {
        do {
            try await publish()
            return 0
        } catch SessionError.cancelled {
            // Ended while it was connecting: nothing was published.
            Terminal.result(PublishFigures().jsonLine)
            return 0
        } catch SessionError.invalidURL(let url) {
            Terminal.note(Arguments.invalidURL(url), as: "arguments.wrong", .error)
            return 2
        } catch {
            Terminal.note("emisora publish: \(error)", as: "publish.failed", .error)
            return 1
        }
    }

    private func publish() async throws {
        let clicks = ClickTrack.every(.seconds(2))
        let films = FilmSources(playback: isOnce ? .once : .looped)
        let publisher = Publisher(
            name: stream,
            videoCapture: try video.makeCapture(
                wish, clicks: clicks, films: films, cameraLog: cameraLog),
            audioCapture: try audio.makeCapture(clicks: clicks, with: video, films: films),
            options: .init(
                videoBitrate: bitrate, playoutDelay: playoutDelay,
                encodings: sizes > 1 ? VideoEncoding.halving(sizes) : []))
        publisher.videoRotation = rotation
        let exposition = PublisherExposition()
        let endpoint = MetricsEndpoint(isReady: { exposition.canBeJoined }) { exposition.text }
        if let metrics {
            let port = try endpoint.start(at: metrics)
            let url = "http://\(metrics.urlHost):\(port)/metrics"
            Terminal.note("Metrics at \(url)", as: "metrics.listening", .info, ["url": .text(url)])
        }
        defer { endpoint.stop() }
        let packets = try PacketDumpFile(dumpPackets)
        var options = sessionOptions
        options.packetDump = packets.dump
        let session = try await Termination.cancelling { [url, options] in
            try await Session.connect(to: url, options: options)
        }
        let start = MonotonicClock.now
        do {
            try await Termination.cancelling { try await session.publish(publisher) }
        } catch {
            await session.disconnect()
            throw error
        }
        exposition.canBeJoined = true
        let shown = Arguments.shown(url)
        Terminal.note(
            "Publishing \(stream) to \(shown)", as: "publish.started", .info,
            ["stream": .text(stream), "url": .text(shown)])
        let console = Task { await PublishConsole(publisher: publisher).run() }
        defer { console.cancel() }
        let watcher = PublishWatcher(
            session: session, main: publisher.videoCapture == nil ? .audio : .video, start: start,
            exposition: exposition)
        await watcher.run(until: duration.map { start + .nanoseconds(Int64($0 * 1e9)) })
        var figures = await watcher.figures
        await session.disconnect()
        // After the end nothing is on its way any more: the ledger's sum holds to the picture.
        let ledger = publisher.captureLedger
        figures.framesCaptured = ledger.captured
        figures.framesEncoded = ledger.encoded
        figures.framesLostByDriver = ledger.lostByDriver
        for (reason, count) in ledger.droppedByReason { figures.framesDroppedByReason[reason.rawValue] = count }
        figures.duration = (MonotonicClock.now - start).inSeconds
        Terminal.result(figures.jsonLine)
        try packets.finish()
        if let error = await watcher.captureError { throw error }
        if let reason = await watcher.endReason { throw SessionError.connectFailed(reason.description) }
    }
}
