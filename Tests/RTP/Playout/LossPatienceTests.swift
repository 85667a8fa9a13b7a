import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct LossPatienceTests {
    private func patience(
        roundTrip: Int, jitter: Int = 0, interval: Int = 33, isMended: Bool = true
    ) -> LossPatience {
        LossPatience(
            roundTripTime: .milliseconds(roundTrip), jitter: .milliseconds(jitter),
            frameInterval: .milliseconds(interval), isMended: isMended)
    }

    @Test func aMissingPacketIsGivenItsRetransmissionsTime() {
        #expect(patience(roundTrip: 1).missingPacket == .milliseconds(150))
        #expect(patience(roundTrip: 40).missingPacket == .milliseconds(250))
        #expect(patience(roundTrip: 100).missingPacket == .milliseconds(410))
        #expect(patience(roundTrip: 250).missingPacket == .milliseconds(760))
        #expect(patience(roundTrip: 9_000).missingPacket == .seconds(1))
        #expect(patience(roundTrip: 40, jitter: 20).missingPacket == .milliseconds(330))
    }

    @Test func withoutRetransmissionsOnlyReorderingIsWaitedFor() {
        #expect(patience(roundTrip: 250, isMended: false).missingPacket == .milliseconds(50))
        #expect(patience(roundTrip: 1, jitter: 30, isMended: false).missingPacket == .milliseconds(163))
    }

    @Test func aKeyFrameIsGivenTheTimeToBeMadeAndToCome() {
        #expect(patience(roundTrip: 20).keyFrame == .milliseconds(500))
        #expect(patience(roundTrip: 400).keyFrame == .milliseconds(876))
        #expect(patience(roundTrip: 20, interval: 500).keyFrame == .milliseconds(1_050))
        #expect(patience(roundTrip: 9_000, jitter: 9_000, interval: 9_000).keyFrame == .seconds(2))
    }

    /// Nine of ten packets get through each way, and a picture in three lacks one.
    @Test(arguments: UInt64(1)...3) func whileRetransmissionsStillMendNoKeyFrameIsAskedFor(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var sender = RTPSendStream(senderConfiguration(rtx: true), using: &generator)
        var receiver = RTPVideoReceiveStream(receiverConfiguration(rtx: true))
        receiver.roundTripTime = .milliseconds(40)
        var toReceiver: [(due: Int, packet: [UInt8])] = []
        var toSender: [(due: Int, numbers: [UInt16])] = []
        var (keyFrameRequests, nacks, frames) = (0, 0, 0)
        for now in 0..<20_000 {
            if now % 33 == 0 {
                let isFirst = now == 0
                let payload = vp8Frame(isKeyFrame: isFirst, byteCount: 3_000, using: &generator)
                sender.enqueue(
                    try VP8Packetizer.packetize(
                        payload: payload, isKeyFrame: isFirst, pictureID: UInt16(now / 33), maxPayloadSize: 1_100),
                    captureTime: at(now), now: at(now))
            }
            for message in toSender where message.due == now { sender.handleNACK(message.numbers, now: at(now)) }
            for packet in sender.pollAll(now: at(now)) where now == 0 || !generator.chance(percent: 10) {
                toReceiver.append((now + 20, packet))
            }
            for arrival in toReceiver where arrival.due == now { try receiver.handle(arrival.packet, now: at(now)) }
            toSender.removeAll { $0.due <= now }
            toReceiver.removeAll { $0.due <= now }
            receiver.handleTimeout(now: at(now))
            while receiver.pollFrame(now: at(now)) != nil { frames += 1 }
            while let feedback = receiver.pollFeedback(now: at(now)) {
                switch feedback {
                case .keyFrameRequest: keyFrameRequests += 1
                case .nack(let numbers):
                    nacks += 1
                    if !generator.chance(percent: 10) { toSender.append((now + 20, numbers)) }
                }
            }
        }
        #expect(keyFrameRequests == 0 && nacks > 150 && frames > 590, "\(keyFrameRequests), \(nacks), \(frames)")
    }
}
