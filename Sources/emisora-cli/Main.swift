import Emisora
import EmisoraOperations
import EmisoraSignalingServer
import Glibc

@main
enum Main {
    private static let commands = "publish|watch|serve|token|devices"

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        // The server takes the signals itself.
        if arguments.first == "serve" {
            SignalingServerCommand.main(arguments: Array(arguments.dropFirst()), program: "emisora serve")
        }
        Termination.install()
        // Not an `async` main: that would run on a thread of the pool, and the signals must be blocked on this one,
        // from which all others inherit it.
        // `_exit`: the pool's threads live on, and what libraries clean up at an exit they may still use.
        Task.detached { _exit(await run(arguments)) }
        while true { pause() }
    }

    private static func run(_ arguments: [String]) async -> Int32 {
        let rest = Array(arguments.dropFirst())
        let asksForHelp = arguments.first == "help" || arguments.contains { ["--help", "-h"].contains($0) }
        if arguments.isEmpty || asksForHelp {
            return help(arguments)
        }
        do {
            switch arguments[0] {
            case "publish": return await (try PublishCommand(rest)).run()
            case "watch": return await (try WatchCommand(rest)).run()
            case "devices": return (try DevicesCommand(rest)).run()
            case "token":
                return TokenCommand.run(rest, output: Terminal.result) { Terminal.note($0, as: "token.failed", .error) }
            default:
                throw Arguments.Usage(description: "\(arguments[0]): unknown command; allowed: \(commands)")
            }
        } catch {
            Terminal.note("emisora: \(error)", as: "arguments.wrong", .error)
            return 2
        }
    }

    /// `help [--man] [COMMAND]`, and `COMMAND --help`.
    private static func help(_ arguments: [String]) -> Int32 {
        let names = arguments.filter { !["help", "--help", "-h", "--man"].contains($0) }
        guard let name = names.first else {
            Terminal.result(
                arguments.contains("--man")
                    ? Manuals.overview.manPage : Manuals.all.map(\.help).joined(separator: "\n\n"))
            return arguments.isEmpty ? 2 : 0
        }
        guard let manual = Manuals.manual(of: name) else {
            Terminal.note("emisora: \(name): unknown command; allowed: \(commands)", as: "arguments.wrong", .error)
            return 2
        }
        Terminal.result(arguments.contains("--man") ? manual.manPage : manual.help)
        return 0
    }
}
