import Emisora
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
        if arguments.isEmpty || rest.contains("--help") || ["help", "--help", "-h"].contains(arguments[0]) {
            Terminal.result(help(arguments.first))
            return arguments.isEmpty ? 2 : 0
        }
        do {
            switch arguments[0] {
            case "publish": return await (try PublishCommand(rest)).run()
            case "watch": return await (try WatchCommand(rest)).run()
            case "devices": return (try DevicesCommand(rest)).run()
            case "token": return TokenCommand.run(rest, output: Terminal.result, complaint: Terminal.note)
            default:
                throw Arguments.Usage(description: "\(arguments[0]): unknown command; allowed: \(commands)")
            }
        } catch {
            Terminal.note("emisora: \(error)")
            return 2
        }
    }

    private static func help(_ command: String?) -> String {
        switch command {
        case "publish": PublishCommand.help
        case "watch": WatchCommand.help
        case "devices": DevicesCommand.help
        case "token": TokenCommand.usage
        default:
            [
                PublishCommand.help, WatchCommand.help, DevicesCommand.help,
                SignalingServerCommand.usage(program: "emisora serve"), TokenCommand.usage,
            ].joined(separator: "\n\n")
        }
    }
}
