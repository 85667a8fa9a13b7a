import EmisoraCapture
import Synchronization

/// What the two capturers of a file share: the playing under way.
final class FilePlayer: Sendable {
    let path: String
    let playback: FileCapture.Playback
    private let onEnd: (@Sendable (MediaFileError?) -> Void)?
    private let current = Mutex<Playback?>(nil)
    private let lastFailure = Mutex<MediaFileError?>(nil)

    init(path: String, playback: FileCapture.Playback, onEnd: (@Sendable (MediaFileError?) -> Void)?) {
        self.path = path
        self.playback = playback
        self.onEnd = onEnd
    }

    var failure: MediaFileError? { lastFailure.withLock { $0 } }

    /// A part in a playing of the file.
    struct Part: Sendable {
        let playback: Playback
        let kind: TrackKind
        let turn: Int

        var isActive: Bool { playback.isActive(kind, turn: turn) }

        func leave() {
            playback.leave(kind, turn: turn)
        }
    }

    /// Takes part in the playing under way, or starts one from the file's beginning.
    func join(_ kind: TrackKind) throws(CaptureError) -> Part {
        try current.withLock { current throws(CaptureError) in
            if let current, let turn = try current.join(kind) {
                return Part(playback: current, kind: kind, turn: turn)
            }
            let demuxer: Demuxer
            do throws(MediaFileError) {
                demuxer = try Demuxer(path: path, as: .film)
            } catch {
                throw .custom(error)
            }
            lastFailure.withLock { $0 = nil }
            let made = Playback(path: path, demuxer: demuxer, isLooped: playback == .looped) { [weak self] failure in
                guard let self else { return }
                if let failure { lastFailure.withLock { $0 = failure } }
                onEnd?(failure)
            }
            guard let turn = try made.join(kind) else { throw .alreadyCapturing }
            current = made
            return Part(playback: made, kind: kind, turn: turn)
        }
    }
}

/// One run of one of a file's capturers: its part in the playing, and its thread.
final class FileRun: Sendable {
    private let part: FilePlayer.Part
    private let thread = MediaThread()

    /// Starts a thread for `body`, which alone keeps what `body` holds.
    init(
        _ player: FilePlayer, _ kind: TrackKind,
        body: @escaping @Sendable (FilePlayer.Part, Decoder, MediaThread) -> Void
    ) throws(CaptureError) {
        part = try player.join(kind)
        do throws(CaptureError) {
            guard let stream = part.playback.stream(kind) else {
                throw .custom(MediaFileError.nothingToPlay(path: player.path))
            }
            // A decoder that cannot be made is an error of `start`, not of the thread.
            let decoder: Decoder
            do throws(MediaFileError) {
                decoder = try Decoder(stream, path: player.path)
            } catch {
                throw .custom(error)
            }
            try thread.start { [part] thread in
                body(part, decoder, thread)
                part.leave()
            }
        } catch {
            part.leave()
            throw error
        }
    }

    var isActive: Bool { part.isActive }

    func stop() {
        part.leave()
        thread.stop()
    }

    func requestStop() {
        part.leave()
        thread.requestStop()
    }
}
