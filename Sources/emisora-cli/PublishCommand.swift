import Emisora

/// `emisora publish`: a picture source into a room.
struct PublishCommand {
    private var url = ""
    private var stream = "main"
    private var video = VideoSource.noise
    private var audio = AudioSource.tone
    private var size = (width: 640, height: 480)
    private var frameRate: FrameRate = 30
    private var bitrate = DataRate.kilobitsPerSecond(1_500)
    private var duration: Double?

    static let usage = "emisora publish ws://HOST:PORT/ROOM [options]"

    init(_ arguments: [String]) throws {
        // The table's closures write into a box, since they outlive no call of `parse`.
        let box = Box()
        let rest = try Arguments.parse(arguments, options: Self.options(box))
        guard rest.count == 1, rest[0].hasPrefix("ws://") else {
            throw Arguments.Usage(description: "URL: one is needed; allowed: ws://HOST:PORT/ROOM")
        }
        self = box.command
        url = rest[0]
    }

    private init() {}

    private final class Box {
        var command = PublishCommand()
    }

    static var help: String { usage + "\n" + Arguments.help(options(Box())) }

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
            .init(name: "audio", values: AudioSource.values, help: "sound source (tone)") {
                set(\.audio, AudioSource(rawValue: $0))
            },
            .init(name: "size", values: "WxH", help: "picture size, for noise, pattern and camera (640x480)") {
                set(\.size, Arguments.size($0))
            },
            .init(name: "fps", values: "N", help: "pictures a second, 1 to 240, for noise, pattern and camera (30)") {
                set(\.frameRate, Int($0).flatMap { (1...240).contains($0) ? FrameRate($0) : nil })
            },
            .init(name: "bitrate", values: "BITS|Nk|NM", help: "video bits a second, 10k to 100M (1500k)") {
                set(\.bitrate, Arguments.bitrate($0).map(DataRate.bitsPerSecond))
            },
            .init(name: "duration", values: "SECONDS", help: "ends by itself after that time") {
                set(\.duration, Arguments.seconds($0))
            },
            .init(name: "stream", values: "NAME", help: "the stream's name in the room (main)") {
                set(\.stream, $0.isEmpty ? nil : $0)
            },
        ]
    }

    func run() async -> Int32 {
        do {
            try await publish()
            return 0
        } catch {
            Terminal.note("emisora publish: \(error)")
            return 1
        }
    }

    private func publish() async throws {
        let clicks = ClickTrack.every(.seconds(2))
        let publisher = Publisher(
            name: stream,
            videoCapture: try video.makeCapture(
                width: size.width, height: size.height, frameRate: frameRate, clicks: clicks),
            audioCapture: audio.makeCapture(clicks: clicks), options: .init(videoBitrate: bitrate))
        let session = try await Session.connect(to: url)
        let start = MonotonicClock.now
        do {
            try await session.publish(publisher)
        } catch {
            await session.disconnect()
            throw error
        }
        Terminal.note("Publishing \(stream) to \(url)")
        let watcher = PublishWatcher(session: session, start: start)
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
    }
}
