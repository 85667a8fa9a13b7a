import EmisoraCongestionControl
import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// Whole calls over bottlenecks, in virtual time.
@Suite struct RateTests {
    static let transportWide = "transport-wide-cc"

    @Test(arguments: [(UInt64(1), 12_000), (2, 64_000)])
    func aBottleneckOf500kIsFollowedAndLeftBehind(seed: UInt64, queue: Int) throws {
        let call = try PublishedCall(seed: seed, kilobits: 500, queue: queue)
        call.setRate(2_000, at: 26)
        call.run(until: 50)
        let early = call.figures(10..<18)
        let late = call.figures(18..<26)
        for figures in [early, late] {
            #expect(figures.loss < 0.05, "\(figures)")
            #expect(figures.bitsPerSecond > 0.5 * 500_000, "\(figures)")
            #expect(figures.latency95 < 700, "\(figures)")
        }
        // No queue that only grows.
        #expect(late.meanLatency < max(150, early.meanLatency * 1.5), "\(early), then \(late)")
        let wide = call.figures(46..<50)
        #expect(wide.bitsPerSecond > 0.75 * 1_500_000 && wide.loss < 0.05, "\(wide)")
    }

    @Test func aFreePathGetsTheWholeRateFromTheFirstSecondOn() throws {
        let call = try PublishedCall(seed: 1, kilobits: nil, delay: 1)
        call.run(until: 8)
        let first = call.figures(0..<2)
        #expect(first.bitsPerSecond > 0.95 * 1_550_000, "\(first)")
        #expect(call.figures(2..<8).latency95 < 15, "\(call.figures(2..<8))")
        #expect(call.sender.sendDecision.targetBitrate == call.ceiling)
        // A first picture of 26 kB does not wait for a pacer that knows nothing of the path.
        let picture = try #require(call.frames.first)
        #expect(picture.at - picture.capturedAt < .milliseconds(20))
    }

    @Test func aPeerThatKnowsOnlyREMBIsFollowed() throws {
        let call = try PublishedCall(seed: 3, kilobits: 500) { offer, _ in
            offer = offer.without("transport-cc", Self.transportWide, "ccfb")
        }
        call.run(until: 30)
        let late = call.figures(15..<30)
        #expect(late.loss < 0.05, "\(late)")
        #expect(late.bitsPerSecond > 0.5 * 500_000, "\(late)")
        #expect(late.latency95 < 1_000, "\(late)")
    }

    @Test(
        "RFC 5104 §4.2.1: a sender that takes TMMBR and no REMB is asked to keep to what the path carries, and says so",
        arguments: [true, false])
    func aPeerThatKnowsOnlyTMMBRIsAsked(takesREMB: Bool) throws {
        let call = try PublishedCall(seed: 3, kilobits: 500) { offer, _ in
            offer = offer.without("transport-cc", Self.transportWide, "ccfb")
            if !takesREMB { offer = offer.without("goog-remb") }
        }
        let media = try #require(call.sender.videoSender?.configuration.ssrc)
        var requests: [(isRegular: Bool, message: TemporaryMaximumBitrate)] = []
        var answers: [TemporaryMaximumBitrate] = []
        var estimates = 0
        var bounds = 0
        call.simulation.filter = { side, bytes in
            guard DatagramKind(of: bytes) == .rtcp else { return true }
            var reader = RTCPReader(bytes.extracting(0..<bytes.byteCount - 4))
            var isRegular = false
            while let packet = try? reader.next() {
                switch (side, packet) {
                case (.right, .receiverReport): isRegular = true
                case (.right, .temporaryMaximumBitrate(let message)): requests.append((isRegular, message))
                case (.left, .temporaryMaximumBitrate(let message)): answers.append(message)
                case (.right, .receiverEstimatedMaximumBitrate): estimates += 1
                default: break
                }
            }
            if call.sender.sendDecision.reason == .temporaryMaximum { bounds += 1 }
            return true
        }
        call.setRate(2_000, at: 30)
        call.run(until: 60)
        let late = call.figures(15..<30)
        #expect(late.loss < 0.05, "\(late)")
        #expect(late.bitsPerSecond > 0.5 * 500_000, "\(late)")
        #expect(late.latency95 < 1_000, "\(late)")
        let wide = call.figures(50..<60)
        #expect(wide.bitsPerSecond > 0.75 * 1_500_000 && wide.loss < 0.05, "\(wide)")
        #expect((estimates > 0) == takesREMB)
        guard !takesREMB else {
            #expect(requests.isEmpty && answers.isEmpty)
            return
        }
        let first = try #require(requests.first)
        let own = first.message.senderSSRC
        #expect(bounds > 0)
        #expect(requests.allSatisfy { $0.message.kind == .request && $0.message.entries.map(\.ssrc) == [media] })
        // What a header of 12 bytes and its extensions take.
        #expect(requests.dropFirst(3).allSatisfy { (12...60).contains($0.message.entries[0].overhead) })
        // Each is answered, by the source that was asked, with the limit of who asked.
        #expect(answers.allSatisfy { $0.kind == .notification && $0.senderSSRC == media })
        #expect(answers.map(\.entries) == requests.prefix(answers.count).map { [$0.message.asNamed(own)] })
        #expect(answers.count >= requests.count - 1)
        // Less is asked for at once, more with the reports alone.
        let rises = zip(requests, requests.dropFirst()).filter { $1.message.bitrate > $0.message.bitrate }
        #expect(!rises.isEmpty && rises.allSatisfy(\.1.isRegular))
        #expect(!first.isRegular)
        #expect(requests.contains { $0.message.bitrate < .kilobitsPerSecond(600) })
    }

    @Test func aPeerWithNothingButReportsIsFollowed() throws {
        let call = try PublishedCall(seed: 3, kilobits: 500) { offer, _ in
            offer = offer.without("transport-cc", "goog-remb", "tmmbr", "extmap", "ccfb")
        }
        call.run(until: 35)
        let late = call.figures(20..<35)
        #expect(late.loss < 0.05, "\(late)")
        #expect(late.bitsPerSecond > 0.4 * 500_000, "\(late)")
    }

    @Test func aPeerThatTakesTransportFeedbackButNoExtensionIsJudgedByItsReports() throws {
        // No feedback comes at all: packets bear no number to tell of.
        let call = try PublishedCall(seed: 4, kilobits: 500) { offer, _ in
            offer = offer.without("extmap:").replacing("goog-remb", with: "unknown")
        }
        call.run(until: 35)
        let late = call.figures(20..<35)
        #expect(late.loss < 0.05 && late.bitsPerSecond > 0.4 * 500_000, "\(late)")
        #expect(call.failure == nil)
    }

    @Test func onAFreePathNoPeerIsSlowedDownForWantOfFeedback() throws {
        for words in [["transport-cc"], ["transport-cc", "goog-remb"], ["extmap:"]] {
            let call = try PublishedCall(seed: 5, kilobits: nil) { offer, _ in
                for word in words { offer = offer.without(word) }
            }
            call.run(until: 6)
            #expect(call.figures(0..<6).bitsPerSecond > 0.93 * 1_550_000, "\(words): \(call.figures(0..<6))")
        }
    }

    @Test func aREMBIsObeyed() throws {
        let call = try PublishedCall(seed: 6, kilobits: nil)
        call.run(until: 5)
        let ssrc = try #require(call.sender.videoSender?.configuration.ssrc)
        call.inject { writer throws(RTPError) in
            try writer.write(
                ReceiverEstimatedMaximumBitrate(senderSSRC: 1, bitrate: .kilobitsPerSecond(400), sources: [ssrc]))
        }
        call.run(until: 15)
        #expect(call.sender.sendDecision.reason == .receiverEstimate)
        #expect(call.figures(7..<15).bitsPerSecond < 400_000, "\(call.figures(7..<15))")
        #expect(call.figures(7..<15).bitsPerSecond > 250_000, "\(call.figures(7..<15))")
        // One for somebody else's streams is not ours.
        call.inject { writer throws(RTPError) in
            try writer.write(
                ReceiverEstimatedMaximumBitrate(senderSSRC: 1, bitrate: .kilobitsPerSecond(50), sources: [ssrc &+ 1]))
        }
        #expect(call.sender.sendDecision.targetBitrate > .kilobitsPerSecond(300))
    }

    @Test func aTMMBRIsObeyedAndAnswered() throws {
        let call = try PublishedCall(seed: 7, kilobits: nil)
        call.run(until: 5)
        let ssrc = try #require(call.sender.videoSender?.configuration.ssrc)
        var answers: [TemporaryMaximumBitrate] = []
        call.simulation.filter = { side, bytes in
            guard side == .left, DatagramKind(of: bytes) == .rtcp else { return true }
            var reader = RTCPReader(bytes.extracting(0..<bytes.byteCount - 4))
            while let packet = try? reader.next() {
                if case .temporaryMaximumBitrate(let message) = packet { answers.append(message) }
            }
            return true
        }
        call.inject { writer throws(RTPError) in
            try writer.write(
                TemporaryMaximumBitrate(
                    .request, senderSSRC: 99,
                    entries: [.init(ssrc: ssrc, bitrate: .kilobitsPerSecond(300), overhead: 40)]))
        }
        call.run(until: 15)
        let answer = try #require(answers.first)
        #expect(answers.count == 1 && answer.kind == .notification)
        #expect(answer.entries.map(\.ssrc) == [99])
        #expect(call.figures(7..<15).bitsPerSecond < 300_000, "\(call.figures(7..<15))")
        #expect(call.figures(7..<15).bitsPerSecond > 180_000, "\(call.figures(7..<15))")
    }

    @Test func aPeerThatCannotCarryWhatIsEncodedForOthersLosesPicturesOnlyItself() throws {
        let call = try PublishedCall(seed: 1, kilobits: 150)
        call.fixedRate = .kilobitsPerSecond(600)
        call.run(until: 60)
        #expect(call.results[.congestion, default: 0] > 200, "\(call.results)")
        #expect(call.results[.queueFull, default: 0] == 0)
        // It does see some, and asks for no more than a key frame each three seconds.
        let late = call.figures(10..<60)
        #expect(late.framesPerSecond > 0.3, "\(late)")
        #expect(call.keyFrames < 60 / 3 + 10, "\(call.keyFrames)")
        #expect(late.loss < 0.1, "\(late)")
    }

    @Test(arguments: [2, 5]) func afterAnOutageTheRateIsSoonWhatItWas(outage: Int) throws {
        let call = try PublishedCall(seed: 10, kilobits: nil)
        call.run(until: 5)
        let back = call.simulation.now + .seconds(outage)
        call.simulation.filter = { [simulation = call.simulation] _, _ in simulation.now >= back }
        call.run(until: 5 + outage + 8)
        let first = try #require(call.frames.first { $0.at > back })
        #expect(first.at - back < .seconds(1), "\(first.at - back)")
        let after = call.figures(5 + outage + 5..<5 + outage + 8)
        #expect(after.bitsPerSecond > 0.9 * 1_550_000, "\(after)")
    }

    @Test func theSameSeedGivesTheSameCallByteForByte() throws {
        func hash(_ seed: UInt64) throws -> UInt64 {
            let call = try PublishedCall(seed: seed, kilobits: 700)
            call.simulation.links[0].conditions.loss = 0.02
            call.run(until: 5)
            return call.simulation.traceHash
        }
        #expect(try hash(1) == hash(1))
        #expect(try hash(1) != hash(2))
    }

    @Test func withoutAnyReportSendingEndsForAReasonThatAPersonUnderstands() throws {
        let call = try PublishedCall(seed: 8, kilobits: nil)
        call.run(until: 5)
        // Media arrives and consent is given, but what the receiver says is lost.
        call.simulation.filter = { side, bytes in side == .left || DatagramKind(of: bytes) != .rtcp }
        call.run(until: 18)
        #expect(call.sender.sendDecision.reason == .silence)
        call.run(until: 25)
        #expect(call.failure == nil)
        call.run(until: 40)
        let reason = try #require(call.failure)
        #expect(reason.contains("reported") && reason.contains("connect again"), "\(reason)")
        #expect(call.figures(36..<40).framesPerSecond == 0)
        // It is over: nothing is waited for any more.
        #expect(call.sender.deadline == nil)
    }

    @Test func eachDeadlineHasItsReason() throws {
        let call = try PublishedCall(seed: 9, kilobits: 300)
        var reasons: Set<PeerDeadline.Reason> = []
        for tenth in 0..<200 {
            call.simulation.run(until: call.start + .milliseconds(tenth * 10))
            for engine in [call.sender, call.receiver] {
                if let deadline = engine.deadline {
                    reasons.insert(deadline.reason)
                    #expect(deadline.at == engine.nextDeadline)
                }
            }
        }
        #expect(reasons.isSuperset(of: [.pacing, .receiveControl, .report]), "\(reasons)")
        #expect(!call.simulation.isStalled)
    }
}

extension TemporaryMaximumBitrate {
    fileprivate var bitrate: DataRate { entries[0].bitrate }

    fileprivate func asNamed(_ owner: UInt32) -> Entry {
        Entry(ssrc: owner, bitrate: entries[0].bitrate, overhead: entries[0].overhead)
    }
}
