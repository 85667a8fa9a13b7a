import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Testing

@Suite struct FrameThinnerTests {
    /// Indices of the frames of a source at `rate` that are kept for `wanted`.
    private func kept(_ count: Int, of rate: FrameRate, wanted: FrameRate) -> [Int] {
        let thinner = Thinner()
        return (0..<count).filter { thinner.keep(.zero + rate.time(ofFrame: $0), rate: wanted) }
    }

    @Test(
        arguments: [
            ([60_000, 1001], [30_000, 1001]), ([30, 1], [25, 1]), ([30, 1], [24_000, 1001]), ([25, 1], [7, 1]),
            ([1000, 1], [999, 1]), ([50, 1], [3, 7]),
        ] as [([Int], [Int])])
    func asManyAsWantedAreKeptOverAnyTime(_ source: [Int], _ aim: [Int]) throws {
        let rate = try #require(FrameRate(source[0], source[1]))
        let wanted = try #require(FrameRate(aim[0], aim[1]))
        let indices = kept(200_000, of: rate, wanted: wanted)
        // After each frame that is kept: never more than one ahead of the wanted rate or behind it.
        for (number, index) in indices.enumerated() {
            let expected = wanted.frame(at: rate.time(ofFrame: index))
            #expect(abs(number - expected) <= 1, "\(number) frames kept by frame \(index), not \(expected)")
            guard abs(number - expected) <= 1 else { return }
        }
    }

    @Test func keptFramesLieEvenly() throws {
        for (rate, wanted) in [(30, 10), (30, 20), (60, 25), (25, 24), (50, 7)] as [(FrameRate, FrameRate)] {
            let indices = kept(3000, of: rate, wanted: wanted)
            // The second may come early, since nothing is known yet of how the source jitters.
            let gaps = Set(zip(indices.dropFirst(), indices.dropFirst(2)).map { $1 - $0 })
            #expect(gaps.max()! - gaps.min()! <= 1, "\(rate) to \(wanted): gaps of \(gaps.sorted())")
        }
    }

    @Test func sourceAtTheWantedRateLosesNothingToJitter() {
        let thinner = Thinner()
        var random = TestRandom(state: 3)
        for index in 0..<10_000 {
            // A third of the time between two frames, early or late.
            let jitter = Int64.random(in: -5_500_000...5_500_000, using: &random)
            let time = Instant.zero + FrameRate(integerLiteral: 30).time(ofFrame: index) + .nanoseconds(jitter)
            #expect(thinner.keep(time, rate: 30))
        }
    }

    @Test func whatOneKeptTheNextKeepsToo() throws {
        let (first, second) = (Thinner(), Thinner())
        var random = TestRandom(state: 11)
        var wanted: FrameRate?
        for index in 0..<20_000 {
            if index % 97 == 0 { wanted = [nil, 1, 5, 15, 24, 30, 60].randomElement(using: &random)! }
            let time = Instant.zero + FrameRate(integerLiteral: 30).time(ofFrame: index)
            if first.keep(time, rate: wanted) { #expect(second.keep(time, rate: wanted)) }
        }
    }

    @Test func gapsAndJumpsOfTheClockAreNotMadeUpFor() {
        let thinner = Thinner()
        for time in [0, 1000, 1033, 1066, 5000] { _ = thinner.keep(.milliseconds(time), rate: 10) }
        #expect(!thinner.keep(.milliseconds(5033), rate: 10))
        #expect(thinner.keep(.milliseconds(5100), rate: 10))
        // Back by hours: goes on at once.
        #expect(thinner.keep(.milliseconds(7), rate: 10))
        #expect(!thinner.keep(.milliseconds(40), rate: 10))
        #expect(thinner.keep(Instant(nanoseconds: .min), rate: 10))
        #expect(thinner.keep(.distantFuture, rate: 10))
    }

    @Test func changedRateCountsFromTheLastFrame() {
        let thinner = Thinner()
        #expect(thinner.keep(.milliseconds(0), rate: 1))
        #expect(!thinner.keep(.milliseconds(33), rate: 1))
        #expect(thinner.keep(.milliseconds(66), rate: 30))
        // Changing it again and again lets no more through.
        for time in stride(from: 70, to: 160, by: 10) {
            #expect(!thinner.keep(.milliseconds(time), rate: time % 20 == 0 ? 5 : 6))
        }
    }

    @Test func wantedSizeKeepsTheShape() {
        func size(_ width: Int, _ height: Int, in largest: VideoSize?) -> VideoSize {
            VideoWants(largestSize: largest).size(for: VideoSize(width: width, height: height))
        }
        let vga = VideoSize(width: 640, height: 480)
        #expect(size(1280, 720, in: nil) == VideoSize(width: 1280, height: 720))
        #expect(size(641, 11, in: VideoSize(width: 641, height: 11)) == VideoSize(width: 641, height: 11))
        #expect(size(1280, 720, in: vga) == VideoSize(width: 640, height: 360))
        #expect(size(720, 1280, in: vga) == VideoSize(width: 270, height: 480))
        #expect(size(1920, 1080, in: VideoSize(width: 1000, height: 1000)) == VideoSize(width: 1000, height: 562))
        #expect(size(640, 480, in: VideoSize(width: 0, height: -5)) == VideoSize(width: 2, height: 2))
        #expect(size(.max, .max, in: VideoSize(width: .max - 1, height: .max)).width == .max - 1)
    }
}

/// A thinner that can be asked within an expectation.
private final class Thinner {
    private var thinner = FrameThinner()

    func keep(_ timestamp: Instant, rate: FrameRate?) -> Bool { thinner.keep(timestamp, rate: rate) }
}
