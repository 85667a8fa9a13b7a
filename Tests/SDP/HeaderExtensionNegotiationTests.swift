import Testing

@testable import EmisoraSDP

/// RFC 8285 §5–6, RFC 8843 §7.1.3, RFC 9143: ids of header extensions in offer and answer.
@Suite struct HeaderExtensionNegotiationTests {
    private static let audio = [ExtensionMap.midURI, "urn:time", "urn:level"]
    private static let video = [ExtensionMap.midURI, "urn:time"]

    private func machine(sends: Bool) -> OfferAnswerMachine {
        let tracks: [MediaConfiguration.Track] = [
            .init(kind: .audio, sends: sends, receives: !sends, ssrc: 1, headerExtensions: Self.audio),
            .init(kind: .video, sends: sends, receives: !sends, ssrc: 2, headerExtensions: Self.video),
        ]
        return OfferAnswerMachine(
            configuration: MediaConfiguration(tracks: tracks, cname: "c", streamID: "s"), sessionID: 2)
    }

    @Test func aURIHasOneIDInTheWholeBundle() throws {
        var machine = machine(sends: true)
        let offer = try SessionDescription(parsing: machine.makeOffer(transport: Given.transport()))
        #expect(offer.media[0].extensions.map(\.id) == [1, 2, 3])
        #expect(offer.media[1].extensions.map(\.id) == [1, 2])
        #expect(offer.media[1].extensions.map(\.uri) == Self.video)
        #expect(offer.allowsMixedExtensions)
    }

    @Test func theAnswerReusesTheOfferedIDsAndBothSidesKnowThem() throws {
        var publisher = machine(sends: true)
        var viewer = machine(sends: false)
        let offer = try publisher.makeOffer(transport: Given.transport())
            .replacing("a=extmap:2 ", with: "a=extmap:200 ")
        let (answer, theirs) = try viewer.answer(offer: offer, transport: Given.transport("viewer"))
        #expect(answer.contains("a=extmap:200 urn:time"))
        #expect(theirs.media(.video)?.receiveExtensions.map(\.id) == [1, 200])
        // Our own offer had another id: what the answer says of it is of no use to us.
        let ours = try publisher.setRemoteAnswer(answer)
        #expect(ours.media(.video)?.sendExtensions.map(\.id) == [1])
        #expect(ours.media(.audio)?.sendExtensions.map(\.uri) == [ExtensionMap.midURI, "urn:level"])
    }

    @Test func aReofferKeepsTheIDsOfTheOtherSide() throws {
        var publisher = machine(sends: true)
        var viewer = machine(sends: false)
        let offer = try publisher.makeOffer(transport: Given.transport())
            .replacing("a=extmap:2 ", with: "a=extmap:9 ").replacing("a=extmap:1 ", with: "a=extmap:5 ")
        _ = try viewer.answer(offer: offer, transport: Given.transport("viewer"))
        let again = try SessionDescription(parsing: viewer.makeOffer(transport: Given.transport("viewer")))
        #expect(again.media[0].extensions.map(\.id) == [5, 9, 3])
        #expect(again.media[1].extensions.map(\.id) == [5, 9])
    }

    @Test func directionsDecideWhoWrites() throws {
        for (direction, sends, receives) in [
            ("sendonly", false, true), ("recvonly", true, false), ("sendrecv", true, true),
        ] {
            var ours = machine(sends: true)
            let offer = Given.offer(media: ["a=extmap:4/\(direction) urn:time"])
            let video = try ours.answer(offer: offer, transport: Given.transport()).session.media(.video)
            #expect(video?.sendExtensions.map(\.id) == (sends ? [4] : []))
            #expect(video?.receiveExtensions.map(\.id) == (receives ? [4] : []))
        }
    }

    @Test func feedbackIsWhatBothSidesName() throws {
        var ours = machine(sends: true)
        let (answer, session) = try ours.answer(
            offer: Given.offer(media: ["a=rtcp-fb:* transport-cc", "a=rtcp-fb:100 ccm tmmbr", "a=rtcp-fb:100 x-own"]),
            transport: Given.transport())
        let feedback = try #require(session.media(.video)?.feedback)
        #expect(feedback.transportWide && feedback.temporaryMaximum && !feedback.receiverEstimate)
        #expect(answer.contains("a=rtcp-fb:100 transport-cc") && !answer.contains("x-own"))
        #expect(!answer.contains("goog-remb"))
    }
}
