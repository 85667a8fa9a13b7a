import EmisoraCore
import EmisoraRTP
import EmisoraSimulation

@testable import EmisoraCongestionControl

/// A call of one direction over a simulated link, everything between encoder and decoder in place of which bytes stand:
/// RTP with header extensions one way, RTCP the other.
final class SimulatedCall {
    static let start = Instant.zero + .seconds(1)
    static let leftAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 5_000)
    static let rightAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0202), port: 6_000)

    let sender: MediaSender
    let receiver: MediaReceiver
    let simulation: Simulation

    init(
        seed: UInt64, options: CongestionControl.Options, conditions: SimulatedLink.Conditions,
        hasTransportFeedback: Bool = true
    ) {
        sender = MediaSender(options: options, hasTransportFeedback: hasTransportFeedback, seed: seed)
        receiver = MediaReceiver(hasTransportFeedback: hasTransportFeedback)
        simulation = Simulation(sender, receiver, conditions: conditions, seed: seed)
        // The way back is not what is tested: it has the delay, but neither limit nor loss.
        simulation.links[1].conditions.rate = nil
        simulation.links[1].conditions.loss = 0
    }

    func run(until seconds: Int) { simulation.run(until: Self.start + .seconds(seconds)) }

    /// Changes the rate of the path to the receiver.
    func setRate(_ rate: DataRate?, at seconds: Int) {
        simulation.schedule(at: Self.start + .seconds(seconds)) { [simulation] _ in
            simulation.links[0].conditions.rate = rate
        }
    }

    /// What happened to the packets that were sent between two seconds of the call.
    func figures(_ range: Range<Int>) -> Figures {
        let from = Self.start + .seconds(range.lowerBound)
        let to = Self.start + .seconds(range.upperBound)
        let sent = sender.sent.count { $0 >= from && $0 < to }
        let arrived = receiver.arrivals.filter { $0.sentAt >= from && $0.sentAt < to }
        let delay = simulation.links[0].conditions.delay
        let waits = arrived.map { ($0.at - $0.sentAt - delay).inMilliseconds }.sorted()
        let byteCount = receiver.arrivals.filter { $0.at >= from && $0.at < to }.reduce(0) { $0 + $1.byteCount }
        return Figures(
            loss: sent == 0 ? 0 : 1 - Double(arrived.count) / Double(sent),
            bitsPerSecond: Double(byteCount) * 8 / Double(range.count),
            meanWait: waits.isEmpty ? 0 : waits.reduce(0, +) / Double(waits.count),
            wait95: waits.isEmpty ? 0 : waits[waits.count * 95 / 100])
    }

    struct Figures: CustomStringConvertible {
        /// 0…1.
        var loss: Double
        var bitsPerSecond: Double
        /// Milliseconds in the queue of the path.
        var meanWait: Double
        var wait95: Double

        var description: String {
            "loss \(Int(loss * 1000))‰, \(Int(bitsPerSecond / 1000)) kbit/s, wait \(Int(meanWait)) ms, 95 % \(Int(wait95)) ms"
        }
    }
}

/// Sends frames of about the size that the target allows, 30 a second, and sound, through the pacer.
final class MediaSender: SimulatedPeer {
    private static let ssrc: UInt32 = 0x1111
    private static let headerByteCount = 12 + 8

    private(set) var control: CongestionControl
    private(set) var pacer: Pacer
    private(set) var adapter = TransportFeedbackAdapter()
    private(set) var breaker = CircuitBreaker()
    private(set) var verdict = CircuitBreaker.Verdict.send
    private(set) var trip: CircuitBreaker.Trip?
    /// When each packet left.
    private(set) var sent: [Instant] = []
    private(set) var targets: [(at: Instant, rate: DataRate, reason: CongestionDecision.Reason)] = []
    private(set) var framesSkipped = 0
    private(set) var notifications: [TemporaryMaximumBitrate] = []
    /// Less than the target, as an encoder with an easy picture sends.
    var encoderLimit: DataRate?

    private let wantedCeiling: DataRate
    private let hasTransportFeedback: Bool
    private let block: HeaderExtensionBlock?
    private var random: SeededRandom
    private var lossReporter = LossReporter()
    private var limits = ReceiverLimits()
    private var sequenceNumber: UInt16 = 65_000
    private var audioQueue: [Int] = []
    private var mediaQueue: [Int] = []
    private var nextFrameAt = SimulatedCall.start
    private var nextAudioAt = SimulatedCall.start
    private var nextReportAt = SimulatedCall.start + .seconds(1)
    private var frameNumber = 0
    private var outgoingRTCP: [[UInt8]] = []
    private let wallClock = WallClock(unixNanosecondsAtZero: 1_700_000_000_000_000_000)
    private var roundTripTime: Duration = .milliseconds(100)

    init(options: CongestionControl.Options, hasTransportFeedback: Bool, seed: UInt64) {
        control = CongestionControl(options, now: SimulatedCall.start)
        pacer = Pacer(rate: control.decision.pacingRate)
        wantedCeiling = control.options.ceiling
        self.hasTransportFeedback = hasTransportFeedback
        random = SeededRandom(seed ^ 0xABCD)
        var ids = HeaderExtensionIDs()
        ids.transportSequenceNumber = 3
        block = hasTransportFeedback ? try? HeaderExtensionBlock([], ids: ids) : nil
    }

    // MARK: Time

    private var waiting: Pacer.Waiting {
        var waiting: Pacer.Waiting = []
        guard verdict == .send else { return waiting }
        if !audioQueue.isEmpty { waiting.insert(.audio) }
        if !mediaQueue.isEmpty { waiting.insert(.media) }
        return waiting
    }

    private var now = SimulatedCall.start

    var nextDeadline: Instant? {
        guard trip == nil else { return nil }
        let paced = pacer.nextDeadline(
            for: waiting, inFlightByteCount: adapter.inFlightByteCount, now: now)
        return [nextFrameAt, nextAudioAt, nextReportAt, control.nextDeadline, breaker.nextDeadline, paced]
            .compactMap { $0 }.min()
    }

    func handleTimeout(now: Instant) {
        self.now = now
        if nextFrameAt <= now { encodeFrame(now: now) }
        if nextAudioAt <= now {
            audioQueue.append(100)
            nextAudioAt = nextAudioAt + .milliseconds(20)
        }
        if nextReportAt <= now {
            nextReportAt = nextReportAt + .seconds(1)
            sendReport(now: now)
        }
        if control.nextDeadline <= now {
            control.processInterval(now: now)
            follow(now: now)
        }
        verdict = breaker.poll(now: now)
        if case .end(let trip) = verdict { self.trip = trip }
    }

    private func encodeFrame(now: Instant) {
        nextFrameAt = nextFrameAt + .nanoseconds(33_333_333)
        frameNumber += 1
        let target = min(control.decision.targetBitrate, encoderLimit ?? control.decision.targetBitrate)
        let forVideo = max(5_000, target.bitsPerSecond - 60_000)
        // An encoder that knows of a long queue skips pictures rather than add to it.
        guard mediaQueue.reduce(0, +) * 8 < forVideo / 2 else {
            framesSkipped += 1
            return
        }
        let isKeyFrame = frameNumber % 300 == 1
        var byteCount = Double(forVideo) / 8 / 30 * (0.75 + random.nextUnit() / 2) * (isKeyFrame ? 4 : 1)
        while byteCount > 0 {
            mediaQueue.append(max(60, Int(min(byteCount, 1_150))))
            byteCount -= 1_150
        }
    }

    private func follow(now: Instant) {
        let decision = control.decision
        pacer.update(rate: decision.pacingRate, congestionWindow: decision.congestionWindow)
        if targets.last?.rate != decision.targetBitrate {
            targets.append((now, decision.targetBitrate, decision.reason))
        }
    }

    private func sendReport(now: Instant) {
        rtcp { writer throws(RTPError) in
            try writer.write(
                SenderReport(
                    ssrc: Self.ssrc, ntpTimestamp: self.wallClock.ntp(at: now), rtpTimestamp: 0, packetCount: 0,
                    octetCount: 0))
        }
    }

    private func rtcp(_ body: (inout RTCPWriter) throws(RTPError) -> Void) {
        var bytes = [UInt8](repeating: 0, count: 1_400)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        var writer = RTCPWriter(&raw, form: .reducedSize)
        do throws(RTPError) { try body(&writer) } catch { return }
        let count = writer.byteCount
        outgoingRTCP.append(Array(bytes.prefix(count)))
    }

    // MARK: Datagrams

    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        self.now = now
        guard trip == nil else { return nil }
        if !outgoingRTCP.isEmpty {
            let bytes = outgoingRTCP.removeFirst()
            for (offset, byte) in bytes.enumerated() {
                buffer.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
            }
            return transmit(bytes.count)
        }
        guard let kind = pacer.next(of: waiting, inFlightByteCount: adapter.inFlightByteCount, now: now) else {
            return nil
        }
        let payload = kind == .audio ? audioQueue.removeFirst() : mediaQueue.removeFirst()
        let byteCount = Self.headerByteCount + payload
        var values = HeaderExtensionValues()
        if hasTransportFeedback {
            values.transportSequenceNumber = adapter.packetSent(
                byteCount: byteCount, ssrc: Self.ssrc, sequenceNumber: sequenceNumber, now: now)
        }
        let header = RTPHeader(
            marker: false, payloadType: 96, sequenceNumber: sequenceNumber, timestamp: 0, ssrc: Self.ssrc)
        sequenceNumber &+= 1
        guard let written = try? header.write(into: &buffer, extensions: block, values: values) else { return nil }
        buffer.storeBytes(of: now.nanoseconds, toByteOffset: written, as: Int64.self)
        pacer.didSend(byteCount: byteCount, now: now)
        control.packetSent(byteCount: byteCount, now: now)
        breaker.packetSent(byteCount: byteCount, now: now)
        sent.append(now)
        return transmit(byteCount)
    }

    private func transmit(_ byteCount: Int) -> Transmit {
        Transmit(
            byteCount: byteCount, source: SimulatedCall.leftAddress, destination: SimulatedCall.rightAddress)
    }

    func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {
        self.now = now
        var reader = RTCPReader(datagram.bytes)
        while let packet = try? reader.next() {
            switch packet {
            case .transportWideFeedback(let feedback): control.handle(adapter.handle(feedback, now: now))
            case .receiverReport(let report): for block in report.reports { handle(block, now: now) }
            case .receiverEstimatedMaximumBitrate(let estimate):
                limits.handle(estimate)
                control.handle(limits, now: now)
            case .temporaryMaximumBitrate(let request):
                if let answer = limits.handle(request, ours: [Self.ssrc], now: now) {
                    rtcp { writer throws(RTPError) in try writer.write(answer) }
                    notifications.append(answer)
                }
                control.handle(limits, now: now)
            default: break
            }
        }
        follow(now: now)
    }

    private func handle(_ block: ReportBlock, now: Instant) {
        if block.lastSenderReport != 0 {
            let elapsed = wallClock.ntp(at: now).middle32 &- block.lastSenderReport &- block.delaySinceLastSenderReport
            roundTripTime = .nanoseconds(Int64(Double(elapsed) / 65_536 * 1e9))
            control.handleRoundTripTime(roundTripTime, now: now)
        }
        if let report = lossReporter.handle(block, now: now) { control.handle(report) }
        breaker.handle(block, roundTripTime: roundTripTime, now: now)
        let ceiling = min(wantedCeiling, breaker.ceiling ?? wantedCeiling)
        if ceiling != control.options.ceiling { control.setCeiling(ceiling, now: now) }
    }
}

/// Notes what arrives and reports on it.
final class MediaReceiver: SimulatedPeer {
    private(set) var arrivals: [(at: Instant, sentAt: Instant, byteCount: Int)] = []
    /// Reports and feedback go out; cleared to play a peer that says nothing.
    var isTalking = true
    private(set) var notifications: [TemporaryMaximumBitrate] = []

    private let ids: HeaderExtensionIDs
    private var feedback = TransportFeedbackReceiver()
    private var statistics: ReceptionStatistics?
    private var senderClock = SenderClock(clockRate: 90_000)
    private var nextReportAt = SimulatedCall.start + .seconds(1)
    private var outgoing: [[UInt8]] = []

    init(hasTransportFeedback: Bool) {
        var ids = HeaderExtensionIDs()
        ids.transportSequenceNumber = hasTransportFeedback ? 3 : nil
        self.ids = ids
    }

    func send(_ body: (inout RTCPWriter) throws(RTPError) -> Void) {
        var bytes = [UInt8](repeating: 0, count: 1_400)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        var writer = RTCPWriter(&raw, form: .reducedSize)
        do throws(RTPError) { try body(&writer) } catch { return }
        let count = writer.byteCount
        outgoing.append(Array(bytes.prefix(count)))
    }

    var nextDeadline: Instant? { min(nextReportAt, feedback.nextDeadline ?? nextReportAt) }

    func handleTimeout(now: Instant) {
        while let message = feedback.pollFeedback(senderSSRC: 2, now: now) {
            if isTalking { send { writer throws(RTPError) in try writer.write(message) } }
        }
        guard nextReportAt <= now else { return }
        nextReportAt = nextReportAt + .seconds(1)
        guard isTalking, let block = statistics?.reportBlock(senderClock: senderClock, now: now) else { return }
        send { writer throws(RTPError) in try writer.write(ReceiverReport(ssrc: 2, reports: [block])) }
    }

    func handle(datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant) {
        let bytes = datagram.bytes
        if bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self) >= 200 {
            var reader = RTCPReader(bytes)
            while let packet = try? reader.next() {
                if case .senderReport(let report) = packet { senderClock.handle(report, now: now) }
                if case .temporaryMaximumBitrate(let message) = packet { notifications.append(message) }
            }
            return
        }
        guard let header = try? RTPHeader(parsing: bytes) else { return }
        var statistics = statistics ?? ReceptionStatistics(ssrc: header.ssrc, clockRate: 90_000)
        _ = statistics.handle(sequenceNumber: header.sequenceNumber, timestamp: header.timestamp, now: now)
        self.statistics = statistics
        let values = HeaderExtensionValues(of: header, in: bytes, ids: ids)
        if let number = values.transportSequenceNumber {
            feedback.handle(sequenceNumber: number, mediaSSRC: header.ssrc, byteCount: bytes.byteCount, now: now)
        }
        let sentAt = bytes.unsafeLoadUnaligned(fromByteOffset: header.payload.lowerBound, as: Int64.self)
        arrivals.append((now, Instant(nanoseconds: sentAt), bytes.byteCount))
    }

    func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        guard !outgoing.isEmpty else { return nil }
        let bytes = outgoing.removeFirst()
        for (offset, byte) in bytes.enumerated() { buffer.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self) }
        return Transmit(
            byteCount: bytes.count, source: SimulatedCall.rightAddress, destination: SimulatedCall.leftAddress)
    }
}
