import EmisoraOperations
import Testing

@testable import Emisora
@testable import emisora_cli

@Suite struct PublisherMetricsTests {
    private static func statistics(stream: String, frames: UInt64, bytes: UInt64) -> PublisherStatistics {
        var capture = CaptureLedger()
        capture.drop(.noSubscribers, count: 3)
        var delivery = DeliveryLedger()
        for _ in 0..<5 { delivery.recordEncoded() }
        delivery.recordNotSent(.congestion, count: 2)
        return PublisherStatistics(
            stream: stream, capture: capture, framesEncoded: frames, keyFramesEncoded: 1, firstFrameEncodedAt: nil,
            bytesEncoded: 0, totalEncodeTime: .milliseconds(1500), frameWidth: 640, frameHeight: 480,
            audioFramesEncoded: 0, audioLevel: 0, subscriberCount: 2, framesSent: 0, packetsSent: 0, bytesSent: bytes,
            retransmittedPacketsSent: 0, fecPacketsSent: 0, fecBytesSent: 0, nackCount: 0, pliCount: 0, firCount: 0,
            roundTripTime: nil, fractionLost: 0.25, targetBitrate: .kilobitsPerSecond(700),
            availableOutgoingBitrate: nil, qualityLimitationReason: .bandwidth, encodings: [],
            delivery: [delivery, delivery], transports: [], lastError: nil)
    }

    private static func lines(_ metrics: PublisherMetrics) -> Set<Substring> {
        Set(metrics.text.body.split(separator: "\n"))
    }

    @Test("each figure is told for its stream, and what is not known is left out")
    func figures() {
        var metrics = PublisherMetrics()
        #expect(metrics.text.body.isEmpty)
        metrics.update(with: [Self.statistics(stream: "a\"b", frames: 10, bytes: 1000)], at: Instant(nanoseconds: 0))
        let lines = Self.lines(metrics)
        let label = #"stream="a\"b""#
        for line in [
            "frames_encoded_total{\(label)} 10", "frames_dropped_total{\(label),reason=\"noSubscribers\"} 3",
            "frames_not_sent_total{\(label),reason=\"congestion\"} 4", "encode_seconds_total{\(label)} 1.5",
            "fraction_lost{\(label)} 0.25", "target_bits_per_second{\(label)} 700000",
            "limited_by_bandwidth{\(label)} 1", "viewers{\(label)} 2",
        ] {
            #expect(lines.contains("emisora_publisher_\(line)"), "\(line)")
        }
        // Nobody has told it yet, or it takes two readings.
        for name in ["round_trip_time_seconds", "available_bits_per_second", "frames_per_second", "bits_per_second"] {
            #expect(!metrics.text.body.contains("emisora_publisher_\(name)"), "\(name)")
        }
    }

    @Test("rates are those between two readings, of a stream that began anew none")
    func rates() {
        var metrics = PublisherMetrics()
        let readings: [(frames: UInt64, bytes: UInt64, rate: Int?, bits: Int?)] = [
            (10, 1000, nil, nil), (70, 5000, 30, 16_000), (5, 10, 0, 0), (65, 1010, 30, 4000),
        ]
        for (index, reading) in readings.enumerated() {
            metrics.update(
                with: [Self.statistics(stream: "s", frames: reading.frames, bytes: reading.bytes)],
                at: Instant(nanoseconds: Int64(index) * 2_000_000_000))
            let lines = Self.lines(metrics)
            if let rate = reading.rate, let bits = reading.bits {
                #expect(lines.contains("emisora_publisher_frames_per_second{stream=\"s\"} \(rate)"))
                #expect(lines.contains("emisora_publisher_bits_per_second{stream=\"s\"} \(bits)"))
            }
        }
    }
}
