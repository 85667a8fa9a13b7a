import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSDP
import EmisoraSTUN
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// What a peer asks of the media that it is sent, and what it learns of how it is to be shown.
@Suite struct WishesTests {
    @Test func aReceiverIsHeardFromItsDescriptionWhoeverOffers() throws {
        for senderOffers in [false, true] {
            var setup = Call<NullSecurity>.Setup()
            setup.senderOffers = senderOffers
            let change: (String) -> String = { text in
                guard text.contains("a=recvonly") else { return text }
                return text.replacing(
                    "a=rtpmap:96 VP8/90000\r\n", with: "a=rtpmap:96 VP8/90000\r\na=fmtp:96 max-fr=15;max-fs=300\r\n"
                ).replacing("useinbandfec=1", with: "useinbandfec=1;usedtx=1;stereo=1")
            }
            setup.changeOffer = change
            setup.changeAnswer = change
            let call = try Call(setup)
            let wishes = call.sender.wishes
            #expect(wishes.video?.limits.maximumFrameRate == 15 && wishes.video?.limits.maximumFrameSize == 300)
            #expect(wishes.video?.takesOrientation == true)
            #expect(wishes.audio?.opus.stereo == true && wishes.audio?.opus.useDTX == true)
            #expect(call.receiver.wishes == PeerWishes())
        }
    }

    @Test func aReceiverWithoutTheExtensionDoesNotTurnPictures() throws {
        var setup = Call<NullSecurity>.Setup()
        setup.changeOffer = { $0.without("video-orientation") }
        let call = try Call(setup)
        #expect(call.sender.wishes.video?.takesOrientation == false)
        #expect(!call.answer.contains("video-orientation"))
    }

    @Test func theLossOfSoundIsKnownFromReports() throws {
        let call = try PublishedCall(seed: 3, kilobits: nil)
        #expect(call.sender.wishes.audio?.fractionLost == 0)
        let ssrc = try #require(call.sender.audioSender?.configuration.ssrc)
        call.inject { writer throws(RTPError) in
            try writer.write(
                ReceiverReport(
                    ssrc: 7,
                    reports: [
                        ReportBlock(
                            ssrc: ssrc, fractionLost: 64, cumulativeLost: 10, extendedHighestSequenceNumber: 100,
                            jitter: 0, lastSenderReport: 0, delaySinceLastSenderReport: 0)
                    ]))
        }
        #expect(call.sender.wishes.audio?.fractionLost == 0.25)
    }

    @Test(arguments: UInt64(1)...5) func orientationAndPlayoutDelayArriveThroughLoss(seed: UInt64) throws {
        let start = Instant.zero + .seconds(1)
        func engine(_ address: SocketAddress, sends: Bool) -> PeerEngine<NullSecurity> {
            var configuration = PeerEngineTests.configuration(address, sends: sends)
            configuration.media[1].playoutDelay = .milliseconds(20) ... .milliseconds(400)
            return PeerEngine(
                configuration: configuration, security: NullSecurity(), pacer: TransactionPacer(),
                random: RandomSource(SeededRandom(seed &+ (sends ? 0 : 1_000))), now: start)
        }
        let sender = engine(PeerEngineTests.leftAddress, sends: true)
        let receiver = engine(PeerEngineTests.rightAddress, sends: false)
        try receiver.setRemoteAnswer(try sender.answer(offer: try receiver.makeOffer(), now: start), now: start)
        var conditions = SimulatedLink.Conditions()
        conditions.delay = .milliseconds(10)
        conditions.loss = 0.05
        conditions.reordering = 0.02
        let simulation = Simulation(sender, receiver, conditions: conditions, seed: seed)
        simulation.run(until: simulation.now + .seconds(10)) {
            sender.connectionState == .connected && receiver.connectionState == .connected
        }
        var wantsKeyFrame = true
        var turns: [UInt32: UInt8] = [:]
        var shown: [(timestamp: UInt32, turns: UInt8)] = []
        var sent = 0
        func tick(_ now: Instant) {
            while let event = sender.pollEvent() { if event == .keyFrameNeeded { wantsKeyFrame = true } }
            let quarterTurns = UInt8(sent / 20 % 4)
            let payload = [wantsKeyFrame ? 0x10 : 0x11, UInt8(quarterTurns)] + [UInt8](repeating: 7, count: 2_500)
            if let frame = try? VP8Packetizer.packetize(
                payload: payload, isKeyFrame: wantsKeyFrame, pictureID: UInt16(sent & 0x7FFF), maxPayloadSize: 1_150,
                orientation: .init(quarterTurns: quarterTurns)),
                sender.sendVideo(frame, captureTime: now, now: now) == .queued
            {
                if frame.isKeyFrame { wantsKeyFrame = false }
                sent += 1
            }
            if sent < 200 { simulation.schedule(at: now + .milliseconds(33), tick) }
        }
        simulation.schedule(at: simulation.now, tick)
        simulation.run(until: simulation.now + .seconds(9)) {
            while let frame = receiver.pollVideoFrame(now: simulation.now) {
                turns[frame.rtpTimestamp] = frame.payload[1]
                shown.append((frame.rtpTimestamp, frame.orientation.quarterTurns))
            }
            return false
        }
        #expect(shown.count > 150)
        // Each picture carries in its bytes how it was turned.
        let wrong = shown.filter { turns[$0.timestamp] != $0.turns }
        #expect(wrong.isEmpty, "\(wrong.count) of \(shown.count)")
        #expect(receiver.remotePlayoutDelay == .milliseconds(20) ... .milliseconds(400))
    }
}
