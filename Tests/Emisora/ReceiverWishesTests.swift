import EmisoraCodecs
import EmisoraPeerEngine
import EmisoraSDP
import EmisoraVideo
import Testing

@testable import Emisora

/// What the wishes of several receivers make together.
@Suite struct ReceiverWishesTests {
    // MARK: Pictures

    private func video(_ frameSize: Int? = nil, _ frameRate: Int? = nil, turns: Bool = true) -> PeerWishes {
        var limits = VP8Parameters()
        limits.maximumFrameSize = frameSize
        limits.maximumFrameRate = frameRate
        return PeerWishes(video: .init(limits: limits, takesOrientation: turns))
    }

    @Test("RFC 7741 §6.1: no picture is larger than max-fs, and none longer than its square root times eight")
    func sizesKeepToTheLimit() {
        for frameSize in [1, 2, 20, 99, 300, 1_200, 3_600, 8_160] {
            let limits = VideoLimits(frameSize: frameSize)
            let longest = Int((8 * Double(frameSize)).squareRoot())
            for (width, height) in [
                (640, 480), (1_280, 720), (1_920, 1_080), (1_366, 768), (480, 640), (16_383, 16_383), (16_383, 16),
                (17, 4_001), (2, 16_383), (33, 33),
            ] {
                let size = limits.size(for: VideoSize(width: width, height: height))
                let (columns, rows) = ((size.width + 15) / 16, (size.height + 15) / 16)
                #expect(columns * rows <= frameSize && max(columns, rows) <= longest, "\(size) of \(frameSize)")
                #expect(size.width >= 2 && size.height >= 2)
                if size == VideoSize(width: width, height: height) { continue }
                #expect(size.width % 2 == 0 && size.height % 2 == 0, "\(size)")
                #expect(size.width <= width && size.height <= height + 1, "\(size) of \(width)×\(height)")
                // As long as there are pixels enough the shape stays, to a pixel or two.
                guard min(size.width, size.height) > 32 else { continue }
                let exact = Double(size.width) * Double(height) / Double(width)
                #expect(abs(Double(size.height) - exact) <= 1.01, "\(size) of \(width)×\(height)")
                // And little of what is allowed is left unused.
                #expect(Double(columns * rows) >= 0.8 * Double(frameSize) || max(columns, rows) >= longest - 1)
            }
        }
        let vga = VideoSize(width: 640, height: 480)
        #expect(VideoLimits(frameSize: 1_200).size(for: vga) == vga)
        #expect(VideoLimits(frameSize: 300).size(for: vga) == VideoSize(width: 320, height: 240))
        #expect(VideoLimits().size(for: VideoSize(width: 16_383, height: 3)) == VideoSize(width: 16_383, height: 3))
    }

    @Test func theStrictestOfTheReceiversCounts() {
        let joined = ReceiverWishes(joining: [video(1_200, 25), video(300), video(3_600, 15), PeerWishes()])
        #expect(joined.limits == VideoLimits(frameSize: 300, frameRate: 15))
        #expect(ReceiverWishes(joining: [video(), video()]).limits == VideoLimits())
        #expect(ReceiverWishes(joining: []) == ReceiverWishes())
    }

    @Test func whoCanDecodeNextToNothingDoesNotRuinItForAll() {
        let joined = ReceiverWishes(joining: [video(1), video(300, 20), video(nil, 2)])
        #expect(joined.limits == VideoLimits(frameSize: 300, frameRate: 20))
        // Alone it is followed all the way down.
        #expect(ReceiverWishes(joining: [video(1)]).limits == VideoLimits(frameSize: 1))
        #expect(ReceiverWishes(joining: [video(nil, 1)]).limits == VideoLimits(frameRate: 1))
    }

    @Test func picturesAreTurnedByReceiversWhereAllCan() {
        #expect(ReceiverWishes(joining: [video(), video()]).takeOrientation)
        #expect(!ReceiverWishes(joining: [video(), video(turns: false)]).takeOrientation)
        #expect(!ReceiverWishes(joining: []).takeOrientation)
        // Who gets no pictures has no say in it.
        #expect(ReceiverWishes(joining: [video(), video(1, turns: false), PeerWishes()]).takeOrientation)
        #expect(video(turns: false).video?.suits(VideoSize(width: 8, height: 8), .clockwise90) == false)
        #expect(video(turns: false).video?.suits(VideoSize(width: 8, height: 8), .none) == true)
    }

    // MARK: Sound

    private func sound(_ parameters: String, loss: Double = 0) -> PeerWishes {
        PeerWishes(audio: .init(opus: OpusParameters(parsing: parameters), fractionLost: loss))
    }

    private func configuration(_ wishes: PeerWishes..., channels: Int = 2) -> OpusEncoder.Configuration {
        AudioPipeline.configuration(
            for: ReceiverWishes(joining: wishes).sound, captured: channels, bitrate: .kilobitsPerSecond(32))
    }

    @Test("RFC 7587 §6.1: stereo where a receiver asks for it, DTX where all do, no more than the least maximum")
    func soundIsWhatReceiversAskFor() {
        #expect(configuration(sound("")).channels == 1)
        #expect(configuration(sound(""), sound("stereo=1")).channels == 2)
        #expect(configuration(sound("stereo=1"), channels: 1).channels == 1)
        #expect(configuration(sound("usedtx=1"), sound("usedtx=1;stereo=1")).usesDTX)
        #expect(!configuration(sound("usedtx=1"), sound("")).usesDTX)
        let bounded = configuration(sound("maxaveragebitrate=20000"), sound("maxaveragebitrate=24000"), sound(""))
        #expect(bounded.bitrate == .bitsPerSecond(20_000))
        #expect(configuration(sound("maxaveragebitrate=510000")).bitrate == .kilobitsPerSecond(32))
        let rates = configuration(sound("maxplaybackrate=8000"), sound("maxplaybackrate=16000"))
        #expect(rates.maximumPlaybackRate == 16_000)
        #expect(configuration(sound("maxplaybackrate=8000"), sound("")).maximumPlaybackRate == 48_000)
    }

    @Test func redundancyIsSentWhereSomebodyLosesAndCanUseIt() {
        #expect(!configuration(sound("useinbandfec=1")).usesInbandFEC)
        #expect(!configuration(sound("", loss: 0.2)).usesInbandFEC)
        let lossy = configuration(sound("useinbandfec=1", loss: 0.02), sound("", loss: 0.25))
        #expect(lossy.usesInbandFEC && lossy.expectedLossPercent == 25)
        // Told of less Opus writes none.
        #expect(configuration(sound("useinbandfec=1", loss: 0.01)).expectedLossPercent == 10)
        #expect(configuration(sound("useinbandfec=1", loss: 1)).expectedLossPercent == 100)
    }

    @Test func lossIsRememberedForAWhile() {
        var loss = ReportedLoss()
        func at(_ seconds: Int) -> Instant { .zero + .seconds(seconds) }
        #expect(loss.update(0, now: at(0)) == 0)
        #expect(loss.update(0.1, now: at(100)) == 0.1)
        #expect(loss.update(0.02, now: at(105)) == 0.1)
        #expect(loss.update(0.3, now: at(110)) == 0.3)
        #expect(loss.update(0.05, now: at(129)) == 0.3)
        #expect(loss.update(0.05, now: at(131)) == 0.05)
        #expect(loss.update(0, now: at(152)) == 0)
    }

    @Test(
        "RFC 7587 §7: packets are as long as all would like, within the bounds of each",
        arguments: [
            ([""], 20), (["ptime=40"], 40), (["ptime=40", "ptime=40"], 40), (["ptime=40", ""], 20),
            (["ptime=40", "ptime=60"], 20), (["minptime=10"], 20), (["minptime=30"], 40),
            (["minptime=60", "ptime=20"], 60),
            (["maxptime=10"], 10), (["maxptime=15"], 10), (["maxptime=5"], 5), (["maxptime=3"], 5),
            (["ptime=30", "ptime=30"], 20), (["ptime=60;maxptime=40"], 40), (["minptime=60", "maxptime=20"], 20),
            (["minptime=120"], 60),
        ] as [([String], Int)])
    func packetTimes(parameters: [String], milliseconds: Int) {
        let wishes = ReceiverWishes(joining: parameters.map { sound($0) })
        #expect(wishes.sound.packetTime == milliseconds, "\(parameters)")
    }
}
