import Emisora
import EmisoraOperations
import EmisoraSignalingServer
import Synchronization

/// The figures of a publishing session for Prometheus, from the statistics that all other figures are from.
struct PublisherMetrics {
    private var now: [PublisherStatistics] = []
    private var readAt: Instant?
    /// Between the last two readings, by stream.
    private var framesPerSecond: [String: Double] = [:]
    private var bitsPerSecond: [String: Double] = [:]

    /// A further reading; rates are those since the one before.
    mutating func update(with statistics: [PublisherStatistics], at time: Instant) {
        let seconds = readAt.map { (time - $0).inSeconds } ?? 0
        var before: [String: PublisherStatistics] = [:]
        for publisher in now { before[publisher.stream] = publisher }
        framesPerSecond = [:]
        bitsPerSecond = [:]
        for publisher in statistics {
            guard let previous = before[publisher.stream], seconds > 0 else { continue }
            // A stream that was published anew begins at nothing.
            framesPerSecond[publisher.stream] = Self.growth(previous.framesEncoded, publisher.framesEncoded) / seconds
            bitsPerSecond[publisher.stream] = Self.growth(previous.bytesSent, publisher.bytesSent) * 8 / seconds
        }
        now = statistics
        readAt = time
    }

    private static func growth(_ before: UInt64, _ after: UInt64) -> Double {
        after >= before ? Double(after - before) : 0
    }

    /// In Prometheus' text format. Streams are few, and named by whoever runs this; viewers are only counted.
    var text: PrometheusText {
        var text = PrometheusText()
        func family(
            _ name: String, _ kind: PrometheusText.Kind, _ help: String, _ value: (PublisherStatistics) -> Double?
        ) {
            text.family(
                "emisora_publisher_\(name)", kind, help,
                now.compactMap { publisher in
                    value(publisher).map { PrometheusText.Sample(["stream": publisher.stream], $0) }
                })
        }
        family("frames_captured_total", .counter, "Pictures of the source.") { Double($0.capture.captured) }
        family("frames_encoded_total", .counter, "Pictures encoded.") { Double($0.framesEncoded) }
        family("key_frames_encoded_total", .counter, "Key frames among them.") { Double($0.keyFramesEncoded) }
        text.family(
            "emisora_publisher_frames_dropped_total", .counter, "Pictures of the source that were not encoded.",
            drops { $0.capture.droppedByReason.map { ($0.key.rawValue, $0.value) } })
        family("frames_lost_by_driver_total", .counter, "Pictures that the camera's driver lost.") {
            Double($0.capture.lostByDriver)
        }
        family("frames_sent_total", .counter, "Pictures sent, over all viewers.") { Double($0.framesSent) }
        text.family(
            "emisora_publisher_frames_not_sent_total", .counter, "Encoded pictures that a viewer was not sent.",
            drops { publisher in
                var ledger = DeliveryReasons()
                for delivery in publisher.delivery { ledger.add(delivery) }
                return ledger.sorted
            })
        family("frames_per_second", .gauge, "Pictures encoded in the last second.") { framesPerSecond[$0.stream] }
        family("bits_per_second", .gauge, "Bits sent in the last second, over all viewers.") {
            bitsPerSecond[$0.stream]
        }
        family("sent_packets_total", .counter, "Packets sent.") { Double($0.packetsSent) }
        family("sent_bytes_total", .counter, "Bytes of media sent.") { Double($0.bytesSent) }
        family("retransmitted_packets_total", .counter, "Packets sent again.") { Double($0.retransmittedPacketsSent) }
        family("fec_packets_total", .counter, "Packets sent against losses before they happened.") {
            Double($0.fecPacketsSent)
        }
        family("nacks_total", .counter, "Requests for lost packets.") { Double($0.nackCount) }
        family("plis_total", .counter, "Requests for a key frame (PLI).") { Double($0.pliCount) }
        family("firs_total", .counter, "Requests for a key frame (FIR).") { Double($0.firCount) }
        family("audio_frames_encoded_total", .counter, "Frames of sound encoded.") { Double($0.audioFramesEncoded) }
        family("encode_seconds_total", .counter, "Time spent in the video encoder.") { $0.totalEncodeTime.inSeconds }
        family("viewers", .gauge, "Viewers whose connection is up.") { Double($0.subscriberCount) }
        family("round_trip_time_seconds", .gauge, "Of the viewer with the worst.") { $0.roundTripTime }
        family("fraction_lost", .gauge, "Packets that the viewer with the worst path missed lately, 0 to 1.") {
            $0.fractionLost
        }
        family("target_bits_per_second", .gauge, "What the video encoder aims at.") {
            $0.targetBitrate.map { Double($0.bitsPerSecond) }
        }
        family("available_bits_per_second", .gauge, "What the path to the worst viewer is taken to carry.") {
            $0.availableOutgoingBitrate.map { Double($0.bitsPerSecond) }
        }
        family("limited_by_bandwidth", .gauge, "1 while paths carry less than is wanted.") {
            $0.qualityLimitationReason == .bandwidth ? 1 : 0
        }
        return text
    }

    private func drops(_ reasons: (PublisherStatistics) -> [(String, Int)]) -> [PrometheusText.Sample] {
        now.flatMap { publisher in
            reasons(publisher).sorted { $0.0 < $1.0 }.map { reason, count in
                PrometheusText.Sample(["stream": publisher.stream, "reason": reason], Double(count))
            }
        }
    }
}

/// The reasons of several ledgers, added up.
private struct DeliveryReasons {
    private var counts: [String: Int] = [:]

    mutating func add(_ ledger: DeliveryLedger) {
        for (reason, count) in ledger.notSentByReason { counts[reason.rawValue, default: 0] += count }
    }

    var sorted: [(String, Int)] { counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
}

/// The last reading, for the thread that Prometheus is answered on.
final class PublisherExposition: Sendable {
    private struct State {
        var metrics = PublisherMetrics()
        var canBeJoined = false
        var signalingLosses = 0
    }

    private let state = Mutex(State())

    func update(with statistics: SessionStatistics) {
        let now = MonotonicClock.now
        state.withLock { $0.metrics.update(with: statistics.publishers, at: now) }
    }

    /// Whether new viewers find the stream: it is published, and the server is there.
    var canBeJoined: Bool {
        get { state.withLock { $0.canBeJoined } }
        set {
            state.withLock {
                if $0.canBeJoined, !newValue { $0.signalingLosses += 1 }
                $0.canBeJoined = newValue
            }
        }
    }

    var text: String {
        let state = state.withLock { $0 }
        var text = state.metrics.text
        text.family(
            "emisora_publisher_signaling_connected", .gauge, "1 while new viewers find the stream, else 0.",
            state.canBeJoined ? 1 : 0)
        text.family(
            "emisora_publisher_signaling_losses_total", .counter, "How often the server was lost.",
            Double(state.signalingLosses))
        ProcessMetrics.read().write(to: &text)
        return text.body
    }
}
