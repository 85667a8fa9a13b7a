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
        of track: MediaConfiguration.Track, offered: MediaSection, answer: MediaSection, payloadType: UInt8
    ) -> [NegotiatedSession.SendLayer] {
        let names = offered.simulcast(.send).flatMap { $0.map(\.rid.id) }
        return wanted(answer, payloadType).compactMap { stream in
            guard let position = names.firstIndex(of: stream.rid.id) else { return nil }
            // What was offered under the encoding's own name; under the peer's where it was the peer that named them.
            let encoding = track.encodings.firstIndex { $0.rid == stream.rid.id } ?? position
            return layer(of: track, encoding, stream)
        }
    }

    /// What we send to an offer that takes simulcast. Names that we know mean our encodings; any others get the
    /// encodings in their order, and as many as there are.
    static func layers(
        of track: MediaConfiguration.Track, offer: MediaSection, payloadType: UInt8
    ) -> [NegotiatedSession.SendLayer] {
        let streams = wanted(offer, payloadType)
        func known(_ stream: NamedStream) -> Int? { track.encodings.firstIndex { $0.rid == stream.rid.id } }
        guard streams.contains(where: { known($0) != nil }) else {
            return zip(track.encodings.indices, streams).compactMap { layer(of: track, $0, $1) }
        }
        return streams.compactMap { stream in known(stream).flatMap { layer(of: track, $0, stream) } }
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
