import EmisoraCore
import EmisoraRTP
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// What header extensions and extended reports carry between two whole peers.
@Suite struct PeerHeaderExtensionTests {
    @Test func levelOfSoundAndTimeOfCaptureArrive() throws {
        let call = try PublishedCall(seed: 1, kilobits: nil, delay: 20)
        call.run(until: 1)
        #expect(call.receiver.statistics.inboundAudioLevel == .init(hasVoice: true, level: 23))
        // The sender's clock is known before its first report: the first packet tells it.
        let fresh = try PublishedCall(seed: 2, kilobits: nil, delay: 20)
        fresh.simulation.filter = { side, bytes in side == .right || DatagramKind(of: bytes) != .rtcp }
        fresh.run(until: 1)
        let clock = try #require(fresh.receiver.videoSenderClock)
        #expect(clock.lastSenderReport == 0)
        let timestamp = try #require(fresh.lastRTPTimestamp)
        let age = try #require(
            clock.age(of: timestamp, wallClock: PeerEngineTests.wallClock, now: fresh.simulation.now))
        // Captured up to a frame time ago, and 20 ms on its way.
        #expect((0...80).contains(age.inMilliseconds), "\(age)")
    }

    @Test func aReceiverKnowsTheRoundTripFromExtendedReports() throws {
        let call = try PublishedCall(seed: 3, kilobits: nil, delay: 60)
        #expect(call.receiver.receiving.roundTripTime == nil)
        call.run(until: 5)
        let roundTrip = try #require(call.receiver.receiving.roundTripTime)
        #expect((115...130).contains(roundTrip.inMilliseconds), "\(roundTrip)")
        #expect(call.receiver.statistics.inboundRoundTripTime == roundTrip)
    }

    @Test(arguments: [true, false]) func idsAboveFourteenAndOtherMIDsServeToo(allowsMixed: Bool) throws {
        // The receiver's offer under other ids and names: two-byte heads are needed.
        let call = try PublishedCall(seed: 4, kilobits: nil) { offer, answer in
            func renumber(_ text: String, forth: Bool) -> String {
                (1...9).reduce(text) { text, id in
                    forth
                        ? text.replacing("a=extmap:\(id) ", with: "a=extmap:\(id + 20) ")
                        : text.replacing("a=extmap:\(id + 20) ", with: "a=extmap:\(id) ")
                }
            }
            if answer.isEmpty {
                offer = renumber(offer, forth: true)
                if !allowsMixed { offer = offer.without("allow-mixed") }
            } else {
                #expect(answer.contains("a=extmap:22 "))
                #expect(answer.contains("allow-mixed") == allowsMixed)
                answer = renumber(answer, forth: false)
            }
        }
        let ids = try #require(call.sender.videoSender?.configuration.extensions)
        #expect(ids.profile == 0x1000)
        call.run(until: 2)
        // The receiver looks under the ids that it offered and finds nothing; media is not harmed by it.
        #expect(call.figures(0..<2).framesPerSecond > 25)
    }

    @Test func packetsWithAMIDOfNoMLineAreNotTaken() throws {
        let call = try PublishedCall(seed: 5, kilobits: nil)
        call.run(until: 1)
        let before = call.receiver.statistics
        call.receive(ssrc: 0xAAAA, mid: "7")
        #expect(call.receiver.statistics.packetsDiscardedOnReceive == before.packetsDiscardedOnReceive + 1)
        #expect(call.receiver.statistics.inboundVideo?.packetsReceived == before.inboundVideo?.packetsReceived)
    }

    @Test func anSSRCThatNothingAnnouncedIsFollowedByItsMID() throws {
        let call = try PublishedCall(seed: 6, kilobits: nil)
        call.run(until: 1)
        // The source falls silent and goes on under another SSRC half a second later.
        call.simulation.filter = { side, bytes in side == .right || DatagramKind(of: bytes) != .rtp }
        call.simulation.run(until: call.simulation.now + .milliseconds(500))
        let mid = try #require(call.receiver.negotiated?.media(.video)?.mid)
        call.receive(ssrc: 0xBBBB, mid: mid)
        #expect(call.receiver.videoReceiver?.ssrc == 0xBBBB)
    }
}

extension PublishedCall {
    var lastRTPTimestamp: UInt32? { lastFrame?.rtpTimestamp }

    /// Hands the receiver a video packet with a MID as though the sender had sent it.
    func receive(ssrc: UInt32, mid: String) {
        guard let id = receiver.receiving.ids.mid,
            let payloadType = receiver.negotiated?.media(.video)?.payloadType,
            let block = try? HeaderExtensionBlock(midExtensionID: id, mid: mid)
        else { return }
        var bytes = [UInt8](repeating: 0x10, count: 200)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        let header = RTPHeader(marker: true, payloadType: payloadType, sequenceNumber: 7, timestamp: 9, ssrc: ssrc)
        guard (try? header.write(into: &raw, extensions: block)) != nil,
            let whole = sender.security.protectRTP(&raw, byteCount: 150)
        else { return }
        var datagram = raw._mutatingExtracting(0..<whole)
        receiver.handle(
            datagram: &datagram, from: PeerEngineTests.leftAddress, to: PeerEngineTests.rightAddress,
            now: simulation.now)
    }
}
