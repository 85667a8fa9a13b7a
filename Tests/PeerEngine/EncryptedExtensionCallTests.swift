import EmisoraCore
import EmisoraICE
import EmisoraRTP
import Testing

@testable import EmisoraPeerEngine

/// Header extensions that two whole peers encrypt, with real DTLS and SRTP.
@Suite struct EncryptedExtensionCallTests {
    /// What the sender showed in the clear, and what it gave to the network.
    private struct Sent {
        var plain: [UInt8]
        var sealed: [UInt8]
        var header: RTPHeader
    }

    /// The receiver learns from a first offer, which is rewritten on its way, that extensions are encrypted, and offers
    /// them so by itself from then on; the sender takes that.
    private static func negotiated(_ rewrite: (String) -> String) throws -> (call: PacedCall, answer: String) {
        let call = try PacedCall()
        let first = try call.receiver.answer(offer: rewrite(try call.sender.makeOffer()), now: call.now)
        try call.sender.setRemoteAnswer(first, now: call.now)
        let offer = try call.receiver.makeOffer()
        #expect(offer.contains("rtp-hdrext:encrypt"))
        let answer = try call.sender.answer(offer: offer, now: call.now)
        try call.receiver.setRemoteAnswer(answer, now: call.now)
        return (call, answer)
    }

    /// Each `a=extmap` of an offer encrypted, or both ways, then under an id above 10.
    private static func encrypting(_ offer: String, besidePlain: Bool) -> String {
        offer.split(separator: "\r\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            guard line.hasPrefix("a=extmap:"), let space = line.firstIndex(of: " ") else { return [String(line)] }
            let id = line[line.index(line.startIndex, offsetBy: 9)..<space]
            let encrypted = "urn:ietf:params:rtp-hdrext:encrypt \(line[line.index(after: space)...])"
            return besidePlain ? [String(line), "a=extmap:1\(id) \(encrypted)"] : ["a=extmap:\(id) \(encrypted)"]
        }.joined(separator: "\r\n")
    }

    /// Connects, and sends pictures and sound for a while.
    private static func stream(_ call: PacedCall) throws -> [Sent] {
        var plain: [[UInt8]] = []
        call.sender.packetTap = { packet, direction, _, _ in
            guard direction == .sent, DatagramKind(of: packet) == .rtp else { return }
            plain.append(packet.withUnsafeBytes { Array($0) })
        }
        #expect(call.run(.seconds(5)) { call.areConnected })
        for number in 0..<5 {
            let picture = try PeerEngineTests.frame(number, isKeyFrame: number == 0)
            #expect(call.sender.sendVideo(picture, captureTime: call.now, now: call.now) == .queued)
            let sound = try OpusPacketizer.packetize(
                payload: [0xF8, 1, 2], audioLevel: .init(hasVoice: true, level: 23))
            #expect(call.sender.sendAudio(sound, captureTime: call.now, now: call.now) == .queued)
            #expect(call.run(.seconds(2)) { call.receiver.pollVideoFrame(now: call.now) != nil })
        }
        let sealed = call.sentDatagrams[.sender, default: []].filter { DatagramKind(of: $0.span.bytes) == .rtp }
        #expect(sealed.count == plain.count && plain.count >= 30)
        return try zip(plain, sealed).map { plain, sealed in
            Sent(plain: plain, sealed: sealed, header: try RTPHeader(parsing: plain.span.bytes))
        }
    }

    @Test(
        "RFC 6904 §3: what was negotiated encrypted is so on the wire, and read at the other end",
        arguments: [true, false])
    func valuesAreHiddenOnTheWireAndReadByThePeer(besidePlain: Bool) throws {
        let (call, answer) = try Self.negotiated { Self.encrypting($0, besidePlain: besidePlain) }
        let maps = answer.split(separator: "\r\n").filter { $0.hasPrefix("a=extmap:") }
        #expect(maps.count >= 6 && maps.allSatisfy { $0.contains("encrypt") })
        let sent = try Self.stream(call)
        var hidden = 0
        for one in sent {
            var opened = HeaderExtensions(of: one.header, in: one.plain.span.bytes)
            var seen = HeaderExtensions(of: one.header, in: one.sealed.span.bytes)
            let ids = try #require(call.sender.negotiated).encryptedExtensionIDs
            while let element = opened.next() {
                // Heads are as they were, values are not.
                #expect(seen.next() == element)
                #expect(ids.contains(element.id))
                if Array(copying: seen.value(of: element)) != Array(copying: opened.value(of: element)) { hidden += 1 }
            }
        }
        // A value of one byte may come out as it was, one time in 256.
        let elements = sent.reduce(0) { $0 + Self.elementCount($1) }
        #expect(hidden > elements * 9 / 10 && elements >= 60)

        // The receiver read them: levels, MIDs (which it would refuse packets for), and numbers that it gave feedback on.
        let statistics = call.receiver.statistics
        #expect(statistics.inboundAudioLevel == .init(hasVoice: true, level: 23))
        #expect(statistics.packetsDiscardedOnReceive == 0)
        #expect(call.run(.seconds(1)) { call.sender.sendDecision.targetBitrate.bitsPerSecond > 0 })
        #expect(call.receiver.receiving.ids.transportSequenceNumber != nil)
    }

    private static func elementCount(_ sent: Sent) -> Int {
        var extensions = HeaderExtensions(of: sent.header, in: sent.plain.span.bytes)
        var count = 0
        while extensions.next() != nil { count += 1 }
        return count
    }

    /// From clear to encrypted by a later offer, while media flows.
    @Test func aLaterOfferCanHaveThemEncrypted() throws {
        let call = try PacedCall()
        try call.receiver.setRemoteAnswer(
            try call.sender.answer(offer: try call.receiver.makeOffer(), now: call.now), now: call.now)
        let clear = try Self.stream(call)
        for one in clear {
            let end = one.header.payload.lowerBound
            #expect(one.plain[..<end] == one.sealed[..<end])
        }

        let first = try call.receiver.answer(
            offer: Self.encrypting(try call.sender.makeOffer(), besidePlain: false), now: call.now)
        try call.sender.setRemoteAnswer(first, now: call.now)
        try call.receiver.setRemoteAnswer(
            try call.sender.answer(offer: try call.receiver.makeOffer(), now: call.now), now: call.now)
        let count = call.sentDatagrams[.sender, default: []].filter { DatagramKind(of: $0.span.bytes) == .rtp }.count
        let picture = try PeerEngineTests.frame(9, isKeyFrame: true, byteCount: 3_000)
        #expect(call.sender.sendVideo(picture, captureTime: call.now, now: call.now) == .queued)
        #expect(call.run(.seconds(2)) { call.receiver.pollVideoFrame(now: call.now) != nil })
        let later = call.sentDatagrams[.sender, default: []].filter { DatagramKind(of: $0.span.bytes) == .rtp }
            .dropFirst(count)
        let mid = try #require(call.sender.negotiated?.media(.video)?.mid)
        let id = try #require(call.sender.negotiated?.media(.video)?.midExtensionID)
        #expect(later.count >= 3)
        let read = try later.map { packet -> [UInt8]? in
            let header = try RTPHeader(parsing: packet.span.bytes)
            let extensions = HeaderExtensions(of: header, in: packet.span.bytes)
            guard let value = extensions.value(of: id) else { return nil }
            return [UInt8](copying: value)
        }
        // It is there, and is not what it is in the clear; a single byte may be, one time in 256.
        #expect(read.allSatisfy { $0 != nil } && read.contains { $0 != Array(mid.utf8) })
    }
}
