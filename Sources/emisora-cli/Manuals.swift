import EmisoraOperations
import EmisoraSignalingServer

/// What the tool's commands say of themselves.
enum Manuals {
    /// In the order of the help.
    static var all: [ProgramManual] {
        [
            PublishCommand.manual, WatchCommand.manual, DevicesCommand.manual,
            SignalingServerCommand.manual(program: "emisora serve"), TokenCommand.manual,
        ]
    }

    /// By the command's name, or the whole program's: `publish`, `emisora`, `signaling-server`.
    static func manual(of name: String) -> ProgramManual? {
        switch name {
        case "emisora": overview
        case "signaling-server": SignalingServerCommand.manual()
        default: all.first { $0.program == "emisora \(name)" }
        }
    }

    static var overview: ProgramManual {
        var manual = ProgramManual(
            program: "emisora", purpose: "real-time video publisher (WebRTC) for the command line",
            synopses: all.map { String($0.program.dropFirst("emisora ".count)) + " ..." } + ["help [--man] [COMMAND]"],
            options: [])
        manual.notes = [
            "Each command has a page of its own; emisora COMMAND --help shows it in short.",
            "publish and watch tell a person what happens on standard error and end with one JSON line of figures on "
                + "standard output.",
        ]
        manual.exitCodes = [
            (0, "it did what was asked for"), (1, "it did not"), (2, "wrong arguments; the line says which"),
        ]
        manual.examples = [
            "emisora serve --port 8080", "emisora publish ws://127.0.0.1:8080/demo --video pattern",
            "emisora watch ws://127.0.0.1:8080/demo --frames 100 --save frame.png",
        ]
        manual.seeAlso = all.map(\.pageName) + ["signaling-server"]
        return manual
    }
}
