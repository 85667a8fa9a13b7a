import EmisoraCapture

/// An output's way from the queue to decoded frames. Used by the output's thread.
final class FrameSource {
    enum Step {
        /// A frame, its time since the film began and its duration in nanoseconds; no time if the file does not tell.
        case frame(DecodedFrame, time: Int64?, duration: Int64)
        /// The next frames are the file's first again, at `offset`.
        case passEnded(offset: Int64)
        case ended(MediaFileError?)
        /// The output was told to stop.
        case left
    }

    private let playback: Playback
    private let turn: Int
    private let decoder: Decoder
    private let didDrop: (Fate) -> Void

    /// Why a packet never became a frame.
    enum Fate {
        case damaged
        case late
    }

    private enum Skipping {
        case no
        /// Joined on the way: what came before was never captured.
        case joining
        /// Too late to decode it all.
        case catchingUp
    }

    private var offset: Int64
    private var skipping = Skipping.no
    private var framesInPass = 0
    /// What comes once the decoder is empty.
    private var afterDraining: PacketQueue.Item?
    private var damageWhileDraining = 0

    /// - Parameter didDrop: Called for each packet that is damaged or left out.
    init(_ playback: Playback, decoder: Decoder, turn: Int, didDrop: @escaping (Fate) -> Void) {
        self.playback = playback
        self.decoder = decoder
        self.turn = turn
        self.didDrop = didDrop
        hasJoinedLate = playback.hasMissed(decoder.stream.kind)
        offset = playback.firstOffset(decoder.stream.kind)
        if hasJoinedLate { skipping = .joining }
    }

    /// Whether the film was under way when the output joined.
    let hasJoinedLate: Bool

    /// In nanoseconds since the film began.
    var passOffset: Int64 { offset }

    /// Leaves out what is before the next key frame that is still to come.
    func catchUp() {
        if skipping == .no { skipping = .catchingUp }
    }

    private var kind: TrackKind { decoder.stream.kind }

    func next() -> Step {
        while true {
            switch decoder.receive() {
            case .frame(let frame):
                guard skipping == .no else { continue }
                framesInPass += 1
                let base = decoder.stream.timeBase
                let time = frame.time(in: base).map { $0 - playback.fileStart + offset }
                let duration = frame.duration(in: base)
                let usual = decoder.stream.frameDuration ?? 0
                return .frame(frame, time: time, duration: duration > 0 ? duration : usual)
            case .damage:
                didDrop(.damaged)
                guard afterDraining != nil else {
                    if let step = feed() { return step }
                    continue
                }
                damageWhileDraining += 1
                // A decoder that never gets empty must not keep the film from going on.
                if damageWhileDraining > 64, let step = startOver() { return step }
            case .needsPacket:
                if let step = afterDraining == nil ? feed() : startOver() { return step }
            case .isEmpty:
                if let step = startOver() { return step }
            }
        }
    }

    /// Gives the decoder the next packet there is.
    private func feed() -> Step? {
        guard let item = playback.take(kind, turn: turn) else { return .left }
        switch item {
        case .packet(let packet):
            guard !isSkipped(packet) else { return nil }
            if !decoder.send(packet) { didDrop(.damaged) }
        case .passEnded, .ended:
            afterDraining = item
            damageWhileDraining = 0
            decoder.drain()
        }
        return nil
    }

    /// The decoder is empty: the end of a pass, or of the film.
    private func startOver() -> Step? {
        guard let item = afterDraining else { return feed() }
        afterDraining = nil
        decoder.flush()
        let hasPlayed = framesInPass > 0 || skipping != .no
        framesInPass = 0
        guard case .passEnded(let next) = item else {
            return .ended(hasPlayed ? nil : nothingDecoded)
        }
        guard hasPlayed else { return .ended(nothingDecoded) }
        offset = next
        // The file's beginning needs nothing of what was before.
        if offset >= playback.position { skipping = .no }
        return .passEnded(offset: next)
    }

    private var nothingDecoded: MediaFileError {
        .damaged(
            path: playback.path, detail: "not one \(kind == .video ? "picture" : "sound") in it could be decoded")
    }

    /// Whether a packet is passed by: up to a key frame that is still to come.
    private func isSkipped(_ packet: Packet) -> Bool {
        guard skipping != .no else { return false }
        let end = packet.time.map { $0 + offset + (kind == .audio ? packet.duration : 0) }
        let isStart = kind == .audio || packet.isKey
        guard isStart, let end, end >= playback.position else {
            if skipping == .catchingUp { didDrop(.late) }
            return true
        }
        skipping = .no
        decoder.flush()
        return false
    }
}
