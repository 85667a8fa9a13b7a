/// Finding what two descriptions have in common.
extension OfferAnswerMachine {
    struct Codec {
        var payloadType: UInt8
        var retransmissionPayloadType: UInt8?
        var parameters: String
    }

    /// Our codec of that kind in the peer's section, under the peer's payload type. RFC 9429 §5.8: names compare
    /// without case; what was first in the m-line comes first.
    static func codec(in section: MediaSection, kind: MediaConfiguration.Kind) -> Codec? {
        let name = kind == .video ? "vp8" : "opus"
        let clockRate: UInt32 = kind == .video ? 90_000 : 48_000
        for format in section.formats {
            // RFC 5761 §4: 64–95 would collide with RTCP.
            guard let type = UInt8(format), type < 128, !(64...95).contains(type),
                let map = section.rtpMaps.first(where: { $0.payloadType == type }), map.name.lowercased() == name,
                map.clockRate == clockRate
            else { continue }
            let repair = section.rtpMaps.first { repair in
                repair.name.lowercased() == "rtx" && repair.clockRate == clockRate
                    && !(64...95).contains(repair.payloadType)
                    && section.formats.contains("\(repair.payloadType)")
                    && associatedType(section.formatParameters[repair.payloadType]) == type
            }
            return Codec(
                payloadType: type, retransmissionPayloadType: repair?.payloadType,
                parameters: section.formatParameters[type] ?? "")
        }
        return nil
    }

    /// `apt` of an rtx format (RFC 4588 §8.1).
    private static func associatedType(_ parameters: String?) -> UInt8? {
        for parameter in (parameters ?? "").split(separator: ";") {
            let trimmed = parameter.drop { $0 == " " }
            if trimmed.lowercased().hasPrefix("apt=") { return UInt8(trimmed.dropFirst(4).filter { $0 != " " }) }
        }
        return nil
    }

    static func isKnownProtocol(_ name: String) -> Bool {
        // RFC 9429 §5.1.2: these are all taken to mean the same.
        ["UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "RTP/SAVPF", "RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "TCP/TLS/RTP/SAVPF"]
            .contains(name)
    }

    static func bundleRank(_ section: MediaSection, _ description: SessionDescription) -> Int {
        section.mid.flatMap { description.bundle.firstIndex(of: $0) } ?? Int.max
    }

    static func media(
        _ track: MediaConfiguration.Track, remote: MediaSection, codec: Codec, localExtensions: [ExtensionMap],
        isOfferer: Bool
    ) -> NegotiatedSession.Media {
        let wanted = remote.direction.reversed
        let feedback = remote.feedback.filter { $0.payloadType == nil || $0.payloadType == codec.payloadType }
        func has(_ value: String) -> Bool { feedback.contains { $0.value == value } }
        let groups = remote.retransmissionGroups.first
        let mid = remote.extensions.first { $0.uri == ExtensionMap.midURI }?.id
        return NegotiatedSession.Media(
            kind: track.kind, mid: remote.mid,
            direction: MediaDirection(sends: wanted.sends && track.sends, receives: wanted.receives && track.receives),
            payloadType: codec.payloadType, retransmissionPayloadType: codec.retransmissionPayloadType,
            ssrc: track.ssrc, retransmissionSSRC: track.retransmissionSSRC,
            remoteSSRCs: groups.map { [$0.media, $0.retransmission] } ?? remote.ssrcs.map(\.ssrc),
            midExtensionID: localExtensions.contains { $0.id == mid && $0.uri == ExtensionMap.midURI } ? mid : nil,
            feedback: NegotiatedSession.Feedback(
                nack: has("nack"), pictureLossIndication: has("nack pli"), fullIntraRequest: has("ccm fir")),
            opus: OpusParameters(parsing: codec.parameters), isRTCPReducedSize: remote.isRTCPReducedSize)
    }

    static func session(
        media: [NegotiatedSession.Media], transport: MediaSection, remote: SessionDescription,
        role: NegotiatedSession.DTLSRole
    ) throws(SDPError) -> NegotiatedSession {
        guard let ufrag = transport.iceUfrag, let password = transport.icePassword else {
            throw .invalid(reason: "it lacks a=ice-ufrag or a=ice-pwd")
        }
        guard !transport.fingerprints.isEmpty else {
            throw .invalid(reason: "it lacks a=fingerprint; unencrypted media is not supported")
        }
        // Candidates of other bundled sections with the same credentials are of the same transport.
        var candidates: [ICECandidateLine] = []
        for section in remote.media where section.iceUfrag == ufrag {
            for candidate in section.candidates where candidates.count < SessionDescriptionParser.maximumPerSection {
                candidates.append(candidate)
            }
        }
        return NegotiatedSession(
            media: media, remoteUfrag: ufrag, remotePassword: password, remoteFingerprints: transport.fingerprints,
            remoteCandidates: candidates, remoteCandidatesEnded: transport.isEndOfCandidates,
            isRemoteICELite: remote.isICELite, dtlsRole: role)
    }
}
