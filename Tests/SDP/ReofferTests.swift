import EmisoraSDP
import Testing

/// Subsequent offers and answers (RFC 9429 §5.2.2, §5.3.2): media that come, go, rest and come back.
@Suite struct ReofferTests {
    private static let audio = MediaConfiguration.Track(kind: .audio, sends: true, receives: false, ssrc: 11)
    private static let video = MediaConfiguration.Track(
        kind: .video, sends: true, receives: false, ssrc: 21, retransmissionSSRC: 22)

    private static func resting(_ track: MediaConfiguration.Track) -> MediaConfiguration.Track {
        var track = track
        track.sends = false
        return track
    }

    /// One round of offer and answer between the two; what both sides make of it.
    @discardableResult
    private static func exchange(
        _ offerer: inout OfferAnswerMachine, _ answerer: inout OfferAnswerMachine
    ) throws -> (
        offer: SessionDescription, answer: SessionDescription, offerers: NegotiatedSession, answerers: NegotiatedSession
    ) {
        let offer = try offerer.makeOffer(transport: Given.transport("offerer"))
        let (answer, theirs) = try answerer.answer(offer: offer, transport: Given.transport("answerer"))
        let ours = try offerer.setRemoteAnswer(answer)
        return (try SessionDescription(parsing: offer), try SessionDescription(parsing: answer), ours, theirs)
    }

    @Test("RFC 9429 §5.2.2: media that are added later come behind, in the same bundle and transport")
    func addsVideoLater() throws {
        var publisher = Given.machine([.audio])
        var viewer = Given.machine(sends: false, receives: true)
        let first = try Self.exchange(&publisher, &viewer)
        #expect(first.answerers.media.map(\.kind) == [.audio])
        publisher.setTracks([Self.audio, Self.video])
        let second = try Self.exchange(&publisher, &viewer)
        #expect(second.offer.media.map(\.kind) == ["audio", "video"])
        #expect(second.offer.media.map(\.mid) == ["0", "1"] && second.answer.bundle == ["0", "1"])
        #expect(second.offer.media.map(\.iceUfrag) == ["offerer", "offerer"])
        #expect(second.answerers.media.map(\.direction) == [.recvonly, .recvonly])
        #expect(second.answerers.media(.video)?.remoteSSRCs == [21, 22])
        #expect(second.offerers.dtlsRole == first.offerers.dtlsRole)
        #expect(second.offerers.media(.audio)?.ssrc == first.offerers.media(.audio)?.ssrc)
    }

    @Test("RFC 9429 §5.2.2: media that are taken away have port 0 in their place, outside the bundle")
    func takesVideoAway() throws {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        try Self.exchange(&publisher, &viewer)
        publisher.setTracks([Self.audio])
        let second = try Self.exchange(&publisher, &viewer)
        #expect(second.offer.media.map(\.port) == [9, 0] && second.answer.media.map(\.port) == [9, 0])
        #expect(second.offer.bundle == ["0"] && second.answer.bundle == ["0"])
        #expect(second.answerers.media.map(\.kind) == [.audio] && second.offerers.media.map(\.kind) == [.audio])
        // Neither side brings it back by itself.
        let third = try Self.exchange(&viewer, &publisher)
        #expect(third.offer.media.map(\.port) == [9, 0] && third.offer.media.count == 2)
    }

    @Test("RFC 9429 §5.2.2: a closed m-line's place is used again, under a mid that the session never had")
    func recyclesAClosedSection() throws {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        try Self.exchange(&publisher, &viewer)
        publisher.setTracks([Self.video])
        let closed = try Self.exchange(&publisher, &viewer)
        #expect(closed.offer.media.map(\.port) == [0, 9] && closed.offer.bundle == ["1"])
        publisher.setTracks([Self.video, Self.audio])
        let again = try Self.exchange(&publisher, &viewer)
        #expect(again.offer.media.map(\.kind) == ["audio", "video"] && again.offer.media.map(\.mid) == ["2", "1"])
        // The transport stays with what is in use.
        #expect(again.offer.bundle == ["1", "2"] && again.offer.media.map { $0.candidates.count } == [0, 1])
        #expect(again.answerers.media.map(\.mid) == ["2", "1"])
        #expect(again.answerers.media.map(\.direction) == [.recvonly, .recvonly])
    }

    @Test("RFC 9429 §5.3.2: a place that the offerer closed may come back as another kind")
    func followsAPeerThatRecycles() throws {
        var viewer = Given.machine(sends: false, receives: true)
        let offer = Given.offer().replacing("a=recvonly", with: "a=sendonly")
        _ = try viewer.answer(offer: offer, transport: Given.transport())
        let closed = offer.replacing("m=video 9", with: "m=video 0").replacing("BUNDLE v", with: "BUNDLE")
        let (text, session) = try viewer.answer(offer: closed, transport: Given.transport())
        #expect(session.media.isEmpty && text.contains("m=video 0 "))
        #expect(session.remoteUfrag == "theirs")
        let other = offer.replacing("m=video", with: "m=audio").replacing("vP8/90000", with: "opus/48000/2")
            .replacing("a=rtpmap:101 RTX/90000\r\na=fmtp:101 apt=100\r\n", with: "").replacing(" 100 101", with: " 100")
            .replacing("a=mid:v", with: "a=mid:a").replacing("BUNDLE v", with: "BUNDLE a")
        let back = try viewer.answer(offer: other, transport: Given.transport())
        #expect(back.session.media.map(\.kind) == [.audio] && back.session.media.map(\.mid) == ["a"])
    }

    @Test("RFC 9429 §5.10: a media section in use keeps its kind and its mid", arguments: ["kind", "mid"])
    func refusesAChangeOfWhatIsInUse(change: String) throws {
        var machine = Given.machine()
        _ = try machine.answer(offer: Given.offer(), transport: Given.transport())
        let before = machine.negotiated
        let offer =
            change == "kind"
            ? Given.offer().replacing("m=video", with: "m=audio")
            : Given.offer().replacing("a=mid:v", with: "a=mid:w").replacing("BUNDLE v", with: "BUNDLE w")
        let error = #expect(throws: SDPError.self) {
            _ = try machine.answer(offer: offer, transport: Given.transport())
        }
        guard case .invalid = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(machine.negotiated == before)
    }

    @Test(
        "RFC 3264 §8.4: who is put on hold stops sending, and goes on when it is taken off",
        arguments: [("recvonly", "inactive"), ("recvonly", "sendonly")])
    func aViewerHolds(flowing: String, held: String) throws {
        var publisher = Given.machine([.video])
        let offer = Given.offer()
        let first = try publisher.answer(offer: offer, transport: Given.transport())
        #expect(first.session.media(.video)?.direction == .sendonly)
        let rest = try publisher.answer(
            offer: offer.replacing("a=\(flowing)", with: "a=\(held)"), transport: Given.transport())
        #expect(rest.session.media(.video)?.direction == .inactive && rest.answer.contains("a=inactive\r\n"))
        #expect(rest.answer.contains("m=video 9 "))
        // What receives a source goes where it is no longer named.
        func sources(_ text: String) -> [Substring] { text.split(separator: "\r\n").filter { $0.hasPrefix("a=ssrc") } }
        #expect(!sources(first.answer).isEmpty && sources(rest.answer) == sources(first.answer))
        let back = try publisher.answer(offer: offer, transport: Given.transport())
        #expect(back.session.media(.video)?.direction == .sendonly)
        #expect(back.session.media(.video)?.ssrc == first.session.media(.video)?.ssrc)
        #expect(back.session.dtlsRole == first.session.dtlsRole)
    }

    @Test func aPublisherRestsAndGoesOn() throws {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        let first = try Self.exchange(&publisher, &viewer)
        publisher.setTracks([Self.audio, Self.resting(Self.video)])
        let rest = try Self.exchange(&publisher, &viewer)
        #expect(rest.offer.media.map(\.direction) == [.sendonly, .inactive])
        #expect(rest.offer.media.map(\.ssrcs.count) == [1, 0])
        #expect(rest.answerers.media.map(\.direction) == [.recvonly, .inactive])
        publisher.setTracks([Self.audio, Self.video])
        let back = try Self.exchange(&publisher, &viewer)
        #expect(back.offer.media.map(\.mid) == first.offer.media.map(\.mid))
        #expect(back.answerers.media == first.answerers.media)
    }

    @Test("RFC 9429 §5.3.2: all media may go while the connection stays, and come back")
    func everythingGoesAndComesBack() throws {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        try Self.exchange(&publisher, &viewer)
        publisher.setTracks([])
        let none = try Self.exchange(&publisher, &viewer)
        #expect(none.offer.media.map(\.port) == [0, 0] && none.offer.bundle.isEmpty)
        #expect(none.offerers.media.isEmpty && none.answerers.media.isEmpty)
        #expect(none.answerers.remoteUfrag == "offerer" && none.offerers.remoteUfrag == "answerer")
        publisher.setTracks([Self.audio, Self.video])
        let back = try Self.exchange(&publisher, &viewer)
        #expect(back.offer.media.map(\.mid) == ["2", "3"] && back.answerers.media.count == 2)
    }

    // MARK: Glare

    @Test("RFC 9429 §4.1.10.2: of two offers at once one is taken back, by either side")
    func glareIsResolved() throws {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        try Self.exchange(&publisher, &viewer)
        let ours = try publisher.makeOffer(transport: Given.transport("publisher"))
        let theirs = try viewer.makeOffer(transport: Given.transport("viewer"))
        // The publisher passes theirs over, for ours stands; the viewer takes its own back and answers.
        #expect(throws: SDPError.self) { _ = try publisher.answer(offer: theirs, transport: Given.transport()) }
        #expect(publisher.signalingState == .haveLocalOffer)
        viewer.rollback()
        let answer = try viewer.answer(offer: ours, transport: Given.transport("viewer")).answer
        #expect(try publisher.setRemoteAnswer(answer).media.count == 2)
        #expect(publisher.signalingState == .stable && viewer.signalingState == .stable)
        // An answer to the offer that was taken back comes too late.
        let late = #expect(throws: SDPError.self) { _ = try viewer.setRemoteAnswer(answer) }
        guard case .wrongState = late else {
            Issue.record("\(String(describing: late))")
            return
        }
        try Self.exchange(&viewer, &publisher)
    }

    @Test func whatARolledBackOfferWouldHaveAddedIsNotThere() throws {
        var publisher = Given.machine([.audio])
        var viewer = Given.machine(sends: false, receives: true)
        try Self.exchange(&publisher, &viewer)
        publisher.setTracks([Self.audio, Self.video])
        _ = try publisher.makeOffer(transport: Given.transport())
        publisher.rollback()
        let theirs = try Self.exchange(&viewer, &publisher)
        // The viewer's own offer asks for pictures, for it takes them.
        #expect(theirs.offer.media.map(\.kind) == ["audio", "video"])
        #expect(theirs.answerers.media.map(\.direction) == [.sendonly, .sendonly])
    }
}
