import EmisoraCore

/// The value of `a=candidate` (RFC 8839 §5.1), as descriptions and trickle messages carry it.
package struct ICECandidateLine: Hashable, Sendable {
    /// What a trickle message says (RFC 8838 §8, §13).
    package enum Trickled: Hashable, Sendable {
        case candidate(ICECandidateLine)
        /// No further candidates: an empty text, or `end-of-candidates`.
        case endOfCandidates
        /// It does not follow the grammar; to be passed over, since the call can go on without it.
        case unusable
    }

    /// A name and a value behind the fixed part, such as `generation 0` or `ufrag ab12`.
    package struct Extension: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package var foundation: String
    package var component: UInt16
    /// Lower case, such as `udp`.
    package var transport: String
    package var priority: UInt32
    /// An IP address, or a name such as `….local` that is not resolved.
    package var address: String
    package var port: UInt16
    /// `host`, `srflx`, `prflx`, `relay`, or one that we do not know.
    package var type: String
    package var relatedAddress: SocketAddress?
    /// Everything behind `typ`, `raddr` and `rport`, in its order, at most 16.
    package var extensions: [Extension]

    package init(
        foundation: String, component: UInt16 = 1, transport: String = "udp", priority: UInt32, address: String,
        port: UInt16, type: String, relatedAddress: SocketAddress? = nil, extensions: [Extension] = []
    ) {
        self.foundation = foundation
        self.component = component
        self.transport = transport
        self.priority = priority
        self.address = address
        self.port = port
        self.type = type
        self.relatedAddress = relatedAddress
        self.extensions = extensions
    }

    /// Reads the line with or without `a=` and `candidate:` in front. `nil`: it does not follow the grammar.
    package init?(parsing text: some StringProtocol) {
        let value = Self.body(of: text)
        guard value.utf8.count <= 1_024 else { return nil }
        let words = SDPText.words(value)
        guard words.count >= 8, words.allSatisfy({ SDPText.isToken($0, length: 1...256) }),
            words[0].utf8.count <= 32, words[6].lowercased() == "typ",
            let component: UInt16 = SDPText.decimal(words[1]), (1...256).contains(component),
            let priority: UInt32 = SDPText.decimal(words[3]), let port: UInt16 = SDPText.decimal(words[5])
        else { return nil }
        self.init(
            foundation: String(words[0]), component: component, transport: words[2].lowercased(), priority: priority,
            address: String(words[4]), port: port, type: words[7].lowercased())
        var relatedIP: IPAddress?
        for index in stride(from: 8, to: words.count - 1, by: 2) {
            let value = words[index + 1]
            switch words[index].lowercased() {
            case "raddr": relatedIP = IPAddress(String(value))
            case "rport":
                if let relatedIP, let port: UInt16 = SDPText.decimal(value) {
                    relatedAddress = SocketAddress(ip: relatedIP, port: port)
                }
            default:
                if extensions.count < 16 {
                    extensions.append(Extension(name: String(words[index]), value: String(value)))
                }
            }
        }
    }

    /// Reads the text of a trickle message.
    package static func trickled(_ text: some StringProtocol) -> Trickled {
        let body = Self.body(of: text)
        if body.isEmpty || body == "end-of-candidates" { return .endOfCandidates }
        return ICECandidateLine(parsing: body).map(Trickled.candidate) ?? .unusable
    }

    /// The address, where this is one that an agent with RTCP multiplexing can send or connect to; anything else is to be
    /// ignored (RFC 8839 §5.1: unknown transports and types; component 2; names; TCP candidates that are not passive, which
    /// connect to us if at all).
    package var usableAddress: SocketAddress? {
        guard component == 1, transport == "udp" || (transport == "tcp" && tcpType?.lowercased() == "passive"),
            port != 0, ["host", "srflx", "prflx", "relay"].contains(type)
        else { return nil }
        return IPAddress(address).flatMap { $0.isOfAHost ? SocketAddress(ip: $0, port: port) : nil }
    }

    /// `active`, `passive` or `so` of a TCP candidate (RFC 6544 §4.5).
    package var tcpType: String? { self["tcptype"] }

    /// The value of the extension of that name.
    package subscript(_ name: String) -> String? { extensions.first { $0.name.lowercased() == name }?.value }

    /// `candidate:…`, without `a=`.
    package var text: String {
        var text = "candidate:\(foundation) \(component) \(transport) \(priority) \(address) \(port) typ \(type)"
        if let relatedAddress { text += " raddr \(relatedAddress.ip) rport \(relatedAddress.port)" }
        for one in extensions { text += " \(one.name) \(one.value)" }
        return text
    }

    /// Without prefixes and without the line end and spaces around, which some senders leave.
    private static func body(of text: some StringProtocol) -> Substring {
        func isSpace(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n")
        }
        var bytes = Substring(text).utf8.drop(while: isSpace)
        while let last = bytes.last, isSpace(last) { bytes = bytes.dropLast() }
        for prefix in ["a=", "candidate:"] where bytes.starts(with: prefix.utf8) {
            bytes = bytes.dropFirst(prefix.utf8.count)
        }
        return Substring(bytes)
    }
}
