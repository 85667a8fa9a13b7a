import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import Glibc
import Testing

@testable import EmisoraMicrophone

/// A sound card in virtual time that does what a test says, and the clock that belongs to it.
final class ScriptedSystem: PCMSystem {
    var now = Instant(nanoseconds: 1_000_000_000_000)
    /// What opening answers at a moment; `nil` for success.
    var refusal: (Instant) -> MicrophoneError? = { _ in nil }
    var setUp: (ScriptedCard) -> Void = { _ in }
    private(set) var attempts: [Instant] = []
    private(set) var cards: [ScriptedCard] = []
    /// Calls of any kind, to tell whether somebody spins.
    var calls = 0

    func wait(until deadline: Instant) -> Bool {
        calls += 1
        now = max(now, deadline)
        return true
    }

    func open(_ device: String, channels: Int) throws(MicrophoneError) -> any PCMStream {
        calls += 1
        attempts.append(now)
        if let error = refusal(now) { throw error }
        let card = ScriptedCard(self, channels: channels)
        setUp(card)
        cards.append(card)
        return card
    }
}

final class ScriptedCard: PCMStream {
    var configuration: PCMConfiguration
    /// How much faster its clock is, in millionths.
    var drift = 0.0
    /// What every call answers at a moment; `nil` for nothing special.
    var fault: (Instant) -> PCMFault? = { _ in nil }
    /// When it stands still.
    var isStill: (Instant) -> Bool = { _ in false }
    /// How often `resume` says that it is not ready.
    var resumeDelays = 0
    var hasClock = true
    private(set) var restarts = 0
    private unowned let system: ScriptedSystem
    private var start: Instant
    private var readCount = 0
    private var isOverrun = false

    init(_ system: ScriptedSystem, channels: Int) {
        self.system = system
        start = system.now
        configuration = PCMConfiguration(
            encoding: .signed16, channels: channels, sampleRate: 48_000, periodLength: 480, bufferLength: 9600)
    }

    private var rate: Double { Double(configuration.sampleRate) * (1 + drift * 1e-6) }

    private func available() throws(PCMFault) -> Int {
        system.calls += 1
        if let fault = fault(system.now) { throw fault }
        if isStill(system.now) { return 0 }
        if !hasClock { return configuration.bufferLength }
        let taken = Int((system.now - start).inSeconds * rate)
        if taken - readCount > configuration.bufferLength { isOverrun = true }
        if isOverrun { throw .overrun }
        return taken - readCount
    }

    func wait(_ limit: Duration) throws(PCMFault) -> Bool {
        let deadline = system.now + limit
        while true {
            if try available() >= configuration.periodLength { return true }
            guard system.now < deadline else { return false }
            system.now = min(deadline, system.now + .milliseconds(1))
        }
    }

    func position() throws(PCMFault) -> PCMPosition {
        let available = try available()
        let time = start + .nanoseconds(Int64(Double(readCount) / rate * 1e9))
        return PCMPosition(time: hasClock ? time : system.now, available: available)
    }

    /// A 1 kHz tone by the monotonic clock; on further channels negative.
    func read(_ count: Int, into buffer: UnsafeMutableRawBufferPointer) throws(PCMFault) -> Int {
        let count = min(count, try available())
        for index in 0..<count {
            let seconds = (start - Instant.zero).inSeconds + Double(readCount + index) / rate
            let turn = (1000 * seconds).truncatingRemainder(dividingBy: 1)
            let value = Int16(16_000 * sin(2 * .pi * turn))
            for channel in 0..<configuration.channels {
                let offset = 2 * (index * configuration.channels + channel)
                buffer.storeBytes(of: channel == 0 ? value : -value, toByteOffset: offset, as: Int16.self)
            }
        }
        readCount += count
        return count
    }

    func restart() throws(PCMFault) {
        system.calls += 1
        if let fault = fault(system.now) { throw fault }
        restarts += 1
        begin()
    }

    func resume() throws(PCMFault) -> Bool {
        system.calls += 1
        resumeDelays -= 1
        guard resumeDelays < 0 else { return false }
        begin()
        return true
    }

    private func begin() {
        start = system.now
        readCount = 0
        isOverrun = false
    }
}

/// A microphone's loop with its scripted card, and what it told.
final class Rig {
    let system = ScriptedSystem()
    let consumer = AudioCaptureConsumer(queueLimit: 10_000)
    private(set) var events: [MicrophoneEvent] = []
    private(set) var statistics = MicrophoneStatistics()
    private var loop: MicrophoneLoop?

    func start(channels: Int = 1) throws {
        consumer.open()
        consumer.setHasSubscribers(true)
        let format = AudioFormat(channels: channels, sampleFormat: .float32)
        loop = try MicrophoneLoop(
            "card", format: format, system: system, consumer: consumer,
            observers: .init(
                isStopped: { false }, onEvent: { [unowned self] in events.append($0) },
                onStatistics: { [unowned self] in statistics = $0 }))
    }

    func run(_ duration: Duration) {
        let end = system.now + duration
        while system.now < end { loop?.turn() }
    }

    func frames() -> [AudioFrame] {
        var frames: [AudioFrame] = []
        while let taken = consumer.takeNext() {
            frames.append(taken.frame)
            taken.encoded()
        }
        return frames
    }
}

func samples(_ frames: [AudioFrame]) -> [Float] {
    frames.flatMap { frame -> [Float] in
        if case .float32(let samples) = frame.samples { samples } else { [] }
    }
}

/// Whether each frame begins where the one before ends.
func isSeamless(_ frames: [AudioFrame]) -> Bool {
    zip(frames, frames.dropFirst()).allSatisfy { $1.timestamp == $0.timestamp + .milliseconds(20) }
}

/// The amplitude of one frequency at 48 kHz (Goertzel's algorithm).
func amplitude(of frequency: Double, in samples: [Float]) -> Double {
    let turn = 2 * Double.pi * frequency / 48_000
    let coefficient = 2 * cos(turn)
    var (last, beforeLast) = (0.0, 0.0)
    for sample in samples { (last, beforeLast) = (Double(sample) + coefficient * last - beforeLast, last) }
    let power = last * last + beforeLast * beforeLast - coefficient * last * beforeLast
    return 2 * power.squareRoot() / Double(samples.count)
}
