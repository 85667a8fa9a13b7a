import EmisoraSDP

/// SplitMix64: the same numbers on every run.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

enum Given {
    static let fingerprint = FingerprintLine(
        algorithm: "sha-256", value: Array(repeating: "AB", count: 32).joined(separator: ":"))

    static func transport(_ ufrag: String = "ours") -> TransportParameters {
        TransportParameters(
            iceUfrag: ufrag, icePassword: "0123456789abcdef01234567", fingerprint: fingerprint,
            candidates: [
                ICECandidateLine(
                    foundation: "1", priority: 2_130_706_431, address: "192.0.2.1", port: 5000, type: "host")
            ])
    }

    static func machine(
        _ kinds: [MediaConfiguration.Kind] = [.audio, .video], sends: Bool = true, receives: Bool = false,
        role: NegotiatedSession.DTLSRole = .client
    ) -> OfferAnswerMachine {
        let tracks = kinds.map { kind in
            MediaConfiguration.Track(
                kind: kind, sends: sends, receives: receives, ssrc: kind == .audio ? 11 : 21,
                retransmissionSSRC: kind == .video ? 22 : nil, repairSSRC: kind == .video && sends ? 23 : nil)
        }
        return OfferAnswerMachine(
            configuration: MediaConfiguration(tracks: tracks, cname: "cname", streamID: "stream"), sessionID: 84,
            preferredRole: role)
    }

    /// A small offer with one m-line, which a test can damage.
    static func offer(
        protocolName: String = "UDP/TLS/RTP/SAVPF", port: Int = 9, session: [String] = ["a=group:BUNDLE v"],
        media: [String] = []
    ) -> String {
        let lines =
            ["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0"] + session + [
                "m=video \(port) \(protocolName) 100 101", "c=IN IP4 0.0.0.0", "a=mid:v", "a=recvonly", "a=rtcp-mux",
                "a=ice-ufrag:theirs", "a=ice-pwd:0123456789abcdef012345", "a=setup:actpass",
                "a=fingerprint:\(fingerprint.algorithm) \(fingerprint.value)", "a=rtpmap:100 vP8/90000",
                "a=rtpmap:101 RTX/90000", "a=fmtp:101 apt=100",
            ] + media
        return lines.joined(separator: "\r\n") + "\r\n"
    }
}
