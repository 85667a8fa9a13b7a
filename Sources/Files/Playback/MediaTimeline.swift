import EmisoraCapture

/// Judges the times of one stream: they only rise, and not beyond what is believable. All in nanoseconds from the
/// beginning of playing, over all passes through the file.
struct MediaTimeline: Sendable {
    /// A stream that falls silent for longer than this is damaged: a wrong time must not freeze a picture for years.
    static let longestGap: Int64 = 60_000_000_000

    /// Where the last frame ended, or this pass began.
    private(set) var end: Int64 = 0
    private var last = Int64.min

    /// A pass through the file begins at `offset`.
    mutating func beginPass(at offset: Int64) {
        end = max(end, offset)
    }

    /// When a frame is due that the file places at `time` (`nil`: right after the one before) for `duration`.
    ///
    /// - Returns: `nil` for a frame whose time is damaged.
    mutating func place(_ time: Int64?, duration: Int64) -> Int64? {
        let time = max(time ?? end, 0)
        guard time > last, time &- end <= Self.longestGap else { return nil }
        last = time
        end = time + min(max(0, duration), Self.longestGap)
        return time
    }
}

/// How long a pass through the file lasts: to the end of the longer of the streams that are played.
struct PassLength: Sendable {
    /// So that a file that claims to last no time is not played in a busy loop.
    static let shortest: Int64 = 20_000_000

    private var ends: [TrackKind: Int64] = [:]

    /// Notes a packet at a time within the file; times that no frame could be placed at count nothing.
    mutating func note(_ kind: TrackKind, time: Int64?, duration: Int64) {
        let end = ends[kind] ?? 0
        let time = time ?? end
        guard time &- end <= MediaTimeline.longestGap else { return }
        ends[kind] = max(end, time + duration)
    }

    func length(of kinds: [TrackKind]) -> Int64 {
        max(Self.shortest, kinds.compactMap { ends[$0] }.max() ?? 0)
    }
}
