import EmisoraCore
import EmisoraSDP
import Testing

@testable import EmisoraPeerEngine

/// Which of several sources is taken.
@Suite struct VideoSourcesTests {
    private static let start = Instant.zero + .seconds(1)

    private func at(_ milliseconds: Int) -> Instant { Self.start + .milliseconds(milliseconds) }

    @Test func theStreamThatWasAgreedOnIsTakenWhateverComesFirst() {
        var sources = VideoSources()
        sources.configure(wantedRID: "h", groups: [])
        sources.learn("l", of: 1)
        sources.learn("h", of: 2)
        #expect(sources.judge(1, current: nil, hasMID: true, now: at(0)) == .ignore)
        #expect(sources.judge(2, current: nil, hasMID: true, now: at(10)) == .take)
        // A layer is no successor, however long the MID alone would have made it one.
        #expect(sources.judge(1, current: (2, at(10)), hasMID: true, now: at(1_500)) == .ignore)
        #expect(sources.judge(2, current: (2, at(10)), hasMID: false, now: at(1_600)) == .take)
    }

    @Test func anotherStreamStandsInWhileTheWantedOneIsOff() {
        var sources = VideoSources()
        sources.configure(wantedRID: "h", groups: [])
        sources.learn("l", of: 1)
        sources.learn("h", of: 2)
        #expect(sources.judge(1, current: nil, hasMID: true, now: at(0)) == .ignore)
        #expect(sources.judge(1, current: nil, hasMID: true, now: at(2_001)) == .take)
        #expect(sources.judge(2, current: (1, at(2_100)), hasMID: true, now: at(2_101)) == .takeOver)
        #expect(sources.judge(1, current: (2, at(2_101)), hasMID: true, now: at(4_000)) == .ignore)
        #expect(sources.judge(1, current: (2, at(2_101)), hasMID: true, now: at(4_102)) == .takeOver)
    }

    @Test func ofStreamsWithoutNamesTheFirstIsTaken() {
        var sources = VideoSources()
        #expect(sources.judge(1, current: nil, hasMID: true, now: at(0)) == .take)
        #expect(sources.judge(2, current: (1, at(0)), hasMID: true, now: at(5)) == .ignore)
        // What was heard beside it is another layer, so that a gap of it alone does not end it.
        #expect(sources.judge(2, current: (1, at(0)), hasMID: true, now: at(1_900)) == .ignore)
        #expect(sources.judge(2, current: (1, at(0)), hasMID: true, now: at(2_001)) == .takeOver)
    }

    @Test func aSuccessorIsFollowedSoonerWhereTheMIDSaysSo() {
        for hasMID in [true, false] {
            var sources = VideoSources()
            #expect(
                sources.judge(2, current: (1, at(0)), hasMID: hasMID, now: at(201)) == (hasMID ? .takeOver : .ignore))
            #expect(sources.judge(2, current: (1, at(0)), hasMID: hasMID, now: at(2_001)) == .takeOver)
        }
    }

    @Test func twoSourcesOfOneNameDoNotTakeTurns() {
        var sources = VideoSources()
        sources.configure(wantedRID: "h", groups: [])
        sources.learn("h", of: 1)
        sources.learn("h", of: 2)
        #expect(sources.judge(2, current: (1, at(0)), hasMID: true, now: at(5)) == .ignore)
    }

    @Test("RFC 8852 §3.2: a retransmission counts for the stream whose name it bears")
    func retransmissionsAreToldApart() {
        var sources = VideoSources()
        sources.configure(
            wantedRID: "h", groups: [.init(media: 1, retransmission: 11), .init(media: 2, retransmission: 12)])
        #expect(!sources.takesRetransmission(11, current: nil))
        #expect(sources.takesRetransmission(11, current: 1) && !sources.takesRetransmission(12, current: 1))
        sources.learn("h", of: 21)
        sources.learn("l", of: 22)
        #expect(sources.takesRetransmission(21, current: 1) && !sources.takesRetransmission(22, current: 1))
        // One of which nothing is known is ours only where nothing else it could be of was heard.
        #expect(sources.takesRetransmission(99, current: 1))
        _ = sources.judge(2, current: (1, at(0)), hasMID: true, now: at(1))
        #expect(!sources.takesRetransmission(99, current: 1))
    }

    @Test func aFloodOfSourcesIsForgotten() {
        var sources = VideoSources()
        for ssrc in UInt32(10)..<100_000 {
            sources.learn("x", of: ssrc)
            #expect(sources.judge(ssrc, current: (1, at(0)), hasMID: true, now: at(1)) == .ignore)
        }
        #expect(sources.judge(1, current: (1, at(0)), hasMID: true, now: at(1)) == .take)
    }
}
