import EmisoraCapture
import Synchronization

/// What the two capturers of a file share: the playing under way.
final class FilePlayer: Sendable {
    /// Opens the file from its beginning; may take as long as the disk or network behind it does.
    typealias Open = @Sendable (Interruption) throws(MediaFileError) -> Demuxer

    private enum Phase {
        case idle
        /// One of the capturers opens the file, for both.
        case opening
        /// May be over.
        case playing(Playback)
    }

    let path: String
    private let playback: FileCapture.Playback
    private let onEnd: (@Sendable (MediaFileError?) -> Void)?
    private let open: Open
    private let phase = Monitor(Phase.idle)
    private let lastFailure = Mutex<MediaFileError?>(nil)

    convenience init(
        path: String, playback: FileCapture.Playback, onEnd: (@Sendable (MediaFileError?) -> Void)?
    ) {
        self.init(path: path, playback: playback, onEnd: onEnd) { interruption throws(MediaFileError) in
            try Demuxer(path: path, as: .film, interruption: interruption)
        }
    }

    init(
        path: String, playback: FileCapture.Playback, onEnd: (@Sendable (MediaFileError?) -> Void)?,
        open: @escaping Open
    ) {
        self.path = path
        self.playback = playback
        self.onEnd = onEnd
        self.open = open
    }

    var failure: MediaFileError? { lastFailure.withLock { $0 } }

    /// One capturer's part in a playing of the file, from the start of its run to the end.
    ///
    /// - Parameter output: Hands over what is decoded; answers how the film ended, or `nil` if the run was stopped.
    func play(
        _ kind: TrackKind, _ run: CaptureRun, output: (Playback, _ turn: Int, Decoder) -> FileEnd?
    ) throws(CaptureError) {
        guard let (playback, turn) = try join(kind, run) else { return }
        defer { playback.leave(kind, turn: turn) }
        run.onStop { playback.leave(kind, turn: turn) }
        guard let stream = playback.stream(kind) else { throw .custom(MediaFileError.nothingToPlay(path: path)) }
        let decoder: Decoder
        do throws(MediaFileError) {
            decoder = try Decoder(stream, path: path)
        } catch {
            throw .custom(error)
        }
        guard run.begin(), let end = output(playback, turn, decoder) else { return }
        // The application is told when neither capturer is capturing any more.
        run.end(end.failure.map { .custom($0) })
        playback.finish(kind, turn: turn, failure: end.failure)
    }

    private enum Next {
        case join(Playback)
        case open
        case stopped
    }

    /// Takes part in the playing under way, or starts one. Nothing is locked while the file is opened.
    ///
    /// - Returns: `nil` if the run was stopped.
    private func join(_ kind: TrackKind, _ run: CaptureRun) throws(CaptureError) -> (Playback, turn: Int)? {
        run.onStop { [phase] in
            // Under the lock, since the one who waits may just have looked.
            phase.withLock { _ in }
            phase.notifyAll()
        }
        while true {
            let next = phase.wait(until: .distantFuture) { phase -> Next? in
                if run.isStopRequested { return .stopped }
                switch phase {
                case .playing(let playback): return .join(playback)
                case .opening: return nil
                case .idle:
                    phase = .opening
                    return .open
                }
            }
            switch next {
            case .join(let playback):
                if let turn = try playback.join(kind) { return (playback, turn) }
                phase.withLock { if case .playing(let current) = $0, current === playback { $0 = .idle } }
            case .open: return try begin(kind, run)
            case .stopped, nil: return nil
            }
        }
    }

    private func begin(_ kind: TrackKind, _ run: CaptureRun) throws(CaptureError) -> (Playback, turn: Int)? {
        var begun: Playback?
        defer {
            phase.withLock { $0 = begun.map { .playing($0) } ?? .idle }
            phase.notifyAll()
        }
        let interruption = Interruption()
        run.onStop { interruption.interrupt() }
        let demuxer: Demuxer
        do throws(MediaFileError) {
            demuxer = try open(interruption)
        } catch {
            throw .custom(error)
        }
        // From here on the other capturer may be playing, too.
        run.onStop {}
        guard !run.isStopRequested else { return nil }
        lastFailure.withLock { $0 = nil }
        let playback = Playback(path: path, demuxer: demuxer, isLooped: playback == .looped) { [weak self] failure in
            guard let self else { return }
            if let failure { lastFailure.withLock { $0 = failure } }
            onEnd?(failure)
        }
        guard let turn = try playback.join(kind) else { return nil }
        begun = playback
        return (playback, turn)
    }
}

/// A film has come to its end, or to where nothing more can be played.
struct FileEnd {
    let failure: MediaFileError?
}
