import EmisoraAudio
import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraRTP
import Synchronization

/// The sound thread of a subscriber: what the jitter buffer gives every 20 ms, decoded or made up, to the application's
/// sink.
final class AudioReceivePipeline: Sendable {
    private static let queueCapacity = 50

    struct Counters {
        var totalSamplesReceived: UInt64 = 0
        var concealedSamples: UInt64 = 0
        var audioLevel: Double = 0
    }

    private struct Input: Sendable {
        let output: AudioJitterBuffer.Output
        let timestamp: Instant
    }

    private let thread: MediaThread
    private let queue = EncodedQueue<Input>(capacity: queueCapacity)
    private let counters = Mutex(Counters())
    private let sink: (any AudioFrameSink)?
    private let format: AudioFormat

    /// - Parameter channels: 1 or 2, whatever the packets hold.
    init(sink: (any AudioFrameSink)?, channels: Int) {
        format = AudioFormat(channels: min(2, max(1, channels)))
        thread = MediaThread()
        self.sink = sink
    }

    func start() -> Bool {
        (try? thread.start { [self] in run($0) }) == true
    }

    func stop() {
        thread.stop()
    }

    /// Hands over what to play next from the network thread; never blocks.
    func push(_ output: AudioJitterBuffer.Output, timestamp: Instant) {
        _ = queue.push(Input(output: output, timestamp: timestamp))
        thread.wake()
    }

    var statistics: Counters { counters.withLock { $0 } }

    private func run(_ thread: MediaThread) {
        guard let decoder = try? OpusDecoder(channels: format.channels) else { return }
        while thread.waitForWork() {
            for input in queue.takeAll() {
                guard let samples = try? decode(input.output, with: decoder),
                    let frame = try? AudioFrame(samples, format: format, timestamp: input.timestamp)
                else { continue }
                // Of each channel, as W3C counts them.
                let count = UInt64(frame.samplesPerChannel)
                counters.withLock { counters in
                    counters.totalSamplesReceived += count
                    if case .lost = input.output { counters.concealedSamples += count }
                    counters.audioLevel = frame.level
                }
                sink?.receive(frame)
            }
        }
    }

    private func decode(_ output: AudioJitterBuffer.Output, with decoder: OpusDecoder) throws(CodecError) -> [Int16]? {
        switch output {
        case .packet(let bytes, rtpTimestamp: _): try decoder.decode(bytes)
        case .lost(nextPacketForFEC: let next?): try decoder.decodeLost(next: next)
        case .lost(nextPacketForFEC: nil): try decoder.decodeLost()
        case .empty: nil
        }
    }
}
