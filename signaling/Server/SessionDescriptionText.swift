import EmisoraSignalingProtocol

/// The little of SDP that a relay has to see: whether it is an offer at all, and the candidates of a fragment.
///
/// What is in an offer is for the publisher to judge; the server passes it on as it came.
enum SessionDescriptionText {
    private static let candidateLimit = 256

    /// Whether `text` can be an offer to receive: a session description (RFC 8866) with audio or video, not one that
    /// answers (`a=setup:active` and `passive` alone, RFC 5763 §5) or only sends.
    static func isOffer(_ text: String) -> Bool {
        let lines = lines(of: text)
        guard lines.first == "v=0", lines.contains(where: { $0.hasPrefix("o=") }),
            lines.contains(where: { $0.hasPrefix("m=audio ") || $0.hasPrefix("m=video ") }),
            lines.allSatisfy({ $0.utf8.dropFirst().first == UInt8(ascii: "=") })
        else { return false }
        let setups = lines.filter { $0.hasPrefix("a=setup:") }
        guard setups.isEmpty || setups.contains("a=setup:actpass") else { return false }
        let media = lines.count { $0.hasPrefix("m=") }
        return lines.count { $0 == "a=sendonly" || $0 == "a=inactive" } < media
    }

    /// The value of the first `a=NAME:` line.
    static func value(of name: String, in text: String) -> String? {
        let prefix = "a=\(name):"
        return lines(of: text).first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    /// Whether candidates will follow this description one by one (RFC 8840 §4.1.3).
    static func tricklesOn(_ text: String) -> Bool {
        let lines = lines(of: text)
        return lines.contains { $0.hasPrefix("a=ice-options:") && $0.contains("trickle") }
            && !lines.contains("a=end-of-candidates")
    }

    /// The description with candidates that came afterwards, each in its section, and their end. What is no line by
    /// itself is left out.
    static func adding(_ candidates: [TrickledCandidate], to text: String) -> String {
        let usable = candidates.filter { one in
            one.candidate.hasPrefix("candidate:") && one.candidate.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        }
        var sections: [[String]] = [[]]
        for line in lines(of: text) {
            if line.hasPrefix("m=") { sections.append([]) }
            sections[sections.count - 1].append(String(line))
        }
        guard sections.count > 1 else { return text }
        for one in usable {
            let index = 1 + max(0, min(one.sdpMLineIndex ?? 0, sections.count - 2))
            sections[index].append("a=\(one.candidate)")
        }
        let tagged = usable.first?.sdpMLineIndex ?? 0
        sections[1 + max(0, min(tagged, sections.count - 2))].append("a=end-of-candidates")
        return sections.joined().map { $0 + "\r\n" }.joined()
    }

    /// The candidates of a trickle fragment (RFC 8840 §9), `a=end-of-candidates` as the empty one; nil when it is none.
    static func candidates(inFragment text: String) -> [TrickledCandidate]? {
        var candidates: [TrickledCandidate] = []
        var mid: String?
        var mediaIndex = -1
        var usernameFragment: String?
        for line in lines(of: text) {
            guard line.utf8.dropFirst().first == UInt8(ascii: "=") else { return nil }
            if line.hasPrefix("m=") {
                mediaIndex += 1
                mid = nil
            } else if line.hasPrefix("a=mid:") {
                mid = String(line.dropFirst(6))
            } else if line.hasPrefix("a=ice-ufrag:") {
                usernameFragment = String(line.dropFirst(12))
            } else if line.hasPrefix("a=candidate:") {
                guard candidates.count < candidateLimit else { return nil }
                candidates.append(
                    TrickledCandidate(
                        candidate: String(line.dropFirst(2)), sdpMid: mid,
                        sdpMLineIndex: mediaIndex >= 0 ? mediaIndex : nil, usernameFragment: usernameFragment))
            } else if line == "a=end-of-candidates" {
                guard candidates.count < candidateLimit else { return nil }
                candidates.append(
                    TrickledCandidate(
                        candidate: "", sdpMid: mid, sdpMLineIndex: mediaIndex >= 0 ? mediaIndex : nil,
                        usernameFragment: usernameFragment))
            }
        }
        return candidates.isEmpty && usernameFragment == nil ? nil : candidates
    }

    /// Lines end in CRLF, from some clients in LF; Swift takes CRLF for one character, hence the split by bytes.
    private static func lines(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
            Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }
    }
}
