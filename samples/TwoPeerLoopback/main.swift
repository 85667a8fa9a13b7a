// Two peers in one process, no server: a pattern goes out on one side and is read back from the pixels on the other.
// Prints frames in and out, the latency that the pattern itself tells, and the ledger. Exit code 0 when all is right.
import Emisora
import Glibc
import Synchronization

final class LatencySink: VideoFrameSink {
    private let latencies = Mutex<[Double]>([])

    func receive(_ frame: VideoFrame) {
        guard let mark = PatternReader.read(frame) else { return }
        let now = MonotonicClock.now
        latencies.withLock { $0.append((now - mark.captureTime).inMilliseconds) }
    }

    var sorted: [Double] { latencies.withLock { $0.sorted() } }
}

let (sending, receiving) = try await Session.loopback()
let publisher = Publisher(videoCapture: PatternCapture(), audioCapture: ToneCapture())
try await sending.publish(publisher)
let sink = LatencySink()
try await receiving.subscribe(Subscriber(videoSink: sink), to: publisher.name)

let deadline = MonotonicClock.now + .seconds(20)
while sink.sorted.count < 90, MonotonicClock.now < deadline {
    try await Task.sleep(for: .milliseconds(50))
}
let received = await receiving.statistics().subscribers.first
await sending.disconnect()
await receiving.disconnect()

let ledger = publisher.captureLedger
let latencies = sink.sorted
print("captured \(ledger.captured), encoded \(ledger.encoded), dropped \(ledger.droppedByReason)")
print("decoded \(received?.framesDecoded ?? 0), read back \(latencies.count)")
if !latencies.isEmpty {
    print("capture to decoded: p50 \(latencies[latencies.count / 2]) ms, p95 \(latencies[latencies.count * 95 / 100]) ms")
}
print("ledger balanced: \(ledger.isBalanced)")
exit(ledger.isBalanced && latencies.count >= 90 ? 0 : 1)
