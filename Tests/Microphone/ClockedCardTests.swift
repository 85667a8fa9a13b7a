import CEmisoraClockedCard
import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import Glibc
import Testing

@testable import EmisoraMicrophone

/// ALSA itself with a card in software that has a clock, in real time.
private final class RealTimeSystem: PCMSystem {
    let sampleRate: UInt32
    let drift: Double
    var refusal: MicrophoneError?
    private(set) var cards: [OpaquePointer] = []
    private let sleeper = Monitor(())

    init(sampleRate: UInt32, drift: Double) {
        self.sampleRate = sampleRate
        self.drift = drift
    }

    var now: Instant { MonotonicClock.now }

    func wait(until deadline: Instant) -> Bool {
        _ = sleeper.wait(until: deadline) { _ in Void?.none }
        return true
    }

    func open(_ device: String, channels: Int) throws(MicrophoneError) -> any PCMStream {
        if let refusal { throw refusal }
        guard let card = emisora_card_open(sampleRate, drift), let handle = emisora_card_handle(card) else {
            throw .notFound(device: device, available: [])
        }
        cards.append(card)
        return try ALSAStream(OpaquePointer(handle), device, channels: channels)
    }
}

@Suite(.serialized) struct ClockedCardTests {
    private let system: RealTimeSystem
    private let consumer = AudioCaptureConsumer(queueLimit: 10_000)
    private let told = Monitor((events: [MicrophoneEvent](), statistics: MicrophoneStatistics()))
    private var loop: MicrophoneLoop

    init() throws {
        let told = told
        system = RealTimeSystem(sampleRate: 44_100, drift: 200)
        consumer.open()
        consumer.setHasSubscribers(true)
        loop = try MicrophoneLoop(
            "clocked", format: AudioFormat(channels: 1, sampleFormat: .float32), system: system, consumer: consumer,
            observers: .init(
                isStopped: { false }, onEvent: { event in told.withLock { $0.events.append(event) } },
                onStatistics: { statistics in told.withLock { $0.statistics = statistics } }))
    }

    private var statistics: MicrophoneStatistics { told.withLock { $0.statistics } }

    private mutating func run(_ duration: Duration) -> [AudioFrame] {
        let end = system.now + duration
        while system.now < end { loop.turn() }
        var frames: [AudioFrame] = []
        while let taken = consumer.takeNext() {
            frames.append(taken.frame)
            taken.encoded()
        }
        return frames
    }

    /// By how many seconds a frame's tone is off from where its timestamp says, modulo its period.
    private func offset(_ frame: AudioFrame) -> Double {
        let base = Double(frame.timestamp.nanoseconds % 1_000_000_000) / 1e9
        var (cosine, sine) = (0.0, 0.0)
        for (index, sample) in samples([frame]).enumerated() {
            let turn = 2 * .pi * 1000 * (base + Double(index) / 48_000)
            cosine += Double(sample) * cos(turn)
            sine += Double(sample) * sin(turn)
        }
        return atan2(cosine, sine) / (2 * .pi * 1000)
    }

    @Test mutating func aCardsClockIsMeasuredAndItsSoundStandsWhereItWasTaken() throws {
        let frames = run(.seconds(6))
        #expect(told.withLock { $0.events.first } == .opened(device: "clocked", sampleRate: 44_100, channels: 2))
        // Where the machine held the thread up for longer than the buffer lasts, that was told.
        #expect(isSeamless(frames) == (statistics.overruns == 0 && statistics.lost == .zero))
        #expect(abs(statistics.driftPartsPerMillion - 200) < 80)
        try #require(frames.count > 200)
        for frame in frames.suffix(50) { #expect(abs(offset(frame)) < 0.0004) }
        #expect(abs(amplitude(of: 1000, in: samples(frames.suffix(25))) - 16_000.0 / 32_768) < 0.005)
    }

    @Test mutating func aCardThatIsNotReadRunsOverAndGoesOn() throws {
        let before = run(.seconds(1))
        let overruns = statistics.overruns
        _ = system.wait(until: system.now + .milliseconds(500))
        let after = run(.seconds(1))
        #expect(statistics.overruns >= overruns + 1)
        let gap = try #require(after.first).timestamp - (try #require(before.last)).timestamp - .milliseconds(20)
        #expect(gap > .milliseconds(450))
        #expect(consumer.ledger.lostByDriver >= 23)
        #expect(told.withLock { $0.events }.contains { if case .soundLost(_, .overrun) = $0 { true } else { false } })
        for frame in after.suffix(10) { #expect(abs(offset(frame)) < 0.0008) }
    }

    @Test mutating func aCardThatIsUnpluggedIsOpenedAgain() throws {
        _ = run(.milliseconds(300))
        emisora_card_fail(try #require(system.cards.first), ENODEV)
        system.refusal = .notFound(device: "clocked", available: [])
        #expect(run(.milliseconds(300)).count <= 2)
        #expect(told.withLock { $0.events }.contains(.interruptionBegan(.unplugged)))
        system.refusal = nil
        // The next attempt comes a second after the last that was refused, at the latest.
        let frames = run(.seconds(2))
        #expect(system.cards.count == 2)
        #expect(frames.count > 10)
        #expect(statistics.interruptions >= 1)
        #expect(told.withLock { $0.events }.contains { if case .interruptionEnded = $0 { true } else { false } })
    }
}
