import Testing

@testable import EmisoraSDP

/// RED, ULPFEC, FlexFEC and RFC 8888 in offers and answers.
@Suite struct RepairNegotiationTests {
    private static let transportWide = "a=extmap:7 \(ExtensionMap.transportWideURI)"

    private func repair(
        _ offer: String, sends: Bool = false, kind: MediaConfiguration.Kind = .video
    ) throws -> (RepairFormats, answer: String) {
        var machine = Given.machine(sends: sends, receives: !sends)
        let (answer, session) = try machine.answer(offer: offer, transport: Given.transport())
        return (try #require(session.media(kind)).repair, answer)
    }

    /// A publisher's small offer: VP8 100, rtx 101, and what a test adds.
    private func offer(_ formats: String, _ lines: String...) -> String {
        Given.offer(media: lines).replacing("SAVPF 100 101", with: "SAVPF 100 101 \(formats)")
            .replacing("a=recvonly", with: "a=sendonly")
    }

    // MARK: What browsers offer

    @Test(arguments: [
        (Fixtures.chromiumSendonly, UInt8(118), UInt8(119), UInt8(120), UInt8?(63)),
        (Fixtures.firefoxSendonly, 122, 119, 123, nil),
    ])
    func aReceiverTakesPicturesInREDWithParityPackets(
        offer: String, red: UInt8, rtx: UInt8, ulpfec: UInt8, soundRED: UInt8?
    ) throws {
        let (formats, text) = try repair(offer)
        #expect(formats.red == red && formats.redRetransmission == rtx && formats.ulpfec == ulpfec)
        #expect(formats.flexfec == nil)
        let answer = try SessionDescription(parsing: text)
        let video = try #require(answer.media.first { $0.kind == "video" })
        #expect(video.formats.suffix(3) == ["\(red)", "\(rtx)", "\(ulpfec)"])
        #expect(video.formatParameters[rtx] == "apt=\(red)")
        #expect(Set(video.rtpMaps.map { "\($0.payloadType)" }) == Set(video.formats))
        #expect(try repair(offer, kind: .audio).0.red == soundRED)
        let audio = try #require(answer.media.first { $0.kind == "audio" })
        #expect(soundRED.map { audio.formatParameters[$0] == "111/111" } ?? (audio.formats.count == 1))
    }

    @Test func aPublisherTakesFlexFECAndREDForSoundFromAViewerButNoULPFEC() throws {
        let (formats, text) = try repair(Fixtures.chromiumRecvonly, sends: true)
        #expect(formats.flexfec == 49 && formats.red == nil && formats.ulpfec == nil)
        let answer = try SessionDescription(parsing: text)
        #expect(answer.media[0].repairGroups == [RepairGroup(media: 21, repair: 23)])
        #expect(answer.media[0].ssrcs.map(\.ssrc) == [21, 22, 23])
        #expect(answer.media[0].formatParameters[49] == "repair-window=10000000")
        #expect(answer.media[0].feedback.contains(FeedbackLine(payloadType: 49, value: "transport-cc")))
        #expect(text.contains("a=ssrc-group:FEC-FR 21 23\r\n"))
        #expect(try repair(Fixtures.chromiumRecvonly, sends: true, kind: .audio).0.red == 63)
    }

    // MARK: What we offer

    @Test func aPublisherOffersFlexFECAndAViewerREDWithULPFEC() throws {
        var publisher = Given.machine()
        let sending = try SessionDescription(parsing: publisher.makeOffer(transport: Given.transport()))
        #expect(sending.media[0].rtpMaps.map(\.name) == ["opus", "red"])
        #expect(sending.media[0].formatParameters[112] == "111/111")
        #expect(sending.media[1].rtpMaps.map(\.name) == ["VP8", "rtx", "flexfec-03"])
        #expect(sending.media[1].repairGroups == [RepairGroup(media: 21, repair: 23)])
        var viewer = Given.machine(sends: false, receives: true)
        let receiving = try SessionDescription(parsing: viewer.makeOffer(transport: Given.transport()))
        #expect(receiving.media[1].rtpMaps.map(\.name) == ["VP8", "rtx", "red", "rtx", "ulpfec"])
        #expect(receiving.media[1].formatParameters[99] == "apt=98")
        for offer in [sending, receiving] {
            let types = offer.media.flatMap(\.formats).compactMap { UInt8($0) }
            #expect(Set(types).count == types.count && types.allSatisfy { $0 >= 96 && $0 < 128 })
            #expect(offer.media.allSatisfy { $0.feedback.contains(FeedbackLine(payloadType: nil, value: "ack ccfb")) })
        }
    }

    @Test func bothSidesAgreeOnTheSame() throws {
        for senderOffers in [true, false] {
            var publisher = Given.machine()
            var viewer = Given.machine(sends: false, receives: true)
            let ours: NegotiatedSession
            let theirs: NegotiatedSession
            if senderOffers {
                let offer = try publisher.makeOffer(transport: Given.transport())
                let (answer, session) = try viewer.answer(offer: offer, transport: Given.transport())
                (ours, theirs) = (try publisher.setRemoteAnswer(answer), session)
            } else {
                let offer = try viewer.makeOffer(transport: Given.transport())
                let (answer, session) = try publisher.answer(offer: offer, transport: Given.transport())
                (ours, theirs) = (session, try viewer.setRemoteAnswer(answer))
            }
            #expect(ours.media(.audio)?.repair.red == 112 && theirs.media(.audio)?.repair.red == 112)
            // One has no use for ULPFEC, the other none for FlexFEC.
            #expect(ours.media(.video)?.repair == RepairFormats() && theirs.media(.video)?.repair == RepairFormats())
        }
    }

    @Test("RFC 8843 §9.1.1: an added m-line's payload types are none that the bundle has already")
    func numbersThatTheBundleHasAreLeftOut() throws {
        var machine = Given.machine()
        let taken = Given.offer().replacing("100", with: "111").replacing("101", with: "112")
        _ = try machine.answer(offer: taken, transport: Given.transport())
        let offer = try SessionDescription(parsing: machine.makeOffer(transport: Given.transport()))
        #expect(offer.media.map(\.formats) == [["111", "112"], ["96", "97"]])
        #expect(offer.media[1].formatParameters[97] == "96/96")
    }

    @Test func repairUnderNumbersOfTheOtherMediaIsLeftOut() throws {
        let clash = Fixtures.chromiumRecvonly.replacing("111 63 9", with: "111 49 9")
            .replacing("rtpmap:63 ", with: "rtpmap:49 ").replacing("fmtp:63 ", with: "fmtp:49 ")
        #expect(try repair(clash, sends: true).0.flexfec == 49)
        #expect(try repair(clash, sends: true, kind: .audio).0.red == nil)
    }

    // MARK: What does not fit

    @Test(arguments: ["111", "111/110", "110/110", "111/x", "", "111/111/"])
    func redOfAnythingButOurCodecIsNotTaken(parameters: String) throws {
        let offer = Fixtures.chromiumRecvonly.replacing("a=fmtp:63 111/111", with: "a=fmtp:63 \(parameters)")
        guard parameters != "" else {
            #expect(throws: SDPError.self) { _ = try repair(offer, sends: true, kind: .audio) }
            return
        }
        #expect(try repair(offer, sends: true, kind: .audio).0.red == (parameters == "111" ? 63 : nil))
    }

    @Test func redOfSoundNeedsToSayWhatIsInIt() throws {
        let offer = Fixtures.chromiumRecvonly.replacing("a=fmtp:63 111/111\n", with: "")
        let (formats, answer) = try repair(offer, sends: true, kind: .audio)
        #expect(formats.red == nil)
        #expect(answer.contains("SAVPF 111\r\n"))
    }

    @Test func picturesAreNotTakenInREDThatCannotBeRepeated() throws {
        let lines = ["a=rtpmap:102 red/90000", "a=rtpmap:103 ulpfec/90000", "a=rtpmap:104 rtx/90000"]
        #expect(try repair(offer("102 103 104", lines[0], lines[1], lines[2], "a=fmtp:104 apt=102")).0.red == 102)
        for parameters in ["a=fmtp:104 apt=99", "a=fmtp:104 apt=102x", "a=x"] {
            #expect(
                try repair(offer("102 103 104", lines[0], lines[1], lines[2], parameters)).0 == RepairFormats(),
                "\(parameters)")
        }
        // Who repeats nothing by RTX repeats packets in RED just so.
        let plain = offer("102 103", lines[0], lines[1]).replacing("100 101 ", with: "100 ")
        #expect(try repair(plain).0.red == 102)
        // Nor where there are no parity packets in it, or where it is of another codec.
        #expect(try repair(offer("102 104", lines[0], lines[2], "a=fmtp:104 apt=102")).0.red == nil)
        #expect(
            try repair(offer("102 103 104", lines[0], lines[1], lines[2], "a=fmtp:104 apt=102", "a=fmtp:102 99")).0.red
                == nil)
    }

    @Test func aNumberWithTwoNamesIsTakenByItsFirst() throws {
        let offer = offer("102 104", "a=rtpmap:102 red/90000", "a=rtpmap:102 ulpfec/90000", "a=rtpmap:104 rtx/90000")
        #expect(try repair(offer.replacing("a=rtpmap:104", with: "a=fmtp:104 apt=102\r\na=rtpmap:104")).0.red == nil)
    }

    @Test("RFC 5761 §4: payload types 64 to 95 are not used for repair either") func repairTypesOfRTCPAreLeftOut()
        throws
    {
        let flexfec = Fixtures.chromiumRecvonly.replacing(" 49\n", with: " 70\n").replacing(":49 ", with: ":70 ")
        #expect(try repair(flexfec, sends: true).0.flexfec == nil)
    }

    @Test func anAnswerThatMeansSomethingElseByOurNumbersIsNotFollowed() throws {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        let offer = try publisher.makeOffer(transport: Given.transport())
        let answer = try viewer.answer(offer: offer, transport: Given.transport()).answer
        let twisted = answer.replacing("SAVPF 111 112", with: "SAVPF 111")
            .replacing("a=rtpmap:112 red/48000/2\r\na=fmtp:111", with: "a=fmtp:111")
            .replacing("a=fmtp:112 111/111\r\n", with: "")
            .replacing("SAVPF 96 97", with: "SAVPF 96 97 112")
            .replacing("a=rtpmap:97", with: "a=rtpmap:112 flexfec-03/90000\r\na=rtpmap:97")
        #expect(throws: SDPError.self) { _ = try publisher.setRemoteAnswer(twisted) }
        let swapped = answer.replacing("SAVPF 96 97", with: "SAVPF 96 101")
            .replacing("a=rtpmap:97 rtx", with: "a=rtpmap:101 rtx").replacing("a=fmtp:97 ", with: "a=fmtp:101 ")
        #expect(try publisher.setRemoteAnswer(swapped).media(.video)?.repair == RepairFormats())
    }

    @Test func groupsOfSourcesAreReadAndMalformedOnesRefused() throws {
        var machine = Given.machine(sends: false, receives: true)
        let lines = ["a=ssrc-group:FEC-FR 1 3", "a=ssrc:1 cname:x", "a=ssrc:3 cname:x"]
        let session = try machine.answer(
            offer: Given.offer(media: lines), transport: Given.transport()
        ).session
        // Parity packets are no source of pictures.
        #expect(session.media(.video)?.remoteSSRCs == [1])
        for line in ["a=ssrc-group:FEC-FR", "a=ssrc-group:FEC-FR x 1", "a=ssrc-group:FEC-FR 1 4294967296"] {
            #expect(throws: SDPError.self) { _ = try SessionDescription(parsing: Given.offer(media: [line])) }
        }
        let three = try SessionDescription(parsing: Given.offer(media: ["a=ssrc-group:FEC-FR 1 2 3"]))
        #expect(three.media[0].repairGroups.isEmpty)
        let many = (0...SessionDescriptionParser.maximumPerSection).map { "a=ssrc-group:FEC-FR \($0) 9" }
        #expect(throws: SDPError.self) { _ = try SessionDescription(parsing: Given.offer(media: many)) }
    }

    // MARK: RFC 8888

    @Test(
        "RFC 8888 §6: of several kinds of feedback on the path an answer keeps one",
        arguments: [
            (["a=rtcp-fb:* ack ccfb"], false, true),
            (["a=rtcp-fb:100 ack ccfb"], false, true),
            (["a=rtcp-fb:100 transport-cc", "a=rtcp-fb:* ack ccfb", transportWide], true, false),
            // Without its header extension there are no transport-wide numbers.
            (["a=rtcp-fb:100 transport-cc", "a=rtcp-fb:* ack ccfb"], false, true),
            (["a=rtcp-fb:100 transport-cc"], true, false),
            (["a=rtcp-fb:101 ack ccfb"], false, false),
        ])
    func onlyOneKindOfFeedbackIsAnswered(lines: [String], isTransportWide: Bool, isPerPacket: Bool) throws {
        var configuration = Given.machine([.video]).configuration
        configuration.tracks[0].headerExtensions.append(ExtensionMap.transportWideURI)
        var machine = OfferAnswerMachine(configuration: configuration, sessionID: 84)
        let (answer, session) = try machine.answer(offer: Given.offer(media: lines), transport: Given.transport())
        let feedback = try #require(session.media(.video)).feedback
        #expect(feedback.transportWide == isTransportWide && feedback.perPacket == isPerPacket)
        #expect(answer.contains("a=rtcp-fb:* ack ccfb\r\n") == isPerPacket)
        #expect(answer.contains("transport-cc\r\n") == isTransportWide)
    }
}
