import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSDP
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// What must not get through a connection that is secured, with real DTLS and SRTP.
@Suite struct SecurityRuleTests {
    private static let path = ICEPath(local: PeerEngineTests.rightAddress, remote: PeerEngineTests.leftAddress)

    private static func connected() throws -> PacedCall {
        let call = try PacedCall()
        let answer = try call.sender.answer(offer: try call.receiver.makeOffer(), now: call.now)
        try call.receiver.setRemoteAnswer(answer, now: call.now)
        #expect(call.run(.seconds(5)) { call.areConnected })
        return call
    }

    @Test("RFC 8827 §6.5: unencrypted media is dropped")
    func unencryptedMediaIsDropped() throws {
        let call = try Self.connected()
        let before = call.receiver.statistics.packetsDiscardedOnReceive
        let plain: [UInt8] = [0x80, 0xE0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 0x10, 0x10, 1, 2, 3]
        let report: [UInt8] = [0x80, 200, 0, 6, 0, 0, 0, 9] + [UInt8](repeating: 1, count: 20)
        for packet in [plain, plain + [UInt8](repeating: 0, count: 16), report, report + [0, 0, 0, 1]] {
            _ = call.receiver.inject(packet, path: Self.path, now: call.now)
        }
        #expect(call.receiver.statistics.packetsDiscardedOnReceive == before + 4)
        #expect(call.receiver.statistics.inboundVideo?.packetsReceived == 0)
        #expect(call.receiver.pollVideoFrame(now: call.now) == nil)
        #expect(call.areConnected)
    }

    @Test("RFC 8842 §6: DTLS counts only on a path whose check succeeded")
    func strangersReachNoTLS() throws {
        let call = try Self.connected()
        _ = call.receiver.drain(now: call.now)
        let stranger = ICEPath(local: PeerEngineTests.rightAddress, remote: ForgeryMatrixTests.stranger)
        // A fatal alert and the beginning of a ClientHello, both in the clear.
        let alert: [UInt8] = [21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 99, 0, 2, 2, 40]
        let hello: [UInt8] = [22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        for datagram in [alert, hello] {
            for _ in 0..<100 {
                #expect(call.receiver.inject(datagram, path: stranger, now: call.now).isEmpty)
            }
            // On the right path DTLS ignores them by itself (RFC 6347 §4.1.2.7).
            _ = call.receiver.inject(datagram, path: Self.path, now: call.now)
        }
        #expect(call.run(.seconds(1)) { call.areConnected })
        let picture = try PeerEngineTests.frame(1, isKeyFrame: true)
        #expect(call.sender.sendVideo(picture, captureTime: call.now, now: call.now) == .queued)
        #expect(call.run(.seconds(2)) { call.receiver.pollVideoFrame(now: call.now) != nil })
    }

    @Test(
        "RFC 8842 §6: a stranger's alert does not end a handshake, though one on the path does",
        arguments: [false, true])
    func strangersEndNoHandshake(isOnPath: Bool) throws {
        let call = try PacedCall()
        let stranger = ICEPath(local: PeerEngineTests.rightAddress, remote: ForgeryMatrixTests.stranger)
        let answer = try call.sender.answer(offer: try call.receiver.makeOffer(), now: call.now)
        try call.receiver.setRemoteAnswer(answer, now: call.now)
        var number: UInt8 = 0
        // Ahead of every datagram of the handshake; in the clear, as alerts count until the keys are there.
        call.isLost = { _, _ in
            number &+= 1
            let alert: [UInt8] = [21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 1, number, 0, 2, 2, 40]
            _ = call.receiver.inject(alert, path: isOnPath ? Self.path : stranger, now: call.now)
            return false
        }
        let isConnected = call.run(.seconds(3)) { call.areConnected }
        #expect(isConnected == !isOnPath)
    }

    @Test("RFC 8842 §3.1: another certificate in a later offer does not pass for the one that was authenticated")
    func anotherCertificateIsRefused() throws {
        let call = try Self.connected()
        let other = try PacedCall()
        let foreign = try #require(attribute("fingerprint", of: try other.receiver.makeOffer()))
        let offer = try call.receiver.makeOffer()
        let ours = try #require(attribute("fingerprint", of: offer))
        #expect(throws: SDPError.self) {
            try call.sender.answer(offer: offer.replacing(ours, with: foreign), now: call.now)
        }
        // The right one still passes, and so does media.
        let answer = try call.sender.answer(offer: offer, now: call.now)
        let theirs = try #require(attribute("fingerprint", of: answer))
        #expect(throws: SDPError.self) {
            try call.receiver.setRemoteAnswer(answer.replacing(theirs, with: foreign), now: call.now)
        }
        try call.receiver.setRemoteAnswer(answer, now: call.now)
        let picture = try PeerEngineTests.frame(1, isKeyFrame: true)
        #expect(call.sender.sendVideo(picture, captureTime: call.now, now: call.now) == .queued)
        #expect(call.run(.seconds(2)) { call.receiver.pollVideoFrame(now: call.now) != nil })
    }

    /// RTCP in the clear about a stream that is there: requests, limits and its end.
    private static func forgeries(of ssrc: UInt32) throws -> [[UInt8]] {
        let entry = TemporaryMaximumBitrate.Entry(ssrc: ssrc, bitrate: .bitsPerSecond(0), overhead: 40)
        return try (0..<5).map { number in
            var bytes = [UInt8](repeating: 0, count: 200)
            var span = bytes.mutableSpan
            var raw = span.mutableBytes
            var writer = RTCPWriter(&raw, form: .reducedSize)
            switch number {
            case 0: try writer.write(PictureLossIndication(senderSSRC: 9, mediaSSRC: ssrc))
            case 1: try writer.write(GenericNACK(senderSSRC: 9, mediaSSRC: ssrc, sequenceNumbers: Array(0..<17)))
            case 2:
                try writer.write(
                    ReceiverEstimatedMaximumBitrate(senderSSRC: 9, bitrate: .bitsPerSecond(1_000), sources: [ssrc]))
            case 3: try writer.write(TemporaryMaximumBitrate(.request, senderSSRC: 9, entries: [entry]))
            default: try writer.write(Goodbye(sources: [ssrc, 9]))
            }
            let count = writer.byteCount
            return Array(bytes[..<count])
        }
    }

    /// From the peer's own address: damaged copies of all that it sent, what anybody may write who knows a stream's
    /// SSRC, and noise that begins like each kind.
    @Test(
        "RFC 8827 §6.5: a hundred thousand bad packets tear nothing down", arguments: PacedCall.SimulatedSide.allCases)
    func badPacketsTearNothingDown(at side: PacedCall.SimulatedSide) throws {
        let call = try Self.connected()
        let (victim, other) =
            side == .receiver ? (call.receiver, PacedCall.SimulatedSide.sender) : (call.sender, .receiver)
        let path =
            side == .receiver ? Self.path : ICEPath(local: Self.path.remote, remote: Self.path.local)
        func deliverPicture() throws {
            let picture = try PeerEngineTests.frame(1, isKeyFrame: true, byteCount: 20_000)
            #expect(call.sender.sendVideo(picture, captureTime: call.now, now: call.now) == .queued)
            #expect(call.run(.seconds(2)) { call.receiver.pollVideoFrame(now: call.now) != nil })
        }
        try deliverPicture()
        // Long enough for reports of both.
        _ = call.run(.seconds(2)) { false }
        let genuine = call.sentDatagrams[other, default: []]
        let kinds: Set<DatagramKind> = [.stun, .dtls, .rtcp]
        #expect(Set(genuine.map { DatagramKind(of: $0.span.bytes) }) == kinds.union(side == .receiver ? [.rtp] : []))
        let forged = try Self.forgeries(of: try #require(call.sender.videoSender?.configuration.ssrc))
        while victim.pollEvent() != nil {}
        let before = victim.statistics
        var random = SeededRandom(100_000)
        for round in 0..<100_000 {
            var bytes = genuine[Int(random.next() % UInt64(genuine.count))]
            if round % 4 == 0 {
                bytes = (0..<Int(1 + random.next() % 60)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                bytes[0] = [0, 1, 20, 22, 63, 64, 128, 144, 191, 200][round / 4 % 10]
            } else if round % 4 == 2 {
                // A tag and an index that anybody may write.
                bytes = forged[round / 4 % forged.count]
                bytes += (0..<20).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            } else {
                bytes[Int(random.next() % UInt64(bytes.count))] ^= 1 << UInt8(random.next() % 8)
                if round % 4 == 1 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
            }
            _ = victim.inject(bytes, path: path, now: call.now)
        }
        #expect(victim.pollEvent() == nil)
        #expect(call.areConnected)
        // Nothing was taken of them: neither media nor reports, NACKs and requests for key frames.
        let after = victim.statistics
        #expect(after.inboundVideo == before.inboundVideo && after.inboundAudio == before.inboundAudio)
        #expect(after.outboundVideo == before.outboundVideo && after.remoteInboundVideo == before.remoteInboundVideo)
        #expect(after.sendDecision == before.sendDecision)
        #expect(after.packetsDiscardedOnReceive > before.packetsDiscardedOnReceive)
        try deliverPicture()
    }
}
