import EmisoraCapture
import EmisoraCore

/// Fetches a device's samples and says when they were taken.
///
/// Devices without a clock of their own (ALSA's `null` and `file`) give whatever is asked for at once. They show that
/// when they are started: their buffer is full. They are read at the pace of the monotonic clock.
struct MicrophoneIntake {
    /// Samples in the wanted channels.
    struct Chunk {
        var samples: [Float]
        var time: Instant
    }

    let configuration: PCMConfiguration
    private let stream: any PCMStream
    private let mixer: ChannelMixer
    private var started: Instant
    private var isClocked: Bool?
    /// Starts in a row after which it could not be told.
    private var lateLooks = 0
    /// For a device without a clock: where its time begins, and how much was read since.
    private var origin: Instant
    private var count = 0

    private static let longestSeriesOfLateLooks = 3
    /// A device without a clock that was not read for so long begins anew.
    private static let longestDelay = Duration.milliseconds(200)

    init(_ stream: any PCMStream, _ channels: Int, _ system: any PCMSystem) {
        self.stream = stream
        configuration = stream.configuration
        mixer = ChannelMixer(microphones: stream.configuration.channels, outputs: channels)
        started = system.now
        origin = started
    }

    mutating func restart(_ system: any PCMSystem) throws(PCMFault) {
        try stream.restart()
        begin(system)
    }

    /// `false` if the device is not ready yet.
    mutating func resume(_ system: any PCMSystem) throws(PCMFault) -> Bool {
        guard try stream.resume() else { return false }
        begin(system)
        return true
    }

    private mutating func begin(_ system: any PCMSystem) {
        started = system.now
        origin = started
        count = 0
        isClocked = nil
    }

    /// What there is to read, after a wait for it; nothing if none came.
    mutating func next(within limit: Duration, _ system: any PCMSystem) throws(PCMFault) -> [Chunk] {
        if isClocked == false { return try nextUnclocked(system) }
        guard try stream.wait(limit) else { return [] }
        let position = try stream.position()
        if isClocked == nil {
            let elapsed = (system.now - started).inSeconds * Double(configuration.sampleRate)
            let half = Double(configuration.bufferLength) / 2
            // Where the machine held this thread up a card's buffer may be as full: it is started again.
            if elapsed >= half, lateLooks < Self.longestSeriesOfLateLooks {
                lateLooks += 1
                try restart(system)
                return []
            }
            lateLooks = 0
            isClocked = Double(position.available) < elapsed + half
            if isClocked == false { return [] }
        }
        var chunks: [Chunk] = []
        var left = min(position.available, configuration.bufferLength)
        var time = position.time
        while left > 0 {
            let samples = try read(min(left, configuration.periodLength))
            guard !samples.isEmpty else { break }
            chunks.append(Chunk(samples: mixer.mix(samples), time: time))
            let length = samples.count / configuration.channels
            time = time + duration(length)
            left -= length
        }
        // A device that announces samples and has none must not keep a processor busy.
        if chunks.isEmpty { _ = system.wait(until: system.now + duration(configuration.periodLength)) }
        return chunks
    }

    private mutating func nextUnclocked(_ system: any PCMSystem) throws(PCMFault) -> [Chunk] {
        let due = origin + duration(count + configuration.periodLength)
        guard system.wait(until: due) else { return [] }
        if system.now - due > Self.longestDelay {
            origin = system.now
            count = 0
            return []
        }
        let samples = try read(configuration.periodLength)
        let time = origin + duration(count)
        count += configuration.periodLength
        return samples.isEmpty ? [] : [Chunk(samples: mixer.mix(samples), time: time)]
    }

    private func read(_ count: Int) throws(PCMFault) -> [Float] {
        // Cleared, since some plug-ins say that they filled what they did not touch.
        var bytes = [UInt8](repeating: silence, count: count * configuration.bytesPerSample)
        var read = 0
        var fault: PCMFault?
        bytes.withUnsafeMutableBytes { buffer in
            do throws(PCMFault) {
                read = min(count, max(0, try stream.read(count, into: buffer)))
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        return bytes.withUnsafeBytes { bytes in
            let filled = bytes.prefix(read * configuration.bytesPerSample)
            return configuration.encoding.decode(UnsafeRawBufferPointer(rebasing: filled))
        }
    }

    private var silence: UInt8 { configuration.encoding == .unsigned8 ? 128 : 0 }

    private func duration(_ samples: Int) -> Duration {
        .nanoseconds(Int64(Double(samples) * 1e9 / Double(configuration.sampleRate)))
    }
}
