import EmisoraCore
import Testing

@testable import Emisora

/// How one path's rate is shared among a publisher's encodings, and what may be asked of them.
@Suite struct SimulcastTests {
    private static let three = [1_500, 530, 190].enumerated().map {
        SimulcastAllocation.Encoding(encoding: $0, bitrate: .kilobitsPerSecond($1))
    }

    private func allocate(_ kilobits: Int, active: Set<Int> = [0, 1, 2]) -> [Int: Int] {
        SimulcastAllocation.allocate(.kilobitsPerSecond(kilobits), among: Self.three, active: active)
            .mapValues { $0.bitsPerSecond / 1_000 }
    }

    @Test func theSmallestComesFirst() {
        #expect(allocate(3_000) == [0: 1_500, 1: 530, 2: 190])
        #expect(allocate(2_000) == [0: 1_280, 1: 530, 2: 190])
        #expect(allocate(700) == [1: 510, 2: 190])
        #expect(allocate(400) == [1: 210, 2: 190])
        #expect(allocate(200) == [2: 190])
        #expect(allocate(60) == [2: 60])
    }

    @Test func whatIsOffComesOnAboveWhereItGoesOff() {
        // 480 kbit/s would be left for the largest: enough to go on with, not to begin with.
        #expect(allocate(1_200)[0] == 480)
        #expect(allocate(1_200, active: [1, 2])[0] == nil)
        #expect(allocate(1_500, active: [1, 2])[0] == 780)
        #expect(allocate(1_100)[0] == nil)
    }

    @Test func nothingIsSharedAmongNone() {
        #expect(SimulcastAllocation.allocate(.kilobitsPerSecond(500), among: [], active: []).isEmpty)
    }

    // MARK: Encodings

    @Test(arguments: [
        ([VideoEncoding(rid: "")], "rid"), ([VideoEncoding(rid: "a-b")], "rid"), ([VideoEncoding(rid: "ä")], "rid"),
        ([VideoEncoding(rid: "12345678901234567")], "rid"),
        ([VideoEncoding(rid: "a"), VideoEncoding(rid: "a", scaleResolutionDownBy: 2)], "same rid"),
        ([VideoEncoding(rid: "a", scaleResolutionDownBy: 2)], "scaleResolutionDownBy 1"),
        ([VideoEncoding(rid: "a"), VideoEncoding(rid: "b", scaleResolutionDownBy: 0.5)], "scaleResolutionDownBy of b"),
        (
            [VideoEncoding(rid: "a"), VideoEncoding(rid: "b", scaleResolutionDownBy: .nan)],
            "scaleResolutionDownBy of b"
        ),
        ([VideoEncoding(rid: "a", maxBitrate: .bitsPerSecond(0))], "maxBitrate"),
        ((0..<5).map { VideoEncoding(rid: "\($0)") }, "4 encodings"),
    ])
    func wrongEncodingsAreExplained(encodings: [VideoEncoding], word: String) throws {
        #expect(try #require(VideoEncoding.fault(in: encodings)).contains(word))
    }

    @Test func rightEncodingsAreTaken() {
        #expect(VideoEncoding.fault(in: []) == nil)
        #expect(VideoEncoding.fault(in: VideoEncoding.halving(3)) == nil)
        #expect(VideoEncoding.halving(3).map(\.rid) == ["h", "m", "l"])
        let reversed = Array(VideoEncoding.halving(3).reversed())
        #expect(VideoEncoding.main(of: reversed) == 2)
    }

    @Test func sizesAreEvenAndBitratesFollowThem() {
        let quarter = VideoEncoding(rid: "l", scaleResolutionDownBy: 4)
        #expect(quarter.size(width: 1_280, height: 720) == (320, 180))
        #expect(quarter.size(width: 642, height: 3) == (160, 2))
        #expect(VideoEncoding(rid: "h").size(width: 641, height: 481) == (641, 481))
        let publisher = DataRate.kilobitsPerSecond(1_600)
        #expect(quarter.bitrate(of: publisher) == .kilobitsPerSecond(200))
        #expect(VideoEncoding(rid: "h").bitrate(of: publisher) == publisher)
        #expect(
            VideoEncoding(rid: "h", maxBitrate: .kilobitsPerSecond(900)).bitrate(of: publisher).bitsPerSecond == 900_000
        )
    }

    @Test func aPublisherWithWrongEncodingsIsRefused() async throws {
        let (publishing, receiving) = try await Session.loopback()
        var options = Publisher.Options()
        options.encodings = [VideoEncoding(rid: "x y")]
        await #expect(throws: SessionError.self) {
            try await publishing.publish(Publisher(videoCapture: NoiseCapture(width: 64, height: 48), options: options))
        }
        await publishing.disconnect()
        await receiving.disconnect()
    }

    @Test func aSubscriberTakesOneOfThreeSizes() async throws {
        let (publishing, receiving) = try await Session.loopback()
        var options = Publisher.Options()
        // W3C's order: the smallest first, so that it is what a subscriber of one stream gets.
        options.encodings = VideoEncoding.halving(3).reversed()
        let publisher = Publisher(videoCapture: PatternCapture(width: 640, height: 480), options: options)
        try await publishing.publish(publisher)
        let collector = Collector()
        try await receiving.subscribe(Subscriber(videoSink: collector), to: "main", offerer: .publisher)
        try await eventually("pictures arrive") { collector.snapshot.frames >= 20 }
        #expect(await receiving.statistics().subscribers.first?.frameWidth == 160)
        let statistics = try #require(await publishing.statistics().publishers.first)
        #expect(statistics.encodings.map(\.rid) == ["l", "m", "h"])
        #expect(statistics.encodings.map(\.receivers) == [1, 0, 0])
        // Nobody takes the others, so they are not made.
        try await eventually("the others rest") {
            await publishing.statistics().publishers.first?.encodings.dropFirst().allSatisfy { $0.targetBitrate == nil }
                == true
        }

        // Who offers without simulcast gets the one in full size, beside it.
        let other = Collector()
        try await receiving.subscribe(Subscriber(videoSink: other), to: "main", offerer: .subscriber)
        try await eventually("pictures in full size arrive") { other.snapshot.marks.count >= 20 }
        let both = try #require(await publishing.statistics().publishers.first)
        #expect(both.encodings.map(\.receivers) == [1, 0, 1])
        #expect(both.encodings.map(\.frameWidth) == [160, 0, 640])
        await publishing.disconnect()
        await receiving.disconnect()
        #expect(publisher.captureLedger.isBalanced)
        let isBalanced = both.delivery.allSatisfy(\.isBalanced)
        #expect(isBalanced)
    }
}
