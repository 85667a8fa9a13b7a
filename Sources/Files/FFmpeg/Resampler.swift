import CEmisoraFFmpeg

/// Turns decoded sound of any rate, layout and sample type into interleaved 16-bit integers at 48 kHz. Used by one
/// thread at a time.
final class Resampler {
    static let sampleRate = 48_000
    /// Beyond these, sound is damage.
    private static let sampleRates: ClosedRange<Int32> = 1_000...768_000
    private static let channelCounts: ClosedRange<Int32> = 1...64
    private static let longestFrame: Int32 = 1 << 20

    let channels: Int
    private var context: OpaquePointer?
    private var shape: [Int32] = []

    init(channels: Int) {
        self.channels = channels
    }

    deinit {
        swr_free(&context)
    }

    /// How much sound waits inside for what follows, in nanoseconds.
    var delay: Int64 { context.map { max(0, swr_get_delay($0, 1_000_000_000)) } ?? 0 }

    /// The sound of a frame, preceded by what waited inside; `nil` if it cannot be converted.
    func convert(_ sound: DecodedFrame) -> [Int16]? {
        let frame = sound.pointer.pointee
        guard Self.sampleRates.contains(frame.sample_rate), Self.channelCounts.contains(frame.ch_layout.nb_channels),
            (0...Self.longestFrame).contains(frame.nb_samples)
        else { return nil }
        let shape = [frame.sample_rate, frame.ch_layout.nb_channels, frame.format]
        if shape != self.shape || context == nil {
            swr_free(&context)
            context = emisora_swr_open(sound.pointer, Int32(Self.sampleRate), Int32(channels))
            self.shape = shape
        }
        return convert(sound.pointer, count: frame.nb_samples)
    }

    /// What is left inside; the next frame starts anew.
    func drain() -> [Int16] {
        defer { swr_free(&context) }
        return convert(nil, count: 0) ?? []
    }

    private func convert(_ frame: UnsafeMutablePointer<AVFrame>?, count: Int32) -> [Int16]? {
        guard let context else { return nil }
        let capacity = max(0, Int(swr_get_out_samples(context, count)))
        guard capacity > 0 else { return [] }
        var failed = false
        let samples = [Int16](unsafeUninitializedCapacity: capacity * channels) { buffer, initialized in
            let done = emisora_swr_convert(context, frame, buffer.baseAddress, Int32(capacity))
            failed = done < 0
            initialized = max(0, Int(done)) * channels
        }
        return failed ? nil : samples
    }
}
