/// What an m-line for data channels says (RFC 8841): `m=application 9 UDP/DTLS/SCTP webrtc-datachannel`, and as older
/// peers write it, `m=application 9 DTLS/SCTP 5000` with `a=sctpmap`.
package enum DataChannelSection {
    static let kind = "application"
    static let offeredProtocol = "UDP/DTLS/SCTP"
    static let format = "webrtc-datachannel"
    /// Ours, and what a peer has that names none (RFC 8841 §5 has no default; everybody uses this one).
    package static let port: UInt16 = 5_000
    /// What we take of one message.
    package static let maximumMessageByteCount: UInt64 = 262_144

    /// The peer's SCTP port where the section is one for data channels.
    static func remotePort(in section: MediaSection) -> UInt16? {
        guard section.kind == kind else { return nil }
        switch section.protocolName {
        case "UDP/DTLS/SCTP", "TCP/DTLS/SCTP":
            guard section.formats.contains(where: { $0.lowercased() == format }) else { return nil }
            return (section.sctpPort ?? port).nonZero
        case "DTLS/SCTP":
            // The format is the port.
            guard let map = section.sctpMap, map.application.lowercased() == format,
                section.formats.contains(String(map.port))
            else { return nil }
            return map.port.nonZero
        default: return nil
        }
    }

    static func offered(mid: String) -> MediaSection {
        var section = MediaSection(kind: kind, port: 9, protocolName: offeredProtocol, formats: [format])
        section.mid = mid
        section.sctpPort = port
        section.maximumMessageSize = maximumMessageByteCount
        return section
    }

    /// RFC 9429 §5.2.2: the section that stands, in the form that it has.
    static func reoffered(_ section: MediaSection) -> MediaSection {
        var section = section
        section.isBundleOnly = false
        return section
    }

    /// In the offer's own form.
    static func answered(_ offered: MediaSection) -> MediaSection {
        var section = MediaSection(
            kind: kind, port: 9, protocolName: offered.protocolName, formats: Array(offered.formats.prefix(1)))
        section.mid = offered.mid
        section.maximumMessageSize = maximumMessageByteCount
        if offered.protocolName == "DTLS/SCTP", let map = offered.sctpMap {
            section.formats = [String(port)]
            section.sctpMap = SCTPMap(port: port, application: map.application, streams: map.streams)
        } else {
            section.formats = [format]
            section.sctpPort = port
        }
        return section
    }
}

/// `a=sctpmap` of drafts before RFC 8841.
package struct SCTPMap: Hashable, Sendable {
    package var port: UInt16
    package var application: String
    package var streams: UInt16?

    package init(port: UInt16, application: String, streams: UInt16? = nil) {
        self.port = port
        self.application = application
        self.streams = streams
    }

    init?(parsing value: Substring) {
        let words = SDPText.words(value)
        guard (2...3).contains(words.count), let port: UInt16 = SDPText.decimal(words[0]) else { return nil }
        if words.count == 3 {
            guard let number: UInt16 = SDPText.decimal(words[2]) else { return nil }
            streams = number
        }
        self.port = port
        application = String(words[1])
    }

    /// The value of the attribute.
    var text: String { "\(port) \(application)" + (streams.map { " \($0)" } ?? "") }
}

extension UInt16 {
    fileprivate var nonZero: UInt16? { self == 0 ? nil : self }
}
