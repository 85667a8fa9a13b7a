/// Reads session descriptions line by line (RFC 8866 §5). A malformed line that we use refuses the whole description
/// with its number; unknown lines and attributes are passed over (RFC 9429 §5.8).
struct SessionDescriptionParser {
    static let maximumByteCount = 256 * 1024
    static let maximumLines = 4_096
    static let maximumMediaSections = 64
    static let maximumPerSection = 256

    private var description = SessionDescription(sessionID: "", sessionVersion: 0)
    /// Transport attributes at session level stand for every m-line that has none of its own.
    private var session = MediaSection(kind: "", port: 0, protocolName: "", formats: [])
    private var current: MediaSection?
    private var line = 0

    static func parse(_ text: String) throws(SDPError) -> SessionDescription {
        guard text.utf8.count <= maximumByteCount else { throw .tooLarge(what: "bytes", limit: maximumByteCount) }
        var parser = SessionDescriptionParser()
        return try parser.run(text)
    }

    private mutating func run(_ text: String) throws(SDPError) -> SessionDescription {
        var sawVersion = false
        var sawOrigin = false
        for bytes in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            line += 1
            guard line <= Self.maximumLines else { throw .tooLarge(what: "lines", limit: Self.maximumLines) }
            var content = Substring(bytes)
            if content.utf8.last == UInt8(ascii: "\r") { content = Substring(content.utf8.dropLast()) }
            if content.utf8.isEmpty { continue }
            let utf8 = content.utf8
            guard utf8.count >= 2, utf8[utf8.index(after: utf8.startIndex)] == UInt8(ascii: "=") else {
                throw malformed("it does not have the form <type>=<value>")
            }
            let value = Substring(utf8.dropFirst(2))
            switch utf8.first {
            case UInt8(ascii: "v"):
                guard value == "0" else { throw malformed("the version must be 0") }
                sawVersion = true
            case UInt8(ascii: "o"):
                try readOrigin(value)
                sawOrigin = true
            case UInt8(ascii: "m"): try readMedia(value)
            case UInt8(ascii: "a"): try readAttribute(value)
            default: break
            }
        }
        finishSection()
        guard sawVersion, sawOrigin else { throw .invalid(reason: "it lacks its v= or o= line") }
        let mids = description.media.compactMap(\.mid)
        guard Set(mids).count == mids.count else { throw .invalid(reason: "two media sections have the same a=mid") }
        return description
    }

    private func malformed(_ reason: String) -> SDPError { .malformed(line: line, reason: reason) }

    private mutating func readOrigin(_ value: Substring) throws(SDPError) {
        let words = value.split(separator: " ")
        guard words.count == 6, let version = UInt64(words[2]) else {
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
        let words = value.split(separator: " ")
        guard words.count >= 4, let portText = words[1].split(separator: "/").first, let port = UInt16(portText) else {
            throw malformed("m= needs a kind, a port, a protocol and a format")
        }
        guard words.count - 3 <= Self.maximumPerSection else {
            throw .tooLarge(what: "formats in a media section", limit: Self.maximumPerSection)
        }
        current = MediaSection(
            kind: String(words[0]), port: port, protocolName: String(words[2]), formats: words[3...].map(String.init))
    }

    private mutating func finishSection() {
        guard var section = current else { return }
        section.iceUfrag = section.iceUfrag ?? session.iceUfrag
        section.icePassword = section.icePassword ?? session.icePassword
        section.setup = section.setup ?? session.setup
        if section.fingerprints.isEmpty { section.fingerprints = session.fingerprints }
        if section.extensions.isEmpty { section.extensions = session.extensions }
        description.media.append(section)
        current = nil
    }

    private mutating func readAttribute(_ attribute: Substring) throws(SDPError) {
        let parts = attribute.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0]
        let value = parts.count > 1 ? parts[1] : ""
        if current == nil {
            switch name {
            case "group":
                let words = value.split(separator: " ")
                if words.first == "BUNDLE", description.bundle.isEmpty {
                    description.bundle = words.dropFirst().map(String.init)
                }
            case "ice-lite": description.isICELite = true
            case "extmap-allow-mixed": description.allowsMixedExtensions = true
            default: break
            }
        }
        if name == "ice-options" { description.iceOptions += value.split(separator: " ").map(String.init) }
        var section = current ?? session
        try Self.read(name, value, into: &section, line: line)
        if current == nil { session = section } else { current = section }
    }

    private static func read(
        _ name: Substring, _ value: Substring, into section: inout MediaSection, line: Int
    ) throws(SDPError) {
        func malformed(_ reason: String) -> SDPError { .malformed(line: line, reason: reason) }
        func capped<T>(_ list: inout [T], _ element: T, _ what: String) throws(SDPError) {
            guard list.count < maximumPerSection else { throw .tooLarge(what: what, limit: maximumPerSection) }
            list.append(element)
        }
        switch name {
        case "mid":
            guard (1...64).contains(value.utf8.count), !value.contains(" ") else {
                throw malformed("a=mid needs a token")
            }
            section.mid = String(value)
        case "sendrecv", "sendonly", "recvonly", "inactive":
            section.direction = MediaDirection(rawValue: String(name)) ?? .sendrecv
        case "rtcp-mux": section.isRTCPMultiplexed = true
        case "rtcp-rsize": section.isRTCPReducedSize = true
        case "bundle-only": section.isBundleOnly = true
        case "end-of-candidates": section.isEndOfCandidates = true
        case "ice-ufrag": section.iceUfrag = String(value)
        case "ice-pwd": section.icePassword = String(value)
        case "setup":
            guard let setup = DTLSSetup(rawValue: value.lowercased()) else {
                throw malformed("a=setup must be active, passive, actpass or holdconn")
            }
            section.setup = setup
        case "fingerprint":
            let words = value.split(separator: " ")
            guard words.count == 2 else { throw malformed("a=fingerprint needs a hash name and its bytes") }
            try capped(
                &section.fingerprints,
                FingerprintLine(algorithm: words[0].lowercased(), value: String(words[1])), "fingerprints")
        case "rtpmap":
            guard let map = rtpMap(value) else {
                throw malformed("a=rtpmap needs a payload type and name/clock rate")
            }
            try capped(&section.rtpMaps, map, "payload types")
        case "fmtp":
            let words = value.split(separator: " ", maxSplits: 1)
            guard words.count == 2, let type = payloadType(words[0]) else {
                throw malformed("a=fmtp needs a payload type and parameters")
            }
            section.formatParameters[type] = String(words[1])
        case "rtcp-fb":
            let words = value.split(separator: " ", maxSplits: 1)
            guard words.count == 2, words[0] == "*" || payloadType(words[0]) != nil else {
                throw malformed("a=rtcp-fb needs a payload type and a value")
            }
            try capped(
                &section.feedback, FeedbackLine(payloadType: payloadType(words[0]), value: words[1].lowercased()),
                "feedback lines")
        case "extmap":
            let words = value.split(separator: " ")
            guard words.count >= 2, let idText = words[0].split(separator: "/").first, let id = UInt16(idText) else {
                throw malformed("a=extmap needs an id and a URI")
            }
            // Ids above 255 exist for negotiation only (RFC 8285 §7) and cannot be on the wire.
            if let id = UInt8(exactly: id), id != 0 {
                try capped(&section.extensions, ExtensionMap(id: id, uri: String(words[1])), "header extensions")
            }
        case "candidate":
            // An empty one ends the candidates, in one browser's way of writing; other damage is not fatal to a call.
            if let candidate = ICECandidateLine(parsing: value) {
                try capped(&section.candidates, candidate, "candidates")
            }
        case "ssrc": try readSSRC(value, into: &section, line: line)
        case "ssrc-group":
            let words = value.split(separator: " ")
            if words.count == 3, words[0] == "FID", let media = UInt32(words[1]), let repair = UInt32(words[2]) {
                try capped(
                    &section.retransmissionGroups, RetransmissionGroup(media: media, retransmission: repair),
                    "ssrc groups")
            }
        case "msid":
            let words = value.split(separator: " ")
            section.streamID = words.first.map(String.init)
            section.trackID = words.count > 1 ? String(words[1]) : nil
        default: break
        }
    }

    private static func readSSRC(
        _ value: Substring, into section: inout MediaSection, line: Int
    ) throws(SDPError) {
        let words = value.split(separator: " ", maxSplits: 1)
        guard let first = words.first, let ssrc = UInt32(first) else {
            throw .malformed(line: line, reason: "a=ssrc needs a 32-bit number")
        }
        let attribute = words.count > 1 ? words[1] : ""
        let cname = attribute.hasPrefix("cname:") ? String(attribute.dropFirst(6)) : nil
        if let index = section.ssrcs.firstIndex(where: { $0.ssrc == ssrc }) {
            if let cname { section.ssrcs[index].cname = cname }
        } else {
            guard section.ssrcs.count < maximumPerSection else {
                throw .tooLarge(what: "ssrcs in a media section", limit: maximumPerSection)
            }
            section.ssrcs.append(SSRCLine(ssrc: ssrc, cname: cname))
        }
    }

    private static func payloadType(_ text: Substring) -> UInt8? {
        UInt8(text).flatMap { $0 < 128 ? $0 : nil }
    }

    private static func rtpMap(_ value: Substring) -> RTPMap? {
        let words = value.split(separator: " ")
        guard words.count == 2, let type = payloadType(words[0]) else { return nil }
        let parts = words[1].split(separator: "/")
        guard parts.count >= 2, let clock = UInt32(parts[1]), clock > 0 else { return nil }
        var channels: UInt8 = 1
        if parts.count > 2 {
            guard let number = UInt8(parts[2]) else { return nil }
            channels = number
        }
        return RTPMap(payloadType: type, name: String(parts[0]), clockRate: clock, channels: channels)
    }
}

extension SessionDescription {
    /// Reads a description; CRLF and LF both end a line.
    package init(parsing text: String) throws(SDPError) {
        self = try SessionDescriptionParser.parse(text)
    }
}
