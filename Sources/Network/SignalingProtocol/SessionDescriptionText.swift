/// The little of SDP that a relay has to see: whether it is an offer for that door, which m-lines an answer refuses,
/// and what an ICE restart changes.
///
/// What is in an offer otherwise is for the participant that answers to judge; the server passes it on as it came.
package enum SessionDescriptionText {
    /// Why a description is no offer for a door.
    package enum Fault: Equatable, Sendable {
        /// Not an offer of audio or video at all.
        case noOffer
        /// The directions of its m-lines do not fit the door.
        case wrongDirection
        /// More than one m-line of a kind, or one that is neither audio nor video (RFC 9725 §4.4.2).
        case unsupportedTracks
    }

    /// - Parameter sends: whether its sender wants to send (WHIP) or to receive (WHEP).
    package static func fault(inOffer text: String, sends: Bool) -> Fault? {
        let sections = sections(of: text)
        let session = sections.first ?? []
        let media = sections.dropFirst()
        guard session.first == "v=0", session.contains(where: { $0.hasPrefix("o=") }),
            media.contains(where: { ["audio", "video"].contains(kind(of: $0)) }),
            sections.joined().allSatisfy({ $0.utf8.dropFirst().first == UInt8(ascii: "=") })
        else { return .noOffer }
        // RFC 9725 §4.4.4 lets an encoder offer `active`; `passive` is only ever answered.
        guard !sections.joined().contains("a=setup:passive") else { return .noOffer }
        let directions = media.map { direction(of: $0, in: session) }
        if sends {
            guard directions.allSatisfy({ $0 == "sendonly" || $0 == "sendrecv" }) else { return .wrongDirection }
            let kinds = media.map(kind)
            guard Set(kinds).count == kinds.count, Set(kinds).isSubset(of: ["audio", "video"]) else {
                return .unsupportedTracks
            }
        } else {
            guard directions.contains(where: { $0 == "recvonly" || $0 == "sendrecv" }) else { return .wrongDirection }
        }
        return nil
    }

    /// Whether an answer refuses an m-line, by port 0 without `a=bundle-only` (RFC 8843 §6).
    package static func refusesMedia(_ answer: String) -> Bool { !refusedMedia(answer).isEmpty }

    /// What an answer refuses: `audio`, `video`.
    package static func refusedMedia(_ answer: String) -> [String] {
        sections(of: answer).dropFirst().filter { section in
            guard let line = section.first, !section.contains("a=bundle-only") else { return false }
            let words = line.split(separator: " ")
            return words.count > 1 && words[1] == "0"
        }.map { String(kind(of: $0)) }
    }

    /// Whether an answer leaves nothing.
    package static func refusesAll(_ answer: String) -> Bool {
        refusedMedia(answer).count == sections(of: answer).count - 1
    }

    /// The value of the first `a=NAME:` line.
    package static func value(of name: String, in text: String) -> String? {
        let prefix = "a=\(name):"
        return lines(of: text).first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    /// The `a=mid` of each m-line.
    package static func mids(of text: String) -> [String?] {
        sections(of: text).dropFirst().map { section in
            section.first { $0.hasPrefix("a=mid:") }.map { String($0.dropFirst(6)) }
        }
    }

    /// Whether the description says that it has all candidates.
    package static func endsCandidates(_ text: String) -> Bool { lines(of: text).contains("a=end-of-candidates") }

    package static func withoutEndOfCandidates(_ text: String) -> String {
        lines(of: text).filter { $0 != "a=end-of-candidates" }.map { $0 + "\r\n" }.joined()
    }

    /// The description without candidates and their end.
    package static func withoutCandidates(_ text: String) -> String {
        Self.text(
            of: sections(of: text).map { section in
                section.filter { !$0.hasPrefix("a=candidate:") && $0 != "a=end-of-candidates" }
            })
    }

    /// Whether candidates will follow this description one by one (RFC 8840 §4.1.3).
    package static func tricklesOn(_ text: String) -> Bool {
        let lines = lines(of: text)
        return lines.contains { $0.hasPrefix("a=ice-options:") && $0.contains("trickle") }
            && !lines.contains("a=end-of-candidates")
    }

    /// The description with candidates that came afterwards, each in its section. What is no line by itself is left
    /// out.
    ///
    /// - Parameter isEnd: whether there are no more of them.
    package static func adding(_ candidates: [TrickledCandidate], isEnd: Bool = true, to text: String) -> String {
        let usable = candidates.filter { one in
            one.candidate.hasPrefix("candidate:") && one.candidate.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        }
        var sections = sections(of: text)
        guard sections.count > 1 else { return text }
        func place(of one: TrickledCandidate?) -> Int { 1 + max(0, min(one?.sdpMLineIndex ?? 0, sections.count - 2)) }
        for one in usable { sections[place(of: one)].append("a=\(one.candidate)") }
        if isEnd { sections[place(of: usable.first)].append("a=end-of-candidates") }
        return Self.text(of: sections)
    }

    /// The offer of an ICE restart (RFC 8839 §4.4.1.1.1), or the answer to it: the last one with other credentials and
    /// candidates, and counted up.
    ///
    /// - Parameter keepsCandidates: whether a fragment without any means that they are what they were.
    package static func restarted(
        _ description: String, with credentials: TrickleFragment.Credentials, _ fragment: TrickleFragment,
        keepsCandidates: Bool = false
    ) -> String {
        let candidates = fragment.candidates(placedIn: description)
        let stays = keepsCandidates && candidates.isEmpty
        let sections = sections(of: stays ? description : withoutCandidates(description)).map { section in
            section.map { line -> Substring in
                if line.hasPrefix("a=ice-ufrag:") { return "a=ice-ufrag:\(credentials.usernameFragment)" }
                if line.hasPrefix("a=ice-pwd:") { return "a=ice-pwd:\(credentials.password)" }
                return line.hasPrefix("o=") ? nextVersion(line) : line
            }
        }
        return adding(
            candidates.filter { !$0.isEndOfCandidates }, isEnd: candidates.contains(where: \.isEndOfCandidates),
            to: text(of: sections))
    }

    /// RFC 3264 §8: each further description has a version that is one higher.
    private static func nextVersion(_ origin: Substring) -> Substring {
        var words = origin.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count > 2, let version = UInt64(words[2]) else { return origin }
        words[2] = "\(version &+ 1)"
        return Substring(words.joined(separator: " "))
    }

    private static func kind(of section: [Substring]) -> Substring {
        section.first?.dropFirst(2).prefix { $0 != " " } ?? ""
    }

    /// RFC 8866 §6.7: an m-line's own, else the session's, else both ways.
    private static func direction(of section: [Substring], in session: [Substring]) -> Substring {
        let all: Set<Substring> = ["a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive"]
        let line = section.first(where: all.contains) ?? session.first(where: all.contains)
        return line?.dropFirst(2) ?? "sendrecv"
    }

    /// The lines of the session, then those of each m-line.
    private static func sections(of text: String) -> [[Substring]] {
        var sections: [[Substring]] = [[]]
        for line in lines(of: text) {
            if line.hasPrefix("m=") { sections.append([]) }
            sections[sections.count - 1].append(line)
        }
        return sections
    }

    private static func text(of sections: [[Substring]]) -> String {
        sections.joined().map { $0 + "\r\n" }.joined()
    }

    /// Lines end in CRLF, from some clients in LF; Swift takes CRLF for one character, hence the split by bytes.
    static func lines(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
            Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }
    }
}
