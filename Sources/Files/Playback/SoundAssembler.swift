/// Joins decoded stretches of sound to chunks of 20 ms without a gap. Where the file's times leave one there is
/// silence; where they overlap, the later sound is cut. Times in nanoseconds since the film began.
struct SoundAssembler {
    struct Chunk {
        let time: Int64
        /// Interleaved; as many as ``samplesPerChunk`` for each channel.
        let samples: [Int16]
    }

    static let sampleRate = Resampler.sampleRate
    /// In each channel.
    static let samplesPerChunk = sampleRate / 50
    /// Times of containers are rounded: so far off, sound still follows on what was before.
    static let tolerance: Int64 = 15_000_000
    /// The same where a pass through the file begins: there sound is put right, for all that follows on it.
    static let toleranceAtStart: Int64 = 2_000_000

    private let channels: Int
    private let start: Int64
    private var pending: [Int16] = []
    /// In each channel, since `start`.
    private var taken = 0

    init(channels: Int, start: Int64) {
        self.channels = channels
        self.start = start
    }

    /// When what comes next is heard.
    var end: Int64 { time(of: taken + pending.count / channels) }

    /// How much silence, in nanoseconds, belongs before sound at `time`; 0 if it follows on what is there.
    func gap(before time: Int64, tolerance: Int64 = tolerance) -> Int64 {
        let gap = time - end
        return gap > tolerance ? gap : 0
    }

    /// Whether there is at least a sample between the two times.
    static func isBefore(_ time: Int64, _ other: Int64) -> Bool { samples(in: other - time) > 0 }

    /// Adds sound that begins at `time`; what lies before `earliest`, or before the end of what is there, is cut.
    mutating func append(_ samples: [Int16], at time: Int64?, notBefore earliest: Int64) {
        var cut: Int64 = 0
        if let time {
            if end - time > Self.tolerance { cut = end - time }
            cut = max(cut, earliest - time)
        }
        let count = Self.samples(in: cut) * channels
        pending += samples.dropFirst(min(count, samples.count))
    }

    /// Adds silence up to `time`, a chunk at most.
    mutating func appendSilence(until time: Int64) {
        let count = min(Self.samplesPerChunk, Self.samples(in: time - end))
        pending += repeatElement(0, count: count * channels)
    }

    /// Fills the last chunk with silence.
    mutating func pad() {
        let rest = pending.count % (Self.samplesPerChunk * channels)
        if rest > 0 { pending += repeatElement(0, count: Self.samplesPerChunk * channels - rest) }
    }

    mutating func takeChunk() -> Chunk? {
        let count = Self.samplesPerChunk * channels
        guard pending.count >= count else { return nil }
        let chunk = Chunk(time: time(of: taken), samples: Array(pending[..<count]))
        pending.removeFirst(count)
        taken += Self.samplesPerChunk
        return chunk
    }

    private func time(of sample: Int) -> Int64 {
        start &+ Int64(clamping: Int128(sample) * 1_000_000_000 / Int128(Self.sampleRate))
    }

    private static func samples(in time: Int64) -> Int {
        Int(clamping: (Int128(max(0, time)) * Int128(sampleRate) + 500_000_000) / 1_000_000_000)
    }
}
