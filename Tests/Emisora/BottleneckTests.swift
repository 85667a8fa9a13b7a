import Testing

@testable import Emisora

/// Real sockets, clocks and codecs through a path of limited rate.
@Suite(.serialized) struct BottleneckTests {
    @Test func aPublisherFollowsItsSubscribersPathDownAndUp() async throws {
        let relay = try await BottleneckRelay(rate: .kilobitsPerSecond(500))
        let (first, second) = RelayedChannel.pair(relay)
        let publishing = try await Session.open(first, RelayedChannel.sessionOptions)
        let receiving = try await Session.open(second, RelayedChannel.sessionOptions)
        // Noise takes whatever rate it is given.
        let publisher = Publisher(videoCapture: NoiseCapture(width: 320, height: 240), audioCapture: ToneCapture())
        try await publishing.publish(publisher)
        let collector = Collector()
        try await receiving.subscribe(Subscriber(videoSink: collector, audioSink: collector), to: "main")
        try await eventually("pictures arrive") { collector.snapshot.frames >= 5 }

        func statistics() async -> PublisherStatistics? { await publishing.statistics().publishers.first }
        try await eventually("the encoder is slowed down to what the path carries", within: .seconds(60)) {
            guard let now = await statistics(), let target = now.targetBitrate else { return false }
            return target < .kilobitsPerSecond(500) && now.qualityLimitationReason == .bandwidth
        }
        // Once it has settled, what is sent gets through.
        func forwarded() -> Int { relay.shared.withLock { $0.forwarded } }
        let settled = forwarded() + 300
        try await eventually("the rate settles", within: .seconds(60)) { forwarded() >= settled }
        let before = relay.shared.withLock { $0 }
        try await eventually("600 packets later", within: .seconds(120)) { forwarded() >= before.forwarded + 600 }
        let after = relay.shared.withLock { $0 }
        let lost = after.lost - before.lost
        #expect(lost < 60, "\(lost) of 600 packets were lost")
        let frames = collector.snapshot.frames
        try await eventually("pictures go on") { collector.snapshot.frames > frames + 5 }

        relay.shared.withLock { $0.rate = nil }
        try await eventually("a path that became wide is used again", within: .seconds(90)) {
            await (statistics()?.targetBitrate ?? .bitsPerSecond(0)) > .kilobitsPerSecond(800)
        }
        let available = await statistics()?.availableOutgoingBitrate
        #expect(available ?? .bitsPerSecond(0) > .kilobitsPerSecond(800))
        await publishing.disconnect()
        await receiving.disconnect()
        await relay.close()
    }
}
