/// Which streams of one source two descriptions agree on (RFC 8853 §5.3, RFC 8851 §6).
extension OfferAnswerMachine {
    typealias NamedStream = (rid: RIDLine, isPaused: Bool)

    // MARK: Sending

    /// Names our encodings in an offer: all of them, or those that are agreed on already.
    static func offerSimulcast(
        of track: MediaConfiguration.Track, agreed: [NegotiatedSession.SendLayer]?, in section: inout MediaSection
    ) {
        let names = agreed?.map(\.rid) ?? track.encodings.map(\.rid)
        section.setSimulcast(
            .send, track.sends ? names.map { (rid: RIDLine(id: $0, direction: .send), isPaused: false) } : [])
    }

    /// What an answer takes of the streams that we offered; empty where it takes one without a name.
    static func layers(
        of track: MediaConfiguration.Track, agreed: [NegotiatedSession.SendLayer]?, answer: MediaSection,
        payloadType: UInt8
    ) -> [NegotiatedSession.SendLayer] {
        wanted(answer, payloadType).compactMap { stream in
            encoding(of: stream, track, agreed).flatMap { layer(of: track, $0, stream) }
        }
    }

    /// What we send to an offer that takes simulcast. Names that are known mean their encodings; the others get those
    /// that are left, in their order, and as many as there are.
    static func layers(
        of track: MediaConfiguration.Track, agreed: [NegotiatedSession.SendLayer]?, offer: MediaSection,
        payloadType: UInt8
    ) -> [NegotiatedSession.SendLayer] {
        let streams = wanted(offer, payloadType)
        let known = streams.map { encoding(of: $0, track, agreed) }
        var left = track.encodings.indices.filter { !known.contains($0) }[...]
        return zip(streams, known).compactMap { stream, known in
            (known ?? left.popFirst()).flatMap { layer(of: track, $0, stream) }
        }
    }

    /// The encoding that a name stands for: the one that was agreed on under it, which stays so for as long as the session
    /// lasts, or the one that has it itself.
    private static func encoding(
        of stream: NamedStream, _ track: MediaConfiguration.Track, _ agreed: [NegotiatedSession.SendLayer]?
    ) -> Int? {
        agreed?.first { $0.rid == stream.rid.id }?.encoding
            ?? track.encodings.firstIndex { $0.rid == stream.rid.id }
    }

    /// The streams that the peer wants, each in the first way in which we can send it.
    private static func wanted(_ remote: MediaSection, _ payloadType: UInt8) -> [NamedStream] {
        remote.simulcast(.receive).compactMap { alternatives in
            alternatives.first { $0.rid.allows(payloadType) && $0.rid.canBeKept && $0.rid.id.utf8.count <= longestRID }
        }
    }

    private static func layer(
        of track: MediaConfiguration.Track, _ index: Int, _ stream: NamedStream
    ) -> NegotiatedSession.SendLayer? {
        guard track.encodings.indices.contains(index) else { return nil }
        let encoding = track.encodings[index]
        return NegotiatedSession.SendLayer(
            encoding: index, rid: stream.rid.id, ssrc: encoding.ssrc,
            retransmissionSSRC: encoding.retransmissionSSRC, isPaused: stream.isPaused,
            maximumBitrate: stream.rid.maximumBitrate)
    }

    /// What the one-byte form of header extensions has room for (RFC 8285 §4.2).
    private static var longestRID: Int { 16 }

    // MARK: Receiving

    /// The stream that we take of an offered simulcast: the first, which the peer prefers, that can have our codec.
    static func takenStream(of offer: MediaSection, payloadType: UInt8) -> RIDLine? {
        offer.simulcast(.send).lazy.compactMap { alternatives in
            alternatives.first { $0.rid.allows(payloadType) && !$0.isPaused }?.rid
        }.first
    }

    // MARK: Answering

    /// Says in our answer which of the offered streams we take and send, with no more formats than the answer has.
    static func answerSimulcast(
        _ media: NegotiatedSession.Media, to offer: MediaSection, in section: inout MediaSection
    ) {
        func answered(_ id: String, _ isPaused: Bool) -> NamedStream? {
            guard var rid = offer.rids.first(where: { $0.id == id }) else { return nil }
            rid.direction = rid.direction.reversed
            rid.formats = rid.formats.filter(section.formats.contains)
            return (rid, isPaused)
        }
        if media.direction.sends {
            section.setSimulcast(.send, media.sendLayers.compactMap { answered($0.rid, $0.isPaused) })
        }
        if media.direction.receives, let rid = media.receiveRID {
            section.setSimulcast(.receive, [answered(rid, false)].compactMap { $0 })
        }
    }
}
