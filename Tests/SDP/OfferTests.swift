import EmisoraSDP
import Testing

@Suite struct OfferTests {
    @Test func offersEverythingBundled() throws {
        var machine = Given.machine()
        let text = try machine.makeOffer(transport: Given.transport())
        let offer = try SessionDescription(parsing: text)
        #expect(offer.bundle == ["0", "1"])
        #expect(offer.iceOptions == ["trickle"])
        #expect(offer.media.map(\.direction) == [.sendonly, .sendonly])
        #expect(offer.media.allSatisfy { $0.isRTCPMultiplexed && $0.isRTCPReducedSize && $0.setup == .actpass })
        #expect(offer.media.allSatisfy { $0.extensions == [ExtensionMap(id: 1, uri: ExtensionMap.midURI)] })
        #expect(offer.media[1].retransmissionGroups == [RetransmissionGroup(media: 21, retransmission: 22)])
        #expect(offer.media[0].ssrcs == [SSRCLine(ssrc: 11, cname: "cname")])
        #expect(
            offer.media[1].feedback.filter { $0.payloadType == 96 }.map(\.value)
                == ["goog-remb", "transport-cc", "ccm fir", "ccm tmmbr", "nack", "nack pli"])
        #expect(offer.media[0].feedback.filter { $0.payloadType == 111 }.map(\.value) == ["transport-cc"])
        #expect(machine.signalingState == .haveLocalOffer)
    }

    @Test func agreesWithItselfFromBothSides() throws {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        let offer = try publisher.makeOffer(transport: Given.transport("publisher"))
        let (answer, theirs) = try viewer.answer(offer: offer, transport: Given.transport("viewer"))
        let ours = try publisher.setRemoteAnswer(answer)
        #expect(ours.dtlsRole == .server && theirs.dtlsRole == .client)
        #expect(ours.remoteUfrag == "viewer" && theirs.remoteUfrag == "publisher")
        #expect(ours.media.map(\.direction) == [.sendonly, .sendonly])
        #expect(theirs.media.map(\.direction) == [.recvonly, .recvonly])
        #expect(ours.media.map(\.payloadType) == theirs.media.map(\.payloadType))
        #expect(theirs.media.map(\.remoteSSRCs) == [[11], [21, 22]])
        #expect(ours.media.map(\.midExtensionID) == [1, 1])
        #expect(theirs.media(.video)?.remoteStreamID == "stream")

        // And now the other one offers: the same m-lines, the same roles, the next version.
        let second = try viewer.makeOffer(transport: Given.transport("viewer"))
        #expect(try SessionDescription(parsing: second).media.map(\.mid) == ["0", "1"])
        #expect(second.contains("o=- 42 2 IN"))
        let (reply, again) = try publisher.answer(offer: second, transport: Given.transport("publisher"))
        #expect(again.dtlsRole == .server)
        #expect(try viewer.setRemoteAnswer(reply).dtlsRole == .client)
        #expect(publisher.signalingState == .stable && viewer.signalingState == .stable)
    }

    private func exchange(_ change: (String) -> String) throws -> (OfferAnswerMachine, String) {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        let offer = try publisher.makeOffer(transport: Given.transport())
        return (publisher, change(try viewer.answer(offer: offer, transport: Given.transport("viewer")).answer))
    }

    @Test func refusesAnAnswerWithTwoTransports() throws {
        var (machine, answer) = try exchange { $0.replacing("a=group:BUNDLE 0 1", with: "a=group:BUNDLE 0") }
        let second = try #require(answer.ranges(of: "a=ice-ufrag:").last)
        answer.insert(contentsOf: "other", at: second.upperBound)
        let error = #expect(throws: SDPError.self) { _ = try machine.setRemoteAnswer(answer) }
        guard case .invalid = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "RFC 9429 §5.8: an answer that does not fit changes nothing",
        arguments: [
            ("m=audio", "m=video"), ("a=mid:0", "a=mid:7"), ("a=rtcp-mux\r\n", ""), ("SAVPF 96 97", "SAVPF 96 97 98"),
            ("a=setup:active", "a=setup:actpass"), ("a=fingerprint", "a=x"), ("a=ice-pwd", "a=x"), ("VP8", "VP9"),
        ])
    func refusesAnAnswerThatDoesNotFitAndStaysAsItWas(from: String, to: String) throws {
        var (machine, answer) = try exchange { $0.replacing(from, with: to) }
        let error = #expect(throws: SDPError.self) { _ = try machine.setRemoteAnswer(answer) }
        guard case .invalid = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(machine.signalingState == .haveLocalOffer)
        #expect(machine.negotiated == nil)
        // The right one still fits.
        #expect(try machine.setRemoteAnswer(try exchange { $0 }.1).media.count == 2)
    }

    @Test func refusesAnAnswerWithFewerSections() throws {
        var (machine, answer) = try exchange { String($0.prefix { $0 != "=" }) + "=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n" }
        #expect(throws: SDPError.invalid(reason: "the answer has 0 media sections, the offer 2")) {
            _ = try machine.setRemoteAnswer(answer)
        }
        answer = ""
    }

    @Test("RFC 9429 §5.2.2: a refused m-line stays closed in its place, and the version counts up")
    func keepsARefusedSectionClosedInItsPlace() throws {
        var publisher = Given.machine()
        var viewer = Given.machine([.video], sends: false, receives: true)
        let offer = try publisher.makeOffer(transport: Given.transport())
        let answer = try viewer.answer(offer: offer, transport: Given.transport("viewer")).answer
        #expect(try publisher.setRemoteAnswer(answer).media.map(\.mid) == ["1"])
        let second = try SessionDescription(parsing: publisher.makeOffer(transport: Given.transport()))
        #expect(second.media.map(\.port) == [0, 9])
        #expect(second.bundle == ["1"])
        #expect(second.media.map { $0.candidates.count } == [0, 1])
        #expect(second.sessionVersion == 2)
    }

    @Test func readsAnAnswerWithoutMids() throws {
        var (machine, answer) = try exchange { text in
            text.replacing("a=mid:0\r\n", with: "").replacing("a=mid:1\r\n", with: "")
                .replacing("m=video 9", with: "m=video 0")
        }
        let session = try machine.setRemoteAnswer(answer)
        #expect(session.media.map(\.mid) == ["0"])
        answer = ""
    }

    @Test func saysWhenTheAnswerTakesNothing() throws {
        var (machine, answer) = try exchange {
            $0.replacing("m=audio 9", with: "m=audio 0").replacing("m=video 9", with: "m=video 0")
        }
        #expect(throws: SDPError.noCommonCodec) { _ = try machine.setRemoteAnswer(answer) }
        answer = ""
    }

    @Test func takesAnOfferBack() throws {
        var machine = Given.machine([.video])
        _ = try machine.makeOffer(transport: Given.transport())
        let glare = #expect(throws: SDPError.self) {
            _ = try machine.answer(offer: Given.offer(), transport: Given.transport())
        }
        guard case .wrongState = glare else {
            Issue.record("\(String(describing: glare))")
            return
        }
        machine.rollback()
        #expect(machine.signalingState == .stable)
        let (_, session) = try machine.answer(offer: Given.offer(), transport: Given.transport())
        #expect(session.media.map(\.mid) == ["v"])
        // After a rollback the next offer starts from what was agreed, not from what was taken back.
        _ = try machine.makeOffer(transport: Given.transport())
        machine.rollback()
        let offer = try SessionDescription(parsing: machine.makeOffer(transport: Given.transport()))
        #expect(offer.media.map(\.mid) == ["v"])
        #expect(offer.media.map(\.formats) == [["100", "101"]])
        #expect(machine.negotiated == session)
    }

    @Test func addsAKindBehindWhatTheSessionHas() throws {
        var machine = Given.machine()
        _ = try machine.answer(offer: Given.offer(), transport: Given.transport())
        let offer = try SessionDescription(parsing: machine.makeOffer(transport: Given.transport()))
        #expect(offer.media.map(\.kind) == ["video", "audio"])
        #expect(offer.media.map(\.mid) == ["v", "0"])
        #expect(offer.bundle == ["v", "0"])
    }

    @Test func wantsAnOpenOfferForAnAnswer() {
        var machine = Given.machine()
        #expect(throws: SDPError.wrongState(reason: "An answer arrived, but no offer of ours is open.")) {
            _ = try machine.setRemoteAnswer(Given.offer())
        }
    }
}
