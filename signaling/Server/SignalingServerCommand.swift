import EmisoraOperations
import Glibc

/// The programs `signaling-server` and `emisora serve`: options, signals, exit codes.
package enum SignalingServerCommand {
    enum Parsed: Equatable {
        case serve(SignalingServer.Configuration, LogSettings = LogSettings())
        case help
        /// One line that names the argument and what it may be.
        case wrong(String)
    }

    /// Serves until SIGINT or SIGTERM, then ends with 0; with 2 for wrong arguments, with 1 when it could not start.
    package static func main(
        arguments: [String] = Array(CommandLine.arguments.dropFirst()), program: String = "signaling-server"
    ) -> Never {
        let environment = ProcessOptions.environment(of: ServerOptions().table)
        switch parse(arguments, environment: environment, load: ProcessOptions.load) {
        case .help:
            print(manual(program: program).help)
            exit(0)
        case .wrong(let line):
            complain("\(program): \(line)")
            exit(2)
        case .serve(let configuration, let settings):
            let log = Log(
                format: settings.format, level: settings.level, unixTime: UnixClock.now, write: complain)
            serve(configuration, log: log, program: program)
        }
    }

    /// - Parameter load: Gives the text of the file that is named.
    static func parse(
        _ arguments: [String], environment: [String: String],
        load: (_ path: String) throws(OptionError) -> String = { path throws(OptionError) in
            throw OptionError(description: "\(path): there are no files here")
        }
    ) -> Parsed {
        if arguments.contains("--help") || arguments.contains("-h") { return .help }
        let options = ServerOptions()
        do throws(OptionError) {
            let rest = try OptionTable(options.table).read(arguments, environment: environment, load: load)
            guard rest.isEmpty else {
                throw OptionError(description: "\(rest[0]): options alone are taken; --help shows them")
            }
            return .serve(try options.configuration(), options.log)
        } catch {
            return .wrong(error.description)
        }
    }

    private static func serve(_ configuration: SignalingServer.Configuration, log: Log, program: String) -> Never {
        // Blocked before the server's thread exists, so that it inherits the mask and only `sigwait` takes them.
        var signals = endingSignals()
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let server = SignalingServer(configuration, log: log)
        do {
            try server.start()
            let url = server.url ?? ""
            log.record(.info, "server.listening", "Signaling server at \(url)", ["url": .text(url)])
            if let metrics = server.metricsURL {
                log.record(.info, "metrics.listening", "Metrics at \(metrics)", ["url": .text(metrics)])
            }
        } catch {
            log.record(.error, "server.failed", "\(program): \(error.description)")
            exit(1)
        }
        var signal: Int32 = 0
        sigwait(&signals, &signal)
        // Ctrl-C is a person's, who waits for it; SIGTERM is an operator's, whose clients shall not notice.
        if signal == SIGTERM {
            endAtNextSignal()
            server.drain()
        } else {
            server.stop()
        }
        log.record(.info, "server.ended", "The signaling server has ended.")
        exit(0)
    }

    private static func endAtNextSignal() {
        var thread = pthread_t()
        if pthread_create(&thread, nil, waitForSecondSignal, nil) == 0 { pthread_detach(thread) }
    }

    fileprivate static func endingSignals() -> sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        return signals
    }

    @Sendable private static func complain(_ line: String) {
        let text = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, text, text.count)
    }
}

/// A thread's entry, outside any type: closures may inherit an actor, which a new thread is not on.
private func waitForSecondSignal(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    var signals = SignalingServerCommand.endingSignals()
    var number: Int32 = 0
    guard sigwait(&signals, &number) == 0 else { return nil }
    _exit(128 + number)
}
