import EmisoraCore
import Testing

@testable import Emisora

/// One of eight viewers goes bad: real calls on the loopback interface, the bad one behind a relay.
@Suite(.serialized) struct StalledViewerTests {
    /// Nine of ten media packets are lost to a viewer that answers and reports; or neither side hears the other any more.
    @Test(arguments: [BottleneckRelay.Fault.media, .everything])
    func oneOfEightThatGoesBadTakesNothingFromTheOthers(_ fault: BottleneckRelay.Fault) async throws {
        let relay = try await BottleneckRelay(rate: nil)
        let (first, second) = RelayedChannel.pair(relay, onlyFirst: true)
        let publishing = try await Session.open(first, RelayedChannel.sessionOptions)
        let receiving = try await Session.open(second, RelayedChannel.sessionOptions)
        // Small pictures, so that eight decoders are not what is measured.
        let publisher = Publisher(videoCapture: PatternCapture(width: 160, height: 120), audioCapture: ToneCapture())
        try await publishing.publish(publisher)
        let collectors = (0..<8).map { _ in Collector() }
        for collector in collectors {
            try await receiving.subscribe(Subscriber(videoSink: collector), to: "main")
        }
        try await eventually("all eight see pictures", within: .seconds(60)) {
            collectors.allSatisfy { $0.snapshot.marks.count >= 15 }
        }

        let before = await receiving.statistics().subscribers
        let held = try #require(await publishing.statistics().publishers.first).capture.dropped(.adaptation)
        let starts = collectors.map { $0.snapshot.marks.count }
        relay.shared.withLock { $0.fault = fault }
        try await eventually("the others see four seconds more", within: .seconds(90)) {
            collectors.indices.dropFirst().allSatisfy { collectors[$0].snapshot.marks.count >= starts[$0] + 120 }
        }
        let seen = collectors.indices.dropFirst().map { index in
            Array(collectors[index].snapshot.marks[starts[index]..<(starts[index] + 120)].map(\.frameNumber))
        }
        let after = await receiving.statistics().subscribers
        let badlySeen = collectors[0].snapshot.marks.count - starts[0]
        let statistics = try #require(await publishing.statistics().publishers.first)

        // It did go bad, and is there still: what it costs is not hidden by its end.
        #expect(badlySeen < 110)
        #expect(relay.shared.withLock { $0.lost } > 100)
        #expect(statistics.subscriberCount == 8)
        #expect(before.count == 8 && after.count == 8)
        #expect(after.count { $0.packetsLost == 0 } >= 7)
        // Whatever one of the seven saw, all of them saw: none of the pictures in between is missing.
        let from = seen.compactMap(\.first).max() ?? 0
        let to = seen.compactMap(\.last).min() ?? 0
        let common = seen.map { $0.filter { ($0 >= from) && ($0 <= to) } }
        #expect(common.allSatisfy { $0 == common[0] && $0.count > 60 })
        // Nor are fewer made for its sake.
        #expect(statistics.capture.dropped(.adaptation) == held)
        await publishing.disconnect()
        await receiving.disconnect()
        await relay.close()
    }
}
