import Emisora
import EmisoraOperations
import EmisoraSignalingServer
import Glibc
import Synchronization

/// Standard output for results, standard error for everything that a person watches.
///
/// What peers, servers and drivers say may be part of all of it: nothing leaves here that steers a terminal.
enum Terminal {
    /// One or more lines on standard output.
    static func result(_ text: String) {
        write(text.terminalLines + "\n", to: STDOUT_FILENO)
    }

    private static let log = Mutex(makeLog(LogSettings()))

    /// How notes are written from here on.
    static func use(_ settings: LogSettings) {
        log.withLock { $0 = makeLog(settings) }
    }

    private static func makeLog(_ settings: LogSettings) -> Log {
        Log(format: settings.format, level: settings.level, unixTime: UnixClock.now) { line in
            write(line.terminalLine + "\n", to: STDERR_FILENO)
        }
    }

    /// One line on standard error: a sentence, or a JSON object for those who asked for it.
    ///
    /// - Parameter event: What happened, for machines.
    static func note(
        _ line: String, as event: String = "note", _ level: Log.Level = .info, _ fields: [String: Log.Value] = [:]
    ) {
        log.withLock { $0 }.record(level, event, line, fields)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
