/// `application/trickle-ice-sdpfrag` (RFC 8840 §9): what of a description is about ICE, and nothing else.
package struct TrickleFragment: Equatable, Sendable {
    /// Of ICE (RFC 8839 §5.4).
    package struct Credentials: Equatable, Sendable {
        package var usernameFragment: String
        package var password: String

        /// The lengths and the alphabet of RFC 8839 §5.4; others would end the session at the other side.
        package var isWellFormed: Bool {
            (4...256).contains(usernameFragment.utf8.count) && (22...256).contains(password.utf8.count)
                && (usernameFragment + password).utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                        true
                    default: false
                    }
                }
        }
    }

    private static let candidateLimit = 256

    package private(set) var usernameFragment: String?
    package private(set) var password: String?
    /// In their order, `a=end-of-candidates` as the empty one.
    package private(set) var candidates: [TrickledCandidate] = []

    /// `nil`: it is no fragment, or there is nothing in it.
    package init?(parsing text: String) {
        var mid: String?
        var mediaIndex = -1
        var currentFragment: String?
        for line in SessionDescriptionText.lines(of: text) {
            guard line.utf8.dropFirst().first == UInt8(ascii: "=") else { return nil }
            let position = mediaIndex >= 0 ? mediaIndex : nil
            if line.hasPrefix("m=") {
                mediaIndex += 1
                mid = nil
            } else if line.hasPrefix("a=mid:") {
                mid = String(line.dropFirst(6))
            } else if line.hasPrefix("a=ice-ufrag:") {
                currentFragment = String(line.dropFirst(12))
                usernameFragment = usernameFragment ?? currentFragment
            } else if line.hasPrefix("a=ice-pwd:") {
                password = password ?? String(line.dropFirst(10))
            } else if line.hasPrefix("a=candidate:") || line == "a=end-of-candidates" {
                guard candidates.count < Self.candidateLimit else { return nil }
                candidates.append(
                    TrickledCandidate(
                        candidate: line == "a=end-of-candidates" ? "" : String(line.dropFirst(2)), sdpMid: mid,
                        sdpMLineIndex: position, usernameFragment: currentFragment))
            }
        }
        if candidates.isEmpty && usernameFragment == nil { return nil }
    }

    /// The fragment's credentials, where it has both.
    package var credentials: Credentials? {
        guard let usernameFragment, let password else { return nil }
        return Credentials(usernameFragment: usernameFragment, password: password)
    }

    /// The candidates with the place of their m-line in the description, which the fragment may have left out.
    package func candidates(placedIn description: String) -> [TrickledCandidate] {
        let mids = SessionDescriptionText.mids(of: description)
        return candidates.map { one in
            var placed = one
            if let mid = one.sdpMid, let index = mids.firstIndex(of: mid) { placed.sdpMLineIndex = index }
            return placed
        }
    }

    /// What of a description belongs into a fragment.
    package static func text(of description: String) -> String {
        let kept = ["m=", "a=group:", "a=ice-", "a=mid:", "a=candidate:", "a=end-of-candidates"]
        return SessionDescriptionText.lines(of: description)
            .filter { line in kept.contains { line.hasPrefix($0) } }
            .map { $0 + "\r\n" }.joined()
    }
}
