import Emisora
import Glibc

/// What is typed, or piped in, while a stream is published: a command a line.
///
/// ```
/// mute audio
/// unmute video
/// ```
struct PublishConsole {
    enum Command: Equatable {
        case mute(TrackKind)
        case unmute(TrackKind)

        /// - Returns: `nil` for anything else.
        init?(_ line: String) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count == 2, let kind = TrackKind(rawValue: String(words[1])) else { return nil }
            switch words[0] {
            case "mute": self = .mute(kind)
            case "unmute": self = .unmute(kind)
            default: return nil
            }
        }
    }

    static let help = "Lines on standard input while publishing: mute audio|video, unmute audio|video."

    /// Lives as long as the program: a read of standard input cannot be taken back.
    private static let thread = MediaThread()

    let publisher: Publisher

    /// Obeys until standard input ends.
    func run() async {
        for await line in Self.lines() where !line.allSatisfy(\.isWhitespace) {
            guard let command = Command(line) else {
                Terminal.note(
                    "\(line.prefix(40).filter { $0.isASCII && !$0.isNewline }): unknown; allowed: "
                        + "mute audio|video, unmute audio|video", as: "command.wrong", .warning)
                continue
            }
            obey(command)
        }
    }

    private func obey(_ command: Command) {
        switch command {
        case .mute(.audio): publisher.publishesAudio = false
        case .mute(.video): publisher.publishesVideo = false
        case .unmute(.audio): publisher.publishesAudio = true
        case .unmute(.video): publisher.publishesVideo = true
        }
        Terminal.note(
            "video \(publisher.publishesVideo ? "on" : "muted"), audio \(publisher.publishesAudio ? "on" : "muted")",
            as: "publish.muted", .info,
            ["video": .flag(publisher.publishesVideo), "audio": .flag(publisher.publishesAudio)])
    }

    private static func lines() -> AsyncStream<String> {
        // In the background a terminal's input is not ours: reading it fails instead of stopping the program.
        signal(SIGTTIN, SIG_IGN)
        let (stream, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(64))
        _ = try? thread.start { _ in
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return stream
    }
}
