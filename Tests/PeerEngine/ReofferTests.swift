import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSDP
import EmisoraSTUN
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// What re-offers do to streams that flow: they stop, go on under their SSRCs, come and go (RFC 9429 §5.2.2).
@Suite struct ReofferTests {
    private typealias Engine = PeerEngine<NullSecurity>

    private func reoffer(_ offerer: Engine, _ answerer: Engine, _ media: [PeerConfiguration.Media], now: Instant) throws
    {
        offerer.setMedia(media)
        let answer = try answerer.answer(offer: try offerer.makeOffer(), now: now)
        try offerer.setRemoteAnswer(answer, now: now)
    }

    private func media(
        _ kinds: [MediaConfiguration.Kind] = [.audio, .video], sends: Bool, flows: Bool = true
    ) -> [PeerConfiguration.Media] {
        kinds.map { .init($0, sends: sends && flows, receives: !sends && flows) }
    }

    private func packetsSent(_ engine: Engine) -> UInt64 {
        let statistics = engine.statistics
        return (statistics.outboundVideo?.packetsSent ?? 0) + (statistics.outboundAudio?.packetsSent ?? 0)
    }

    @Test(
        "RFC 3264 §8.4: on hold nothing is sent, for however long; afterwards the same sources go on with a key frame",
        arguments: [false, true])
    func holdAndResume(bySender: Bool) throws {
        let call = try Call()
        #expect(call.connect())
        #expect(try call.stream(.seconds(2)).count >= 55)
        let ssrc = try #require(call.sender.videoSender?.configuration.ssrc)
        let sent = packetsSent(call.sender)
        let (offerer, answerer) = bySender ? (call.sender, call.receiver) : (call.receiver, call.sender)
        try reoffer(offerer, answerer, media(sends: bySender, flows: false), now: call.simulation.now)
        #expect(try call.stream(.seconds(2)).isEmpty)
        let frame = try PeerEngineTests.frame(0, isKeyFrame: true)
        let now = call.simulation.now
        #expect(call.sender.sendVideo(frame, captureTime: now, now: now) == .paused)
        #expect(call.sender.sendAudio(frame, captureTime: now, now: now) == .paused)
        #expect(packetsSent(call.sender) == sent)
        // Reports and consent keep the connection; nobody asks for what cannot come.
        let requests = call.receiver.statistics.inboundVideo?.pliCount
        call.run(.seconds(120))
        #expect(call.areConnected)
        #expect(call.receiver.statistics.inboundVideo?.pliCount == requests)

        while call.sender.pollEvent() != nil {}
        try reoffer(offerer, answerer, media(sends: bySender), now: call.simulation.now)
        #expect(call.sender.pollEvent() == .keyFrameNeeded)
        let after = try call.stream(.seconds(2))
        #expect(after.count >= 55 && after.first?.frame.isKeyFrame == true)
        #expect(call.sender.videoSender?.configuration.ssrc == ssrc && call.receiver.videoReceiver?.ssrc == ssrc)
        #expect(call.receiver.statistics.inboundVideo?.packetsLost == 0)
        #expect(call.receiver.statistics.inboundVideo?.keyFramesReceived == 2)
    }

    @Test("RFC 9429 §5.2.2: video that is added to a call of sound begins with a key frame", arguments: [false, true])
    func videoIsAddedLater(bySender: Bool) throws {
        let call = try Call()
        #expect(call.connect())
        let (offerer, answerer) = bySender ? (call.sender, call.receiver) : (call.receiver, call.sender)
        try reoffer(offerer, answerer, media([.audio], sends: bySender), now: call.simulation.now)
        #expect(try call.stream(.seconds(1)).isEmpty)
        while call.sender.pollEvent() != nil {}
        try reoffer(offerer, answerer, media(sends: bySender), now: call.simulation.now)
        #expect(call.sender.pollEvent() == .keyFrameNeeded)
        #expect(try call.stream(.seconds(2)).count >= 55)
        // In the place of the m-line that was closed, by a new name, which the packets bear.
        let mid = call.sender.negotiated?.media(.video)?.mid
        #expect(mid == "2" && call.receiver.negotiated?.media(.video)?.mid == mid)
        #expect(call.sender.negotiated?.media(.video)?.index == 1)
    }

    @Test func aCallOfSoundAloneGetsItsFirstPictures() throws {
        let start = Instant.zero + .seconds(1)
        func engine(_ address: SocketAddress, sends: Bool, _ seed: UInt64) -> Engine {
            var configuration = PeerEngineTests.configuration(address, sends: sends)
            if sends { configuration.media.removeLast() }
            return Engine(
                configuration: configuration, security: NullSecurity(), pacer: TransactionPacer(),
                random: RandomSource(SeededRandom(seed)), now: start)
        }
        let sender = engine(PeerEngineTests.leftAddress, sends: true, 1)
        let receiver = engine(PeerEngineTests.rightAddress, sends: false, 2)
        sender.setMaximumBitrate(.kilobitsPerSecond(5_000), start: .kilobitsPerSecond(5_000), now: start)
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 1)
        try sender.setRemoteAnswer(try receiver.answer(offer: try sender.makeOffer(), now: start), now: start)
        #expect(simulation.run(until: simulation.now + .seconds(5)) { receiver.connectionState == .connected })
        #expect(receiver.videoReceiver == nil)
        try reoffer(sender, receiver, media(sends: true), now: simulation.now)
        #expect(sender.negotiated?.media(.video)?.mid == "1")
        #expect(try PeerEngineTests.stream(simulation, sender, receiver, frames: 60).count >= 55)
    }

    @Test func videoIsTakenAwayWhileSoundGoesOn() throws {
        let call = try Call()
        #expect(call.connect())
        #expect(try call.stream(.seconds(1)).count >= 25)
        try reoffer(call.sender, call.receiver, media([.audio], sends: true), now: call.simulation.now)
        #expect(try call.stream(.seconds(1)).isEmpty)
        let sound = try OpusPacketizer.packetize(payload: [0xF8, 1, 2, 3])
        let now = call.simulation.now
        #expect(call.sender.sendAudio(sound, captureTime: now, now: now) == .queued)
        call.run(.seconds(60))
        #expect(call.areConnected)
        #expect(call.receiver.statistics.inboundAudio?.packetsReceived == 1)
    }

    @Test("RFC 9429 §4.1.10.2: through glare media flows, whichever side gives way", arguments: [false, true])
    func glareCostsNothing(receiverGivesWay: Bool) throws {
        let call = try Call()
        #expect(call.connect())
        #expect(try call.stream(.seconds(1)).count >= 25)
        let (standing, polite) = receiverGivesWay ? (call.sender, call.receiver) : (call.receiver, call.sender)
        let offer = try standing.makeOffer()
        let other = try polite.makeOffer(iceRestart: true)
        #expect(throws: SDPError.self) { try standing.answer(offer: other, now: call.simulation.now) }
        // Meanwhile both are where they were.
        #expect(try call.stream(.seconds(1)).count >= 28)
        polite.rollback()
        let answer = try polite.answer(offer: offer, now: call.simulation.now)
        try standing.setRemoteAnswer(answer, now: call.simulation.now)
        #expect(try call.stream(.seconds(4)).count >= 110)
        #expect(call.areConnected)
    }

    @Test("RFC 3264 §8.3.2: other payload types in a later offer are followed")
    func payloadTypesMayChange() throws {
        let call = try Call()
        #expect(call.connect())
        #expect(try call.stream(.seconds(1)).count >= 25)
        func moved(_ text: String) -> String {
            text.replacing("SAVPF 96 97", with: "SAVPF 116 117").replacing(":96 ", with: ":116 ")
                .replacing(":97 ", with: ":117 ").replacing("apt=96", with: "apt=116")
        }
        func movedBack(_ text: String) -> String {
            text.replacing("SAVPF 116 117", with: "SAVPF 96 97").replacing(":116 ", with: ":96 ")
                .replacing(":117 ", with: ":97 ").replacing("apt=116", with: "apt=96")
        }
        let now = call.simulation.now
        let answer = try call.sender.answer(offer: moved(try call.receiver.makeOffer()), now: now)
        #expect(answer.contains("SAVPF 116 117") && call.sender.videoSender?.configuration.payloadType == 116)
        // The receiver of this test is told its own numbers, and then hears others, which it does not know.
        try call.receiver.setRemoteAnswer(movedBack(answer), now: now)
        #expect(try call.stream(.seconds(1)).count <= 1, "one was on its way")
        let again = try call.sender.answer(offer: try call.receiver.makeOffer(), now: call.simulation.now)
        try call.receiver.setRemoteAnswer(again, now: call.simulation.now)
        #expect(try call.stream(.seconds(2)).count >= 28)
    }
}
