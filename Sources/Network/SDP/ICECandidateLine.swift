import EmisoraCore

/// The value of `a=candidate` (RFC 8839 §5.1), as descriptions and trickle messages carry it.
package struct ICECandidateLine: Hashable, Sendable {
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

    package init(
        foundation: String, component: UInt16 = 1, transport: String = "udp", priority: UInt32, address: String,
        port: UInt16, type: String, relatedAddress: SocketAddress? = nil
    ) {
        self.foundation = foundation
        self.component = component
        self.transport = transport
        self.priority = priority
        self.address = address
        self.port = port
        self.type = type
        self.relatedAddress = relatedAddress
    }

    /// Reads the line with or without `a=` and `candidate:` in front. `nil`: it does not follow the grammar.
    package init?(parsing text: some StringProtocol) {
        var value = Substring(text)
        if value.hasPrefix("a=") { value = value.dropFirst(2) }
        if value.hasPrefix("candidate:") { value = value.dropFirst(10) }
        guard value.utf8.count <= 1_024 else { return nil }
        let words = value.split(whereSeparator: { $0 == " " || $0 == "\r" || $0 == "\n" })
        guard words.count >= 8, (1...32).contains(words[0].utf8.count), words[6] == "typ",
            let component = UInt16(words[1]), (1...256).contains(component), let priority = UInt32(words[3]),
            let port = UInt16(words[5])
        else { return nil }
        self.init(
            foundation: String(words[0]), component: component, transport: words[2].lowercased(), priority: priority,
            address: String(words[4]), port: port, type: words[7].lowercased())
        var index = 8
        var relatedIP: IPAddress?
        while index + 1 < words.count {
            switch words[index] {
            case "raddr": relatedIP = IPAddress(String(words[index + 1]))
            case "rport":
                if let relatedIP, let port = UInt16(words[index + 1]) {
                    relatedAddress = SocketAddress(ip: relatedIP, port: port)
                }
            default: break
            }
            index += 2
        }
    }

    /// The address, where this is one that a UDP agent with RTCP multiplexing can use; anything else is to be ignored
    /// (RFC 8839 §5.1: unknown transports and types; component 2; names; TCP).
    package var usableAddress: SocketAddress? {
        guard component == 1, transport == "udp", port != 0, ["host", "srflx", "prflx", "relay"].contains(type) else {
            return nil
        }
        return IPAddress(address).map { SocketAddress(ip: $0, port: port) }
    }

    /// `candidate:…`, without `a=`.
    package var text: String {
        var text = "candidate:\(foundation) \(component) \(transport) \(priority) \(address) \(port) typ \(type)"
        if let relatedAddress { text += " raddr \(relatedAddress.ip) rport \(relatedAddress.port)" }
        return text
    }
}
