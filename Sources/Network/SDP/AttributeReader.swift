/// Reads the attributes of one media section, in whatever order they come.
struct AttributeReader {
    private(set) var section: MediaSection
    private(set) var hasDirection = false

    init(section: MediaSection) {
        self.section = section
    }

    mutating func read(_ name: Substring, _ value: Substring, line: Int) throws(SDPError) {
        func malformed(_ reason: String) -> SDPError { .malformed(line: line, reason: reason) }
        switch name {
        case "mid":
            guard SDPText.isToken(value, length: 1...64) else { throw malformed("a=mid needs a token") }
            guard section.mid == nil else { throw malformed("the media section has an a=mid already") }
            section.mid = String(value)
        case "sendrecv", "sendonly", "recvonly", "inactive":
            section.direction = MediaDirection(rawValue: String(name)) ?? .sendrecv
            hasDirection = true
        case "rtcp-mux": section.isRTCPMultiplexed = true
        case "rtcp-rsize": section.isRTCPReducedSize = true
        case "bundle-only": section.isBundleOnly = true
        case "end-of-candidates": section.isEndOfCandidates = true
        case "ice-ufrag":
            // RFC 8839 §5.4 bounds the lengths; some peers use characters beyond its ice-char.
            guard SDPText.isToken(value, length: 4...256) else {
                throw malformed("a=ice-ufrag needs 4 to 256 characters")
            }
            section.iceUfrag = String(value)
        case "ice-pwd":
            guard SDPText.isToken(value, length: 22...256) else {
                throw malformed("a=ice-pwd needs 22 to 256 characters")
            }
            section.icePassword = String(value)
        case "setup":
            guard let setup = DTLSSetup(rawValue: value.lowercased()) else {
                throw malformed("a=setup must be active, passive, actpass or holdconn")
            }
            section.setup = setup
        case "fingerprint": try readFingerprint(value, line: line)
        case "rtpmap":
            guard let map = Self.rtpMap(value) else {
                throw malformed("a=rtpmap needs a payload type and name/clock rate")
            }
            try Self.append(map, to: &section.rtpMaps, "payload types", limit: SessionDescriptionParser.maximumFormats)
        case "fmtp":
            let words = SDPText.words(value, maximumSplits: 1)
            guard words.count == 2, let type = Self.payloadType(words[0]) else {
                throw malformed("a=fmtp needs a payload type and parameters")
            }
            section.formatParameters[type] = String(words[1])
        case "rtcp-fb":
            let words = SDPText.words(value, maximumSplits: 1)
            guard words.count == 2, words[0] == "*" || Self.payloadType(words[0]) != nil else {
                throw malformed("a=rtcp-fb needs a payload type and a value")
            }
            try Self.append(
                FeedbackLine(payloadType: Self.payloadType(words[0]), value: words[1].lowercased()),
                to: &section.feedback, "feedback lines")
        case "ptime", "maxptime":
            guard let milliseconds = Self.milliseconds(value) else {
                throw malformed("a=\(name) needs a time in milliseconds")
            }
            if name == "ptime" { section.packetTime = milliseconds } else { section.maximumPacketTime = milliseconds }
        case "extmap": try readExtension(value, line: line)
        case "candidate":
            // An empty one is one browser's way of ending them.
            guard !value.isEmpty else { break }
            guard let candidate = ICECandidateLine(parsing: value) else {
                throw malformed("a=candidate needs foundation, component, transport, priority, address, port and typ")
            }
            try Self.append(candidate, to: &section.candidates, "candidates")
        case "ssrc": try readSSRC(value, line: line)
        case "ssrc-group": try readSSRCGroup(value, line: line)
        case "msid":
            let words = SDPText.words(value)
            guard let stream = words.first else { throw malformed("a=msid needs a stream id") }
            section.streamID = String(stream)
            section.trackID = words.count > 1 ? String(words[1]) : nil
        case "rid": try readRID(value, line: line)
        case "simulcast":
            guard section.simulcast == nil else { throw malformed("the media section has an a=simulcast already") }
            guard let simulcast = SimulcastLine(parsing: value) else {
                throw malformed("a=simulcast needs send or recv and up to \(RIDLine.maximumCount) streams")
            }
            section.simulcast = simulcast
        case "sctp-port":
            guard let port: UInt16 = SDPText.decimal(value) else { throw malformed("a=sctp-port needs a port") }
            section.sctpPort = port
        case "max-message-size":
            guard let size: UInt64 = SDPText.decimal(value) else {
                throw malformed("a=max-message-size needs a number of bytes")
            }
            section.maximumMessageSize = size
        case "sctpmap":
            guard let map = SCTPMap(parsing: value) else {
                throw malformed("a=sctpmap needs a port and an application")
            }
            section.sctpMap = map
        default: break
        }
    }

    private mutating func readFingerprint(_ value: Substring, line: Int) throws(SDPError) {
        let words = SDPText.words(value)
        guard words.count == 2, let bytes = SDPText.hexBytes(words[1]) else {
            throw .malformed(line: line, reason: "a=fingerprint needs a hash name and its bytes as AA:BB:…")
        }
        let fingerprint = FingerprintLine(algorithm: words[0].lowercased(), value: String(words[1]))
        if let expected = FingerprintLine.byteCounts[fingerprint.algorithm], bytes.count != expected {
            throw .malformed(
                line: line, reason: "a \(fingerprint.algorithm) fingerprint has \(expected) bytes, not \(bytes.count)")
        }
        try Self.append(
            fingerprint, to: &section.fingerprints, "fingerprints", limit: SessionDescriptionParser.maximumInherited)
    }

    /// `<id>[/<direction>] [<encryption>] <URI> [attributes]` (RFC 8285 §5, RFC 6904 §4).
    private mutating func readExtension(_ value: Substring, line: Int) throws(SDPError) {
        let words = SDPText.words(value)
        let parts = words.first.map { SDPText.parts($0, at: "/", maximumSplits: 1) } ?? []
        guard words.count >= 2, let idText = parts.first, let id: UInt16 = SDPText.decimal(idText), id != 0,
            id <= 4_351
        else { throw .malformed(line: line, reason: "a=extmap needs an id and a URI") }
        var direction: MediaDirection?
        if parts.count == 2 {
            direction = MediaDirection(rawValue: String(parts[1]))
            guard direction != nil else {
                throw .malformed(line: line, reason: "the direction in a=extmap is none of the four")
            }
        }
        // Ids above 255 exist for negotiation only (RFC 8285 §7) and cannot be on the wire.
        guard let id = UInt8(exactly: id) else { return }
        // RFC 6904 §4: what is encrypted follows as though it were an attribute of the encryption.
        let isEncrypted = words[1] == ExtensionMap.encryptURI && words.count >= 3
        try Self.append(
            ExtensionMap(
                id: id, uri: String(words[isEncrypted ? 2 : 1]), direction: direction, isEncrypted: isEncrypted),
            to: &section.extensions, "header extensions", limit: SessionDescriptionParser.maximumInherited)
    }

    private mutating func readRID(_ value: Substring, line: Int) throws(SDPError) {
        guard let rid = RIDLine(parsing: value) else {
            throw .malformed(line: line, reason: "a=rid needs a name, send or recv, and parameters as name=value;…")
        }
        guard !section.rids.contains(where: { $0.id == rid.id }) else {
            throw .malformed(line: line, reason: "the media section has an a=rid of that name already")
        }
        try Self.append(rid, to: &section.rids, "rids in a media section", limit: 2 * RIDLine.maximumCount)
    }

    private mutating func readSSRC(_ value: Substring, line: Int) throws(SDPError) {
        let words = SDPText.words(value, maximumSplits: 1)
        guard let first = words.first, let ssrc: UInt32 = SDPText.decimal(first) else {
            throw .malformed(line: line, reason: "a=ssrc needs a 32-bit number")
        }
        let attribute = SDPText.parts(words.count > 1 ? words[1] : "", at: ":", maximumSplits: 1)
        let cname = attribute[0] == "cname" && attribute.count == 2 ? String(attribute[1]) : nil
        if attribute[0] == "msid", attribute.count == 2, section.streamID == nil {
            // Where there is no a=msid, its forerunner tells the same.
            let ids = SDPText.words(attribute[1])
            section.streamID = ids.first.map(String.init)
            section.trackID = ids.count > 1 ? String(ids[1]) : nil
        }
        if let index = section.ssrcs.firstIndex(where: { $0.ssrc == ssrc }) {
            if let cname { section.ssrcs[index].cname = cname }
        } else {
            try Self.append(SSRCLine(ssrc: ssrc, cname: cname), to: &section.ssrcs, "ssrcs in a media section")
        }
    }

    private mutating func readSSRCGroup(_ value: Substring, line: Int) throws(SDPError) {
        let words = SDPText.words(value)
        let numbers: [UInt32] = words.dropFirst().compactMap(SDPText.decimal)
        guard let semantics = words.first, !numbers.isEmpty, numbers.count == words.count - 1 else {
            throw .malformed(line: line, reason: "a=ssrc-group needs its semantics and 32-bit numbers")
        }
        guard numbers.count == 2 else { return }
        switch semantics {
        case "FID":
            try Self.append(
                RetransmissionGroup(media: numbers[0], retransmission: numbers[1]), to: &section.retransmissionGroups,
                "ssrc groups")
        case "FEC-FR":
            try Self.append(
                RepairGroup(media: numbers[0], repair: numbers[1]), to: &section.repairGroups, "ssrc groups")
        default: break
        }
    }

    private static func append<Element>(
        _ element: Element, to list: inout [Element], _ what: String,
        limit: Int = SessionDescriptionParser.maximumPerSection
    ) throws(SDPError) {
        guard list.count < limit else { throw .tooLarge(what: what, limit: limit) }
        list.append(element)
    }

    /// Whole milliseconds; a fraction (RFC 8866 §6.4) is rounded up.
    private static func milliseconds(_ text: Substring) -> Int? {
        let parts = SDPText.parts(text, at: ".", maximumSplits: 1)
        guard let whole: UInt16 = SDPText.decimal(parts[0]) else { return nil }
        var milliseconds = Int(whole)
        if parts.count == 2 {
            guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            if parts[1].utf8.contains(where: { $0 != 0x30 }) { milliseconds += 1 }
        }
        return milliseconds > 0 ? milliseconds : nil
    }

    private static func payloadType(_ text: Substring) -> UInt8? {
        guard let type: UInt8 = SDPText.decimal(text), type < 128 else { return nil }
        return type
    }

    private static func rtpMap(_ value: Substring) -> RTPMap? {
        let words = SDPText.words(value)
        guard words.count == 2, let type = payloadType(words[0]) else { return nil }
        let parts = SDPText.parts(words[1], at: "/")
        guard (2...3).contains(parts.count), SDPText.isToken(parts[0], length: 1...64),
            let clock: UInt32 = SDPText.decimal(parts[1]), clock > 0
        else { return nil }
        var channels: UInt8 = 1
        if parts.count == 3 {
            guard let number: UInt8 = SDPText.decimal(parts[2]), number > 0 else { return nil }
            channels = number
        }
        return RTPMap(payloadType: type, name: String(parts[0]), clockRate: clock, channels: channels)
    }
}
