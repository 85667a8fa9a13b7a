import Testing

@testable import Emisora

@Suite struct EncoderRateTests {
    private func kilobits(_ values: Int...) -> [DataRate] { values.map { .kilobitsPerSecond($0) } }

    private func video(_ values: Int..., audio: Int? = 32) throws -> Int {
        let bitrate = EncoderRate.video(
            for: values.map { .kilobitsPerSecond($0) }, audio: audio.map { .kilobitsPerSecond($0) })
        return try #require(bitrate).bitsPerSecond / 1_000
    }

    @Test func aSingleSubscriberIsFollowedAllTheWayDown() throws {
        #expect(try (1_350...1_450).contains(video(1_500)))
        #expect(try (410...450).contains(video(500)))
        #expect(try (85...110).contains(video(150)))
        // Below that pictures are of no use; sound has the rest.
        #expect(try video(40) == 50)
    }

    @Test func theLowestOfSeveralCounts() throws {
        #expect(try video(1_500, 700, 900) == video(700))
    }

    @Test func oneThatCarriesNextToNothingDoesNotRuinItForAll() throws {
        #expect(try video(1_600, 40) == video(400))
        #expect(try video(1_600, 400) == video(400))
        #expect(try video(1_600, 1_500, 40) == video(400))
    }

    @Test func withoutSubscribersThereIsNothingToGoBy() {
        #expect(EncoderRate.video(for: [], audio: nil) == nil)
    }

    @Test(arguments: [100, 1_500, 20_000]) func theCeilingLeavesRoomForAllThatIsWanted(wanted: Int) throws {
        for audio in [nil, DataRate.kilobitsPerSecond(32)] {
            let total = EncoderRate.total(video: .kilobitsPerSecond(wanted), audio: audio)
            let left = try #require(EncoderRate.video(for: [total], audio: audio))
            #expect(left >= .kilobitsPerSecond(wanted))
            // A tenth of it may go again, and little more.
            #expect(left.bitsPerSecond < wanted * 1_250)
        }
    }
}
