extension SessionDescription {
    /// Reads a description; CRLF and LF both end a line.
    package init(parsing text: String) throws(SDPError) {
        self = try SessionDescriptionParser.parse(text)
    }
}

/// Reads session descriptions line by line (RFC 8866 §5). A malformed line that we use refuses the whole description
/// with its number; unknown lines and attributes are passed over (RFC 9429 §5.8).
struct SessionDescriptionParser {
    static let maximumByteCount = 256 * 1024
    static let maximumLines = 4_096
    static let maximumMediaSections = 64
    static let maximumFormats = 128
    /// Of candidates, ssrcs and feedback lines in one section.
    static let maximumPerSection = 256
    /// Of what a session-level line hands down to each section, so that a small description stays small in memory.
    static let maximumInherited = 32

    private var description = SessionDescription(sessionID: "", sessionVersion: 0)
    /// Attributes at session level stand for every m-line that has none of its own.
    private var session = AttributeReader(
        section: MediaSection(kind: "", port: 0, protocolName: "", formats: []))
    private var current: AttributeReader?
    private var line = 0
    private var sawVersion = false
    private var sawOrigin = false

    static func parse(_ text: String) throws(SDPError) -> SessionDescription {
        guard text.utf8.count <= maximumByteCount else { throw .tooLarge(what: "bytes", limit: maximumByteCount) }
        var parser = SessionDescriptionParser()
        return try parser.run(text)
    }

    private mutating func run(_ text: String) throws(SDPError) -> SessionDescription {
        for bytes in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            line += 1
            guard line <= Self.maximumLines else { throw .tooLarge(what: "lines", limit: Self.maximumLines) }
            let content = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
            if content.isEmpty { continue }
            // What we echo in an answer must not be able to end a line there.
            guard !content.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\r") }) else {
                throw malformed("it contains a NUL or a carriage return")
            }
            guard content.count >= 2, content[content.index(after: content.startIndex)] == UInt8(ascii: "="),
                let type = content.first
            else { throw malformed("it does not have the form <type>=<value>") }
            try read(type, Substring(content.dropFirst(2)))
        }
        finishSection()
        guard sawVersion, sawOrigin else { throw .invalid(reason: "it lacks its v= or o= line") }
        let mids = description.media.compactMap(\.mid)
        guard Set(mids).count == mids.count else { throw .invalid(reason: "two media sections have the same a=mid") }
        return description
    }

    private mutating func read(_ type: UInt8, _ value: Substring) throws(SDPError) {
        guard sawVersion || type == UInt8(ascii: "v") else { throw malformed("a description begins with v=0") }
        switch type {
        case UInt8(ascii: "v"):
            guard value == "0", !sawVersion else { throw malformed("v= must be 0, once, in the first line") }
            sawVersion = true
        case UInt8(ascii: "o"):
            guard !sawOrigin, current == nil else { throw malformed("o= stands once, before the media sections") }
            try readOrigin(value)
            sawOrigin = true
        case UInt8(ascii: "c"):
            let words = SDPText.words(value)
            guard words.count == 3, words[0] == "IN", words[1] == "IP4" || words[1] == "IP6" else {
                throw malformed("c= needs IN, IP4 or IP6, and an address")
            }
        case UInt8(ascii: "t"):
            let times: [UInt64] = SDPText.words(value).compactMap(SDPText.decimal)
            guard times.count == 2 else { throw malformed("t= needs two numbers") }
        case UInt8(ascii: "b"):
            let parts = SDPText.parts(value, at: ":")
            guard parts.count == 2, !parts[0].isEmpty, let _: UInt64 = SDPText.decimal(parts[1]) else {
                throw malformed("b= needs a type, a colon and a number")
            }
        case UInt8(ascii: "m"): try readMedia(value)
        case UInt8(ascii: "a"): try readAttribute(value)
        default: break
        }
    }

    private func malformed(_ reason: String) -> SDPError { .malformed(line: line, reason: reason) }

    private mutating func readOrigin(_ value: Substring) throws(SDPError) {
        let words = SDPText.words(value)
        guard words.count == 6, let version: UInt64 = SDPText.decimal(words[2]) else {
            throw malformed("o= needs six words, the third a number")
        }
        description.sessionID = String(words[1])
        description.sessionVersion = version
    }

    private mutating func readMedia(_ value: Substring) throws(SDPError) {
        finishSection()
        guard description.media.count < Self.maximumMediaSections else {
            throw .tooLarge(what: "media sections", limit: Self.maximumMediaSections)
        }
        let words = SDPText.words(value)
        guard words.count >= 4, let portText = SDPText.parts(words[1], at: "/").first,
            let port: UInt16 = SDPText.decimal(portText),
            words.allSatisfy({ SDPText.isToken($0, length: 1...256) })
        else { throw malformed("m= needs a kind, a port, a protocol and a format") }
        guard words.count - 3 <= Self.maximumFormats else {
            throw .tooLarge(what: "formats in a media section", limit: Self.maximumFormats)
        }
        current = AttributeReader(
            section: MediaSection(
                kind: String(words[0]), port: port, protocolName: String(words[2]),
                formats: words[3...].map(String.init)))
    }

    private mutating func finishSection() {
        guard let current else { return }
        var section = current.section
        let session = session.section
        // A pair of credentials belongs together: one of its own half does not borrow the other.
        if section.iceUfrag == nil, section.icePassword == nil {
            section.iceUfrag = session.iceUfrag
            section.icePassword = session.icePassword
        }
        section.setup = section.setup ?? session.setup
        if section.fingerprints.isEmpty { section.fingerprints = session.fingerprints }
        if section.extensions.isEmpty { section.extensions = session.extensions }
        if !current.hasDirection { section.direction = session.direction }
        section.isEndOfCandidates = section.isEndOfCandidates || session.isEndOfCandidates
        description.media.append(section)
        self.current = nil
    }

    private mutating func readAttribute(_ attribute: Substring) throws(SDPError) {
        let parts = SDPText.parts(attribute, at: ":", maximumSplits: 1)
        let name = parts[0]
        let value = parts.count > 1 ? parts[1] : ""
        if name == "ice-options" {
            for option in SDPText.words(value) where !description.iceOptions.contains(String(option)) {
                guard description.iceOptions.count < Self.maximumInherited else {
                    throw .tooLarge(what: "ICE options", limit: Self.maximumInherited)
                }
                description.iceOptions.append(String(option))
            }
        }
        guard current == nil else {
            try current?.read(name, value, line: line)
            return
        }
        switch name {
        case "group":
            let words = SDPText.words(value)
            guard words.first == "BUNDLE", description.bundle.isEmpty else { break }
            guard words.count - 1 <= Self.maximumMediaSections else {
                throw .tooLarge(what: "bundled media sections", limit: Self.maximumMediaSections)
            }
            guard Set(words.dropFirst()).count == words.count - 1 else {
                throw malformed("a=group names the same media section twice")
            }
            description.bundle = words.dropFirst().map(String.init)
        case "ice-lite": description.isICELite = true
        case "extmap-allow-mixed": description.allowsMixedExtensions = true
        default: try session.read(name, value, line: line)
        }
    }
}
