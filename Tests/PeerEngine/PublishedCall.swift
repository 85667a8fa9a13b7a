import EmisoraCongestionControl
import EmisoraCore
import EmisoraCrypto
import EmisoraICE
import EmisoraRTP
import EmisoraSTUN
import EmisoraSimulation

@testable import EmisoraPeerEngine

/// A whole call of one direction in virtual time: two peers, described to each other, and an encoder in place of which
/// frames of the wanted size stand. It begins when both are connected.
final class PublishedCall {
    typealias Engine = PeerEngine<NullSecurity>

    let sender: Engine
    let receiver: Engine
    let simulation: Simulation
    private(set) var start = Instant.zero
    /// Frames as they arrived, with how long they took since they were captured.
    private(set) var frames: [(at: Instant, capturedAt: Instant, byteCount: Int)] = []
    private(set) var results: [FrameSendResult: Int] = [:]
    private(set) var keyFrames = 0
    private(set) var targets: [(at: Instant, rate: DataRate)] = []
    private(set) var failure: String?
    private(set) var lastFrame: ReceivedFrame?
    /// Pulls of sound, one each 20 ms once there was some, and those that gave none.
    private(set) var soundPulls = 0
    private(set) var soundGaps = 0
    /// Encodes at this rate whatever the path carries, as for others who carry more; `nil`: follows the path.
    var fixedRate: DataRate?
    let ceiling: DataRate

    private var random: SeededRandom
    private var wantsKeyFrame = true
    private var number = 0
    private var marks: [(at: Instant, lost: Int, delivered: Int)] = []

    /// - Parameter edit: changes the descriptions on their way: the receiver's offer, then the sender's answer.
    init(
        seed: UInt64, kilobits: Int?, queue: Int = 30_000, delay: Int = 30, ceiling: Int = 1_700,
        edit: (_ offer: inout String, _ answer: inout String) -> Void = { _, _ in }
    ) throws {
        self.ceiling = .kilobitsPerSecond(ceiling)
        random = SeededRandom(seed ^ 0xEC0D)
        let start = Instant.zero + .seconds(1)
        func engine(_ address: SocketAddress, sends: Bool, _ seed: UInt64) -> Engine {
            Engine(
                configuration: PeerEngineTests.configuration(address, sends: sends), security: NullSecurity(),
                pacer: TransactionPacer(), random: RandomSource(SeededRandom(seed)), now: start)
        }
        sender = engine(PeerEngineTests.leftAddress, sends: true, seed)
        receiver = engine(PeerEngineTests.rightAddress, sends: false, seed &+ 1_000)
        sender.setMaximumBitrate(self.ceiling, start: self.ceiling, now: start)
        var offer = try receiver.makeOffer()
        var unused = ""
        edit(&offer, &unused)
        var answer = try sender.answer(offer: offer, now: start)
        edit(&offer, &answer)
        try receiver.setRemoteAnswer(answer, now: start)
        var conditions = SimulatedLink.Conditions()
        conditions.delay = .milliseconds(delay)
        simulation = Simulation(sender, receiver, conditions: conditions, seed: seed)
        simulation.links[0].conditions.rate = kilobits.map { .kilobitsPerSecond($0) }
        simulation.links[0].conditions.queueByteCount = queue
        simulation.run(until: simulation.now + .seconds(5)) { [sender, receiver] in
            sender.connectionState == .connected && receiver.connectionState == .connected
        }
        self.start = simulation.now
        simulation.schedule(at: simulation.now) { [unowned self] in encodePicture($0) }
        simulation.schedule(at: simulation.now) { [unowned self] in encodeSound($0) }
        simulation.schedule(at: simulation.now) { [unowned self] in mark($0) }
        simulation.schedule(at: simulation.now) { [unowned self] in playSound($0) }
    }

    func run(until seconds: Int) {
        simulation.run(until: start + .seconds(seconds)) { [unowned self] in
            while let frame = receiver.pollVideoFrame(now: simulation.now) { take(frame) }
            return false
        }
    }

    func setRate(_ kilobits: Int?, at seconds: Int) {
        simulation.schedule(at: start + .seconds(seconds)) { [simulation] _ in
            simulation.links[0].conditions.rate = kilobits.map { .kilobitsPerSecond($0) }
        }
    }

    /// Hands the sender an RTCP packet as though the receiver had sent it.
    func inject(_ body: (inout RTCPWriter) throws(RTPError) -> Void) {
        var bytes = [UInt8](repeating: 0, count: 1_400)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        var writer = RTCPWriter(&raw, form: .reducedSize)
        do throws(RTPError) { try body(&writer) } catch { return }
        let count = writer.byteCount
        guard let whole = receiver.security.protectRTCP(&raw, byteCount: count) else { return }
        var datagram = raw._mutatingExtracting(0..<whole)
        sender.handle(
            datagram: &datagram, from: PeerEngineTests.rightAddress, to: PeerEngineTests.leftAddress,
            now: simulation.now)
    }

    // MARK: Figures

    struct Figures: CustomStringConvertible {
        /// Of all datagrams that were sent, 0…1.
        var loss: Double
        /// Of decoded pictures.
        var bitsPerSecond: Double
        var framesPerSecond: Double
        /// Milliseconds from capture to the whole frame.
        var meanLatency: Double
        var latency95: Double

        var description: String {
            "loss \(Int(loss * 1_000))‰, \(Int(bitsPerSecond / 1_000)) kbit/s, \(Int(framesPerSecond)) fps, "
                + "\(meanLatency.rounded()) ms, 95 % \(latency95.rounded()) ms"
        }
    }

    func figures(_ range: Range<Int>) -> Figures {
        let from = start + .seconds(range.lowerBound)
        let to = start + .seconds(range.upperBound)
        let arrived = frames.filter { $0.at >= from && $0.at < to }
        let latencies = arrived.map { ($0.at - $0.capturedAt).inMilliseconds }.sorted()
        let first = marks.last { $0.at <= from }
        let last = marks.last { $0.at <= to }
        let lost = (last?.lost ?? 0) - (first?.lost ?? 0)
        let delivered = (last?.delivered ?? 0) - (first?.delivered ?? 0)
        return Figures(
            loss: Double(lost) / Double(max(1, lost + delivered)),
            bitsPerSecond: Double(arrived.reduce(0) { $0 + $1.byteCount }) * 8 / Double(range.count),
            framesPerSecond: Double(arrived.count) / Double(range.count),
            meanLatency: latencies.isEmpty ? .infinity : latencies.reduce(0, +) / Double(latencies.count),
            latency95: latencies.isEmpty ? .infinity : latencies[latencies.count * 95 / 100])
    }

    // MARK: Media

    private func take(_ frame: ReceivedFrame) {
        let capturedAt = frame.payload.span.bytes.unsafeLoadUnaligned(fromByteOffset: 10, as: Int64.self)
        lastFrame = frame
        frames.append((simulation.now, Instant(nanoseconds: capturedAt), frame.payload.count))
    }

    private func mark(_ now: Instant) {
        marks.append((now, simulation.links[0].lost, simulation.links[0].delivered))
        simulation.schedule(at: now + .seconds(1)) { [unowned self] in mark($0) }
    }

    /// Called when sound that arrived is played.
    var onSound: (Instant) -> Void = { _ in }

    private func playSound(_ now: Instant) {
        simulation.schedule(at: now + .milliseconds(20)) { [unowned self] in playSound($0) }
        let output = receiver.popAudio(now: now)
        let isGap = if case .packet = output { false } else { true }
        if !isGap { onSound(now) }
        guard soundPulls > 0 || !isGap else { return }
        soundPulls += 1
        if isGap { soundGaps += 1 }
    }

    private func encodePicture(_ now: Instant) {
        simulation.schedule(at: now + .nanoseconds(33_333_333)) { [unowned self] in encodePicture($0) }
        while let event = sender.pollEvent() {
            switch event {
            case .keyFrameNeeded: wantsKeyFrame = true
            case .targetBitrateChanged(let rate): targets.append((now, rate))
            case .stateChanged(.failed, let reason): failure = reason
            default: break
            }
        }
        let target = fixedRate ?? sender.mediaBitrate
        // An encoder that knows of a long queue leaves pictures out rather than add to it.
        guard fixedRate != nil || sender.videoBacklog < .milliseconds(300) else { return }
        let forVideo = max(50_000, Double(target.bitsPerSecond - 45_000) * 0.95)
        var byteCount = forVideo / 8 / 30 * (0.8 + 0.4 * random.nextUnit())
        if wantsKeyFrame { byteCount = max(byteCount * 4, 6_000) }
        var payload = [UInt8](repeating: 0, count: max(32, Int(byteCount)))
        // A VP8 frame header: bit 0 is 0 for key frames.
        payload[0] = wantsKeyFrame ? 0x10 : 0x11
        withUnsafeBytes(of: now.nanoseconds) { time in
            for (index, byte) in time.enumerated() { payload[10 + index] = byte }
        }
        let packetized = try? VP8Packetizer.packetize(
            payload: payload, isKeyFrame: wantsKeyFrame, pictureID: UInt16(number & 0x7FFF),
            maxPayloadSize: Engine.maximumPayloadByteCount)
        guard let frame = packetized else { return }
        number += 1
        let result = sender.sendVideo(frame, captureTime: now, now: now)
        results[result, default: 0] += 1
        if frame.isKeyFrame {
            keyFrames += 1
            wantsKeyFrame = false
        }
    }

    private func encodeSound(_ now: Instant) {
        simulation.schedule(at: now + .milliseconds(20)) { [unowned self] in encodeSound($0) }
        // CELT, 20 ms, one frame, at 32 kbit/s.
        let payload = [UInt8](repeating: 0xF8, count: 80)
        let packetized = try? OpusPacketizer.packetize(
            payload: payload, audioLevel: .init(hasVoice: true, level: 23))
        if let packetized { _ = sender.sendAudio(packetized, captureTime: now, now: now) }
    }
}

extension String {
    /// A description without the lines that contain one of the words.
    func without(_ words: String...) -> String {
        split(separator: "\r\n").filter { line in !words.contains { line.contains($0) } }
            .joined(separator: "\r\n") + "\r\n"
    }
}
