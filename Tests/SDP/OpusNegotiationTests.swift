import Testing

@testable import EmisoraSDP

/// RFC 7587 §7: what descriptions say of Opus, ours and the peer's.
@Suite struct OpusNegotiationTests {
    private func machine(sends: Bool, isStereo: Bool) -> OfferAnswerMachine {
        let track = MediaConfiguration.Track(
            kind: .audio, sends: sends, receives: !sends, ssrc: 1, isStereo: isStereo)
        return OfferAnswerMachine(
            configuration: MediaConfiguration(tracks: [track], cname: "c", streamID: "s"), sessionID: 2)
    }

    private func offer(_ lines: String...) -> String {
        let audio = [
            "m=audio 9 UDP/TLS/RTP/SAVPF 109", "c=IN IP4 0.0.0.0", "a=mid:a", "a=recvonly", "a=rtcp-mux",
            "a=ice-ufrag:theirs", "a=ice-pwd:0123456789abcdef012345", "a=setup:actpass",
            "a=fingerprint:\(Given.fingerprint.algorithm) \(Given.fingerprint.value)", "a=rtpmap:109 opus/48000/2",
        ]
        return (["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE a"] + audio + lines)
            .joined(separator: "\r\n") + "\r\n"
    }

    private func parameters(_ lines: String...) throws -> OpusParameters {
        var ours = machine(sends: true, isStereo: true)
        let text = offer() + lines.map { $0 + "\r\n" }.joined()
        return try #require(try ours.answer(offer: text, transport: Given.transport()).session.media(.audio)).opus
    }

    @Test("RFC 7587 §7: packet times stand in lines of their own, everything else in the parameters")
    func packetTimesAreRead() throws {
        let opus = try parameters(
            "a=fmtp:109 maxplaybackrate=16000;minptime=20;maxaveragebitrate=20000", "a=ptime:40", "a=maxptime:60")
        #expect(opus.packetTime == 40 && opus.maximumPacketTime == 60 && opus.minimumPacketTime == 20)
        #expect(opus.maximumPlaybackRate == 16_000 && opus.maximumAverageBitrate == 20_000)
        #expect(try parameters("a=ptime:2.5", "a=maxptime:3.000").packetTime == 3)
        #expect(try parameters("a=ptime:2.5", "a=maxptime:3.000").maximumPacketTime == 3)
        #expect(try parameters("a=fmtp:109 ptime=10;maxptime=10").packetTime == 10)
        #expect(try parameters("a=fmtp:109 ptime=10;maxptime=120", "a=maxptime:40").maximumPacketTime == 40)
        #expect(try parameters("a=fmtp:109 ptime=1;maxplaybackrate=96000;minptime=x") == OpusParameters())
    }

    @Test(arguments: ["", "0", "-20", "20.", ".5", "x", "20.x", "99999999999", "2.5.1"])
    func aTimeThatIsNoneIsNamedByItsLine(value: String) throws {
        let text = offer("a=ptime:\(value)")
        let line = text.split(separator: "\r\n").count
        #expect(throws: SDPError.malformed(line: line, reason: "a=ptime needs a time in milliseconds")) {
            _ = try SessionDescription(parsing: text)
        }
    }

    @Test func timesAreWrittenAsTheyWereRead() throws {
        let description = try SessionDescription(parsing: offer("a=ptime:40", "a=maxptime:60"))
        #expect(try SessionDescription(parsing: description.text) == description)
    }

    @Test("RFC 7587 §6.1: who plays stereo asks for it, who sends it announces it") func stereoIsAnnounced() throws {
        for (sends, isStereo, expected) in [
            (true, true, "minptime=10;useinbandfec=1;sprop-stereo=1"), (true, false, "minptime=10;useinbandfec=1"),
            (false, true, "minptime=10;useinbandfec=1;stereo=1"), (false, false, "minptime=10;useinbandfec=1"),
        ] {
            var offering = machine(sends: sends, isStereo: isStereo)
            let text = try offering.makeOffer(transport: Given.transport())
            #expect(text.contains("a=fmtp:111 \(expected)\r\n"))
            var answering = machine(sends: !sends, isStereo: isStereo)
            let (answer, session) = try answering.answer(offer: text, transport: Given.transport("other"))
            #expect(session.media(.audio)?.opus.stereo == (isStereo && !sends))
            #expect(try offering.setRemoteAnswer(answer).media(.audio)?.opus.stereo == (isStereo && sends))
        }
    }
}
