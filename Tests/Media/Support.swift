import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Synchronization

extension Instant {
    static func milliseconds(_ value: Int) -> Instant { Instant(nanoseconds: Int64(value) * 1_000_000) }
}

/// A seeded generator, so that a failing test fails again.
struct TestRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        var x = state
        x ^= x >> 33
        x = x &* 0xFF51_AFD7_ED55_8CCD
        return x ^ x >> 33
    }
}

func makeFrame(
    _ pool: VideoFramePool, width: Int = 16, height: Int = 16, at milliseconds: Int, filled luma: UInt8 = 0
) throws -> VideoFrame {
    var picture = try pool.makeFrame(VideoFormat(.i420, width: width, height: height))
    picture.withUnsafeMutablePlane(0) { _ = $0.initializeMemory(as: UInt8.self, repeating: luma) }
    return picture.finish(timestamp: .milliseconds(milliseconds))
}

/// A consumer that lets frames in.
func makeOpenConsumer(poolLimit: Int = 64) -> VideoCaptureConsumer {
    let consumer = VideoCaptureConsumer(poolLimit: poolLimit)
    consumer.open()
    consumer.setHasSubscribers(true)
    return consumer
}

func makeOpenAudioConsumer(queueLimit: Int = 16) -> AudioCaptureConsumer {
    let consumer = AudioCaptureConsumer(queueLimit: queueLimit)
    consumer.open()
    consumer.setHasSubscribers(true)
    return consumer
}

/// Takes `count` frames as an encoder would; fewer when none comes for twenty seconds.
func take(_ count: Int, from consumer: VideoCaptureConsumer) -> [VideoFrame] {
    var frames: [VideoFrame] = []
    while frames.count < count, let taken = consumer.waitForLatest(until: MonotonicClock.now + .seconds(20)) {
        frames.append(taken.frame)
        taken.encoded()
    }
    return frames
}

func take(_ count: Int, from consumer: AudioCaptureConsumer) -> [AudioFrame] {
    var frames: [AudioFrame] = []
    while frames.count < count, let taken = consumer.waitForNext(until: MonotonicClock.now + .seconds(20)) {
        frames.append(taken.frame)
        taken.encoded()
    }
    return frames
}

func int16Samples(_ frame: AudioFrame) -> [Int16] {
    if case .int16(let samples) = frame.samples { samples } else { [] }
}

/// Lets the other tasks run until `condition` holds; false if it does not within twenty seconds.
func eventually(_ condition: () -> Bool) async -> Bool {
    let deadline = MonotonicClock.now + .seconds(20)
    while !condition() {
        if MonotonicClock.now > deadline { return false }
        await Task.yield()
    }
    return true
}

/// A count that any thread may raise.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Gives the count that this makes.
    @discardableResult func increment() -> Int {
        count.add(1, ordering: .sequentiallyConsistent).newValue
    }
}

/// Memory that lives until the object goes.
final class TestMemory: @unchecked Sendable {
    // Invariant: written only before it is lent.

    let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int, filled byte: UInt8 = 0) {
        bytes = .allocate(byteCount: byteCount, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: byte)
    }

    var readOnly: UnsafeRawBufferPointer { UnsafeRawBufferPointer(bytes) }

    deinit {
        bytes.deallocate()
    }
}
