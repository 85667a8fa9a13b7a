import EmisoraCore
import EmisoraDTLS
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSimulation
import Testing

/// Connecting with real DTLS, whatever is lost and whoever is first.
@Suite struct HandshakeTests {
    /// Connects, and sends one picture of some packets; gives how long that took.
    private static func connect(
        _ call: PacedCall, senderOffers: Bool
    ) throws -> (connected: Duration, picture: Duration)? {
        let begin = call.now
        let (offering, answering) = senderOffers ? (call.sender, call.receiver) : (call.receiver, call.sender)
        let answer = try answering.answer(offer: try offering.makeOffer(), now: call.now)
        try offering.setRemoteAnswer(answer, now: call.now)
        guard call.run(.seconds(10), until: { call.areConnected }) else { return nil }
        let connected = call.now - begin
        var arrived: Int?
        let hasArrived = call.run(.seconds(5)) {
            // The first thing the sender is told is that the receiver needs a picture to begin with; where its first
            // packets are lost it is told again.
            while let event = call.sender.pollEvent() {
                guard event == .keyFrameNeeded, let picture = picture() else { continue }
                #expect(call.sender.sendVideo(picture, captureTime: call.now, now: call.now) == .queued)
            }
            arrived = arrived ?? call.receiver.pollVideoFrame(now: call.now)?.payload.count
            return arrived != nil
        }
        #expect(hasArrived && arrived == 20_000)
        return (connected, call.now - begin)
    }

    private static func picture() -> PacketizedFrame? {
        try? PeerEngineTests.frame(1, isKeyFrame: true, byteCount: 20_000)
    }

    @Test(
        "RFC 6347 §4.2.4: any one of the first twelve datagrams of either side may be lost",
        arguments: PacedCall.SimulatedSide.allCases.flatMap { side in (0..<12).map { (side, $0) } }, [false, true])
    func anyOneDatagramMayBeLost(lost: (side: PacedCall.SimulatedSide, number: Int), senderOffers: Bool) throws {
        // Flights of so many datagrams that the handshake of either side takes twelve and more, checks included.
        let call = try PacedCall(maximumTransmissionUnit: 256, certificate: LongCertificate.read())
        var lostInTheHandshake: DatagramKind?
        call.isLost = { side, number in
            guard side == lost.side, number == lost.number else { return false }
            if !call.areConnected, let datagram = call.sentDatagrams[side]?.last {
                lostInTheHandshake = DatagramKind(of: datagram.span.bytes)
            }
            return true
        }
        let disturbed = try #require(try Self.connect(call, senderOffers: senderOffers))
        #expect(lostInTheHandshake == .stun || lostInTheHandshake == .dtls)
        // Of waits alone: the path has no delay, and what the machine computes is not counted.
        #expect(disturbed.connected <= .milliseconds(1_500))
        #expect(call.sentDatagrams[lost.side, default: []].allSatisfy { $0[0] != 22 || $0.count <= 256 })
    }

    /// The answerer connects at once, while its answer is still on its way.
    @Test(
        "RFC 8842 §5.3: a ClientHello may come before the answer, in both roles",
        arguments: [false, true], [false, true])
    func theAnswerMayComeLast(senderOffers: Bool, offererIsClient: Bool) throws {
        let call = try PacedCall()
        let (offering, answering) = senderOffers ? (call.sender, call.receiver) : (call.receiver, call.sender)
        let offer = try offering.makeOffer()
            .replacing("a=setup:actpass", with: offererIsClient ? "a=setup:active" : "a=setup:actpass")
        let answer = try answering.answer(offer: offer, now: call.now)
        #expect(answer.contains(offererIsClient ? "a=setup:passive" : "a=setup:active"))
        // Long enough for the answerer to have found its path and said hello some times.
        _ = call.run(.milliseconds(300)) { false }
        #expect(offering.connectionState == .new)
        let answeredAt = call.now
        try offering.setRemoteAnswer(answer, now: call.now)
        #expect(call.run(.seconds(5)) { call.areConnected })
        // What came early is used: nobody had to wait until it was repeated.
        #expect(call.now - answeredAt < .milliseconds(50))
    }
}
