import Emisora
import EmisoraOperations
import EmisoraSignalingServer

/// `emisora watch`: a stream of a room, decoded and counted.
struct WatchCommand {
    private var url = ""
    private var stream: String?
    private var frames = 1
    private var timeout = 30.0
    private var save: String?
    private var offerer: Offerer?
    private var dumpPackets: String?
    private var receives = false

    private var network = NetworkArguments()
    private var sessionOptions = Session.Options()

    private var log = LogSettings()

    private init() {}

    private final class Box {
        var command = WatchCommand()
    }

    init(_ arguments: [String]) throws {
        // As in `PublishCommand`.
        let box = Box()
        let url = try Arguments.session(arguments, options: Self.options(box))
        self = box.command
        self.url = url
        sessionOptions = try network.sessionOptions(for: url)
        Terminal.use(log)
    }

    static var manual: ProgramManual {
        var manual = ProgramManual(
            program: "emisora watch", purpose: "receives a stream of a room, a WHEP server or a Janus, and counts it",
            synopses: [
                "ws://HOST:PORT/ROOM|wss://HOST/ROOM [options]", "http(s)://HOST/WHEP-ENDPOINT [options]",
                "janus(s)://HOST:PORT/ROOM [options]",
            ],
            options: options(Box()))
        manual.notes = [
            "It ends with one JSON line of figures on standard output, named as in W3C webrtc-stats. A stream that is not "
                + "there yet, or goes away, is waited for."
        ]
        manual.isConfigurable = true
        manual.exitCodes = [
            (0, "as many pictures as asked for were decoded"), (1, "fewer were"),
            (2, "wrong arguments; the line says which"),
        ]
        manual.examples = ["emisora watch ws://127.0.0.1:8080/demo --frames 100 --save frame.png"]
        manual.seeAlso = ["emisora", "emisora-publish", "emisora-serve"]
        return manual
    }

    private static func options(_ box: Box) -> [Arguments.Option] {
        func set<Value>(_ path: WritableKeyPath<WatchCommand, Value>, _ value: Value?) -> Bool {
            guard let value else { return false }
            box.command[keyPath: path] = value
            return true
        }
        return [
            .init(name: "frames", values: "1 or more", help: "pictures to decode before it ends well (1)") {
                set(\.frames, Int($0).flatMap { $0 > 0 ? $0 : nil })
            },
            .init(name: "timeout", values: "SECONDS above 0", help: "gives up after that time (30)") {
                set(\.timeout, Arguments.seconds($0))
            },
            .init(name: "save", values: "FRAME.png|CLIP.y4m", help: "keeps the last picture, or all of them") {
                set(\.save, $0.hasSuffix(".png") || $0.hasSuffix(".y4m") ? .some(.some($0)) : nil)
            },
            .init(name: "offerer", values: "subscriber|publisher", help: "who makes the offer (subscriber)") {
                set(\.offerer, Offerer(rawValue: $0).map { .some($0) })
            },
            .init(
                name: "receive", values: "",
                help: "takes what a WHIP encoder sends to http://HOST:PORT/whip/ROOM[/STREAM]"
            ) { _ in set(\.receives, true) },
            .init(name: "dump-packets", values: PacketDumpFile.values, help: PacketDumpFile.help) {
                set(\.dumpPackets, $0.isEmpty ? nil : .some(.some($0)))
            },
            .init(name: "stream", values: Arguments.name, help: "which stream of the room (the first)") {
                set(\.stream, Publisher.isAllowed(name: $0) ? .some(.some($0)) : nil)
            },
            ProcessOptions.file,
        ] + LogSettings.options { change in change(&box.command.log) }
            + NetworkArguments.options { change in change(&box.command.network) }
    }

    func run() async -> Int32 {
        do {
            return try await watch()
        } catch SessionError.cancelled {
            Terminal.result(WatchFigures().jsonLine)
            return 1
        } catch SessionError.invalidURL(let url) {
            Terminal.note(Arguments.invalidURL(url), as: "arguments.wrong", .error)
            return 2
        } catch {
            Terminal.note("emisora watch: \(error)", as: "watch.failed", .error)
            return 1
        }
    }

    private func watch() async throws -> Int32 {
        let sink = try WatchSink(wanted: frames, save: save)
        let deadline = MonotonicClock.now + .nanoseconds(Int64(timeout * 1e9))
        let packets = try PacketDumpFile(dumpPackets)
        var options = sessionOptions
        options.packetDump = packets.dump
        let session = try await Termination.cancelling { [url, options] in
            try await Session.connect(to: url, options: options)
        }
        let watcher = StreamFollower(session: session, stream: stream, offerer: offerer, receives: receives, sink: sink)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await watcher.run() }
            group.addTask { await sink.waitUntilDone() }
            group.addTask { await Termination.wait() }
            group.addTask { try? await Task.sleep(for: deadline - MonotonicClock.now) }
            await group.next()
            group.cancelAll()
        }
        let figures = await watcher.finish()
        await session.disconnect()
        let isComplete = sink.finish()
        Terminal.result(figures.jsonLine)
        try packets.finish()
        if !isComplete {
            Terminal.note(
                "emisora watch: \(sink.count) of \(frames) pictures were decoded.", as: "watch.incomplete", .error,
                ["framesDecoded": .integer(sink.count), "framesWanted": .integer(frames)])
        }
        return isComplete ? 0 : 1
    }
}
