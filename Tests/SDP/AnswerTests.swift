import EmisoraSDP
import Testing

@Suite struct AnswerTests {
    @Test(arguments: [
        (Fixtures.chromiumRecvonly, UInt8(96), UInt8(97), UInt8(111), UInt8(9), UInt8?(49), UInt8?(63)),
        (Fixtures.firefoxRecvonly, 120, 124, 109, 3, nil, nil),
    ])
    func answersAViewerWithItsOwnNumbers(
        offer: String, vp8: UInt8, rtx: UInt8, opus: UInt8, midExtension: UInt8, flexfec: UInt8?, red: UInt8?
    ) throws {
        var machine = Given.machine()
        let (text, session) = try machine.answer(offer: Fixtures.crlf(offer), transport: Given.transport())
        let answer = try SessionDescription(parsing: text)
        #expect(answer.media.map(\.kind) == ["video", "audio"])
        #expect(answer.media.map(\.mid) == ["0", "1"])
        #expect(answer.bundle == ["0", "1"])
        let formats = [[vp8, rtx, flexfec], [opus, red]].map { $0.compactMap { $0 }.map(String.init) }
        #expect(answer.media.map(\.formats) == formats)
        #expect(answer.media.map(\.direction) == [.sendonly, .sendonly])
        #expect(answer.media.map(\.iceUfrag) == ["ours", "ours"])
        #expect(answer.media.map { $0.candidates.count } == [1, 0])
        #expect(answer.media[0].setup == .active)
        #expect(answer.media[0].formatParameters[rtx] == "apt=\(vp8)")
        #expect(
            answer.media[0].feedback.filter { $0.payloadType == vp8 }.map(\.value)
                == ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"])
        #expect(answer.media[1].feedback.map(\.value).allSatisfy { $0 == "transport-cc" })
        #expect(answer.media.map(\.isRTCPMultiplexed) == [true, true])
        #expect(answer.media[0].isRTCPReducedSize)
        #expect(answer.media[0].extensions == [ExtensionMap(id: midExtension, uri: ExtensionMap.midURI)])
        #expect(answer.media[0].retransmissionGroups == [RetransmissionGroup(media: 21, retransmission: 22)])
        #expect(!text.contains("actpass"))

        let video = try #require(session.media(.video))
        #expect(video.payloadType == vp8)
        #expect(video.retransmissionPayloadType == rtx)
        #expect(video.index == 0)
        #expect(video.direction == .sendonly)
        #expect(video.midExtensionID == midExtension)
        #expect(video.feedback.nack && video.feedback.pictureLossIndication && video.feedback.fullIntraRequest)
        #expect(session.media(.audio)?.opus.useInbandFEC == true)
        #expect(session.dtlsRole == .client)
        #expect(session.supportsTrickle)
        #expect(session.remoteFingerprints.map(\.bytes.count) == [32])
    }

    @Test("RFC 7741 §6.1: max-fr and max-fs are read") func readsTheLimitsOfFirefoxsReceivers() throws {
        var machine = Given.machine()
        let session = try machine.answer(offer: Fixtures.firefoxRecvonly, transport: Given.transport()).session
        #expect(session.media(.video)?.vp8.maximumFrameRate == 60)
        #expect(session.media(.video)?.vp8.maximumFrameSize == 12_288)
        #expect(session.media(.audio)?.opus.stereo == true)
        #expect(session.remoteCandidatesEnded)
        #expect(session.remoteCandidates.count == 8)
    }

    @Test(arguments: [Fixtures.chromiumSendonly, Fixtures.firefoxSendonly])
    func answersAPublisherByReceiving(offer: String) throws {
        var machine = Given.machine(sends: false, receives: true)
        let (text, session) = try machine.answer(offer: offer, transport: Given.transport())
        let answer = try SessionDescription(parsing: text)
        #expect(answer.media.map(\.direction) == [.recvonly, .recvonly])
        #expect(answer.media.allSatisfy { $0.ssrcs.isEmpty && $0.streamID == nil })
        #expect(session.media(.video)?.remoteStreamID != nil)
        #expect(session.media(.video)?.remoteSSRCs.isEmpty == false)
    }

    @Test(
        "RFC 9429 §5.3.1: refused m-lines keep their place with port 0, a format and their mid, outside the bundle",
        arguments: [Fixtures.chromiumMulti, Fixtures.firefoxMulti])
    func refusesASecondVideoAndTheDataChannelInTheirPlaces(offer: String) throws {
        var machine = Given.machine()
        let answer = try SessionDescription(
            parsing: try machine.answer(offer: offer, transport: Given.transport()).answer)
        #expect(answer.media.map(\.port) == [9, 9, 0, 0])
        #expect(answer.media.map(\.mid) == ["0", "1", "2", "3"])
        #expect(answer.media.map { $0.formats.isEmpty } == [false, false, false, false])
        #expect(answer.media[3].protocolName == "UDP/DTLS/SCTP")
        #expect(answer.bundle == ["0", "1"])
    }

    @Test func putsTheTransportIntoTheFirstSectionItTakes() throws {
        var machine = Given.machine([.video])
        let (text, session) = try machine.answer(offer: Fixtures.chromiumSendonly, transport: Given.transport())
        let offer = try SessionDescription(parsing: Fixtures.chromiumSendonly)
        let answer = try SessionDescription(parsing: text)
        #expect(answer.media.map(\.port) == [0, 9])
        #expect(answer.media.map(\.iceUfrag) == [nil, "ours"])
        #expect(answer.bundle == ["1"])
        // The first section's transport goes away with it.
        #expect(session.remoteCandidates == offer.media[1].candidates)
    }

    @Test func usesTheTransportOfTheSectionItTakesNotOfTheOneItRefuses() throws {
        let lines = Given.offer().split(separator: "\r\n").map(String.init)
        let refused = [
            "m=audio 9 UDP/TLS/RTP/SAVPF 0", "a=mid:a", "a=rtcp-mux", "a=ice-ufrag:wrong",
            "a=ice-pwd:9999999999999999999999", "a=setup:actpass",
            "a=fingerprint:\(Given.fingerprint.algorithm) \(Given.fingerprint.value)",
        ]
        let offer = lines[..<4] + ["a=group:BUNDLE a v"] + refused + lines[5...]
        var machine = Given.machine()
        let session = try machine.answer(offer: offer.joined(separator: "\n"), transport: Given.transport()).session
        #expect(session.remoteUfrag == "theirs")
        #expect(session.media.map(\.index) == [1])
    }

    @Test(
        "RFC 9429 §5.1.2: the listed legacy profiles are taken and answered as they were offered",
        arguments: [
            "UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "RTP/SAVPF", "RTP/SAVP",
            "RTP/AVPF", "RTP/AVP",
        ])
    func answersWithTheOfferedProfile(name: String) throws {
        var machine = Given.machine()
        let (text, session) = try machine.answer(
            offer: Given.offer(protocolName: name), transport: Given.transport())
        #expect(text.contains("m=video 9 \(name) 100 101\r\n"))
        #expect(session.media(.video)?.retransmissionPayloadType == 101)
    }

    @Test func takesABundleOnlySectionAndRefusesABarePortZero() throws {
        var machine = Given.machine()
        let answer = try machine.answer(
            offer: Given.offer(port: 0, media: ["a=bundle-only"]), transport: Given.transport())
        #expect(answer.session.media.count == 1)
        #expect(throws: SDPError.noCommonCodec) {
            var machine = Given.machine()
            _ = try machine.answer(offer: Given.offer(port: 0), transport: Given.transport())
        }
        #expect(throws: SDPError.noCommonCodec) {
            var machine = Given.machine()
            _ = try machine.answer(
                offer: Given.offer(port: 0, session: [], media: ["a=bundle-only"]), transport: Given.transport())
        }
    }

    @Test(arguments: [
        ("VP8", "H264"), ("a=rtcp-mux\r\n", ""), ("UDP/TLS/RTP/SAVPF", "UDP/UNKNOWN"), ("m=video", "m=text"),
        ("vP8/90000", "vP8/48000"), ("BUNDLE v", "BUNDLE w"), (" 100 101", " 101"),
    ])
    func saysThatThereIsNoCommonCodec(from: String, to: String) throws {
        var machine = Given.machine()
        let offer = Given.offer().replacing("vP8", with: from == "VP8" ? to : "vP8").replacing(from, with: to)
        #expect(throws: SDPError.noCommonCodec) {
            _ = try machine.answer(offer: offer, transport: Given.transport())
        }
        #expect(machine.negotiated == nil)
        #expect(throws: Never.self) { _ = try machine.answer(offer: Given.offer(), transport: Given.transport()) }
    }

    @Test(
        "RFC 8827 §6.5: without a fingerprint there is no media",
        arguments: [("a=fingerprint", "a=x"), ("a=ice-ufrag", "a=x"), ("a=ice-pwd", "a=x"), ("actpass", "holdconn")])
    func refusesAnOfferWithoutWhatSecurityNeeds(from: String, to: String) throws {
        var machine = Given.machine()
        let error = #expect(throws: SDPError.self) {
            _ = try machine.answer(offer: Given.offer().replacing(from, with: to), transport: Given.transport())
        }
        guard case .invalid = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(machine.negotiated == nil)
    }

    @Test(
        "RFC 8842 §5.3: an answer is active or passive, never actpass",
        arguments: [
            (DTLSSetup.actpass, NegotiatedSession.DTLSRole.client, "active"), (.actpass, .server, "passive"),
            (.active, .client, "passive"), (.passive, .server, "active"),
        ])
    func answersTheSetup(offered: DTLSSetup, preferred: NegotiatedSession.DTLSRole, answered: String) throws {
        var machine = Given.machine(role: preferred)
        let (text, session) = try machine.answer(
            offer: Given.offer().replacing("a=setup:actpass", with: "a=setup:\(offered.rawValue)"),
            transport: Given.transport())
        #expect(text.contains("a=setup:\(answered)\r\n"))
        #expect(session.dtlsRole == (answered == "active" ? .client : .server))
    }

    @Test("RFC 5761 §4: payload types 64 to 95 are never used") func neverUsesPayloadTypesOfRTCP() {
        var machine = Given.machine()
        #expect(throws: SDPError.noCommonCodec) {
            _ = try machine.answer(
                offer: Given.offer().replacing(" 100 101", with: " 72 101").replacing(":100 ", with: ":72 "),
                transport: Given.transport())
        }
    }

    @Test func turnsTheDirectionOfTheMidExtensionRound() throws {
        var machine = Given.machine()
        let receives = try machine.answer(
            offer: Given.offer(media: ["a=extmap:4/recvonly \(ExtensionMap.midURI)"]), transport: Given.transport())
        #expect(receives.answer.contains("a=extmap:4/sendonly \(ExtensionMap.midURI)\r\n"))
        #expect(receives.session.media(.video)?.midExtensionID == 4)
        var other = Given.machine()
        let sends = try other.answer(
            offer: Given.offer(media: ["a=extmap:4/sendonly \(ExtensionMap.midURI)"]), transport: Given.transport())
        #expect(sends.session.media(.video)?.midExtensionID == nil)
    }

    @Test func prefersTheVideoThatCanFlow() throws {
        let second = Given.offer().split(separator: "\r\n").map(String.init).drop { !$0.hasPrefix("m=") }
            .map { $0 == "a=mid:v" ? "a=mid:w" : $0 }
        let offer =
            Given.offer(session: ["a=group:BUNDLE v w"]).replacing("a=recvonly", with: "a=sendonly")
            + second.joined(separator: "\r\n") + "\r\n"
        var machine = Given.machine()
        let session = try machine.answer(offer: offer, transport: Given.transport()).session
        #expect(session.media.map(\.mid) == ["w"])
        // A later offer does not move what is in use.
        let again = try machine.answer(
            offer: offer.replacing("a=sendonly", with: "a=recvonly"), transport: Given.transport())
        #expect(again.session.media.map(\.mid) == ["w"])
        #expect(again.answer.contains("o=- 42 2 IN"))
    }

    @Test func refusesAReofferThatLosesASection() throws {
        var machine = Given.machine()
        _ = try machine.answer(offer: Fixtures.chromiumRecvonly, transport: Given.transport())
        let before = machine.negotiated
        #expect(throws: SDPError.invalid(reason: "it has fewer media sections than the session")) {
            _ = try machine.answer(offer: Given.offer(), transport: Given.transport())
        }
        #expect(machine.negotiated == before)
    }

    @Test("RFC 7587 §6.1: what a receiver asks of Opus is read, nonsense passed over") func readsOpusParameters() {
        let opus = OpusParameters(
            parsing: "minptime=10; useinbandfec=1 ;stereo=1;usedtx=1;maxaveragebitrate=64000;x;=;stereo")
        #expect(opus.useInbandFEC && opus.stereo && opus.useDTX)
        #expect(opus.maximumAverageBitrate == 64_000)
        #expect(opus.minimumPacketTime == 10)
        #expect(OpusParameters(parsing: "maxaveragebitrate=1") == OpusParameters())
        #expect(VP8Parameters(parsing: "max-fr=-1;max-fs=99999999999999999999") == VP8Parameters())
    }
}
