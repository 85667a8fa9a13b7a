import EmisoraSDP
import Testing

/// Data channels in offers and answers (RFC 8841).
@Suite struct DataChannelNegotiationTests {
    private static func machine(
        _ kinds: [MediaConfiguration.Kind] = [.video], sends: Bool = true, hasData: Bool = true
    ) -> OfferAnswerMachine {
        var machine = Given.machine(kinds, sends: sends, receives: !sends)
        machine.setDataChannels(hasData)
        return machine
    }

    @Test("RFC 8841 §4: an offer has one m-line for data channels in the bundle, which the answer takes")
    func offered() throws {
        var publisher = Self.machine()
        var viewer = Self.machine(sends: false)
        let offer = try publisher.makeOffer(transport: Given.transport())
        #expect(offer.contains("m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"))
        #expect(offer.contains("a=sctp-port:5000\r\n") && offer.contains("a=max-message-size:262144\r\n"))
        let parsed = try SessionDescription(parsing: offer)
        #expect(parsed.bundle == ["0", "1"])
        let section = try #require(parsed.media.last)
        #expect(section.iceUfrag == "ours" && section.setup == .actpass && !section.fingerprints.isEmpty)
        #expect(!offer.components("m=application")[1].contains("a=sendrecv"))
        let (answer, theirs) = try viewer.answer(offer: offer, transport: Given.transport("theirs"))
        let ours = try publisher.setRemoteAnswer(answer)
        for session in [ours, theirs] {
            #expect(session.media.map(\.kind) == [.video])
            #expect(session.data == .init(index: 1, remotePort: 5_000, maximumMessageSize: 262_144))
        }
    }

    @Test func whoDoesNotWantThemRefusesThemAndTakesTheRest() throws {
        var publisher = Self.machine()
        var viewer = Self.machine(sends: false, hasData: false)
        let (answer, theirs) = try viewer.answer(
            offer: try publisher.makeOffer(transport: Given.transport()), transport: Given.transport("theirs"))
        #expect(answer.contains("m=application 0 UDP/DTLS/SCTP webrtc-datachannel\r\n"))
        #expect(try SessionDescription(parsing: answer).bundle == ["0"])
        #expect(theirs.data == nil)
        let ours = try publisher.setRemoteAnswer(answer)
        #expect(ours.data == nil && ours.media.count == 1)
        // What was refused is not offered again.
        #expect(!(try publisher.makeOffer(transport: Given.transport())).contains("m=application 9"))
    }

    @Test func aLaterOfferBringsThemOnTheSameTransport() throws {
        var publisher = Self.machine(hasData: false)
        var viewer = Self.machine(sends: false)
        let first = try viewer.answer(
            offer: try publisher.makeOffer(transport: Given.transport()), transport: Given.transport("theirs"))
        #expect(first.session.data == nil)
        _ = try publisher.setRemoteAnswer(first.answer)
        publisher.setDataChannels(true)
        let second = try viewer.answer(
            offer: try publisher.makeOffer(transport: Given.transport()), transport: Given.transport("theirs"))
        #expect(second.session.data?.index == 1)
        let session = try publisher.setRemoteAnswer(second.answer)
        #expect(session.data?.remotePort == 5_000 && session.media.count == 1)
        // And once more, with nothing changed.
        let third = try viewer.answer(
            offer: try publisher.makeOffer(transport: Given.transport()), transport: Given.transport("theirs"))
        #expect(try publisher.setRemoteAnswer(third.answer).data == session.data)
    }

    @Test func theOlderFormIsAnsweredInItsOwnWay() throws {
        let offer = Given.offer(
            session: ["a=group:BUNDLE v d"],
            media: [
                "m=application 9 DTLS/SCTP 5001", "c=IN IP4 0.0.0.0", "a=mid:d",
                "a=sctpmap:5001 webrtc-datachannel 1024",
                "a=ice-ufrag:theirs", "a=ice-pwd:0123456789abcdef012345", "a=setup:actpass",
                "a=fingerprint:\(Given.fingerprint.algorithm) \(Given.fingerprint.value)",
            ])
        var publisher = Self.machine()
        let (answer, session) = try publisher.answer(offer: offer, transport: Given.transport())
        #expect(session.data == .init(index: 1, remotePort: 5_001, maximumMessageSize: nil))
        #expect(answer.contains("m=application 9 DTLS/SCTP 5000\r\n"))
        #expect(answer.contains("a=sctpmap:5000 webrtc-datachannel 1024\r\n"))
    }

    @Test func sectionsThatCannotBeUsedAreRefused() throws {
        let lines = [
            "c=IN IP4 0.0.0.0", "a=mid:d", "a=ice-ufrag:theirs", "a=ice-pwd:0123456789abcdef012345", "a=setup:actpass",
            "a=fingerprint:\(Given.fingerprint.algorithm) \(Given.fingerprint.value)",
        ]
        for section in [
            ["m=application 9 UDP/BFCP *"], ["m=application 9 UDP/DTLS/SCTP other", "a=sctp-port:5000"],
            ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=sctp-port:0"], ["m=application 9 DTLS/SCTP 5000"],
            ["m=application 0 UDP/DTLS/SCTP webrtc-datachannel", "a=sctp-port:5000"],
        ] {
            var publisher = Self.machine()
            let (answer, session) = try publisher.answer(
                offer: Given.offer(session: ["a=group:BUNDLE v d"], media: [section[0]] + lines + section.dropFirst()),
                transport: Given.transport())
            #expect(session.data == nil && session.media.count == 1)
            #expect(answer.contains("m=application 0 "))
        }
        #expect(throws: SDPError.self) {
            try SessionDescription(parsing: Given.offer(media: ["a=sctp-port:70000"]))
        }
        #expect(throws: SDPError.self) {
            try SessionDescription(parsing: Given.offer(media: ["a=max-message-size:many"]))
        }
    }

    @Test func dataChannelsAloneAreASession() throws {
        var offerer = Self.machine([])
        var answerer = Self.machine([])
        let (answer, theirs) = try answerer.answer(
            offer: try offerer.makeOffer(transport: Given.transport()), transport: Given.transport("theirs"))
        let ours = try offerer.setRemoteAnswer(answer)
        #expect(theirs.data != nil && ours.data != nil && ours.media.isEmpty && ours.remoteUfrag == "theirs")
    }

    @Test func whoCannotHaveThePicturesOnOfferIsToldSoInsteadOfMessagesAlone() throws {
        var publisher = Self.machine()
        let offer = Given.offer(
            session: ["a=group:BUNDLE v d"],
            media: [
                "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:d", "a=sctp-port:5000",
                "a=ice-ufrag:theirs", "a=ice-pwd:0123456789abcdef012345", "a=setup:actpass",
                "a=fingerprint:\(Given.fingerprint.algorithm) \(Given.fingerprint.value)",
            ]
        ).replacing("vP8", with: "H264")
        #expect(throws: SDPError.noCommonCodec) { try publisher.answer(offer: offer, transport: Given.transport()) }
    }
}

extension String {
    fileprivate func components(_ separator: String) -> [Substring] { split(separator: separator) }
}
