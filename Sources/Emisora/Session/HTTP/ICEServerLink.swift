import EmisoraSignalingProtocol

/// STUN and TURN servers in `Link` headers (RFC 9725 §4.6, RFC 8288 §3).
enum ICEServerLink {
    private static let limit = 16

    /// Links of other kinds, and what does not follow the grammar, are passed over.
    static func servers(in headers: [String]) -> [ICEServerDescription] {
        Array(headers.flatMap(links).compactMap(server).prefix(limit))
    }

    private struct Link {
        var target: String
        var parameters: [String: String] = [:]
    }

    private static func server(_ link: Link) -> ICEServerDescription? {
        let relations = link.parameters["rel"]?.split(separator: " ").map { $0.lowercased() } ?? []
        let scheme = link.target.prefix { $0 != ":" }.lowercased()
        guard relations.contains("ice-server"), ["stun", "stuns", "turn", "turns"].contains(scheme),
            link.parameters["credential-type", default: "password"].lowercased() == "password"
        else { return nil }
        return ICEServerDescription(
            urls: [link.target], username: link.parameters["username"], credential: link.parameters["credential"])
    }

    private static func links(_ header: String) -> [Link] {
        var reader = Reader(rest: header[...])
        var links: [Link] = []
        while let target = reader.target() {
            var link = Link(target: target)
            while reader.skip(";") {
                guard let (name, value) = reader.parameter() else { return links }
                // The first of a name counts (RFC 8288 §3.4.1).
                if link.parameters[name] == nil { link.parameters[name] = value }
            }
            links.append(link)
            guard reader.skip(",") else { break }
        }
        return links
    }

    private struct Reader {
        var rest: Substring

        mutating func skip(_ character: Character) -> Bool {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            guard rest.first == character else { return false }
            rest = rest.dropFirst()
            return true
        }

        mutating func target() -> String? {
            guard skip("<"), let end = rest.firstIndex(of: ">") else { return nil }
            defer { rest = rest[rest.index(after: end)...] }
            return String(rest[..<end])
        }

        mutating func parameter() -> (String, String)? {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            let name = rest.prefix { !" \t=;,".contains($0) }
            guard !name.isEmpty else { return nil }
            rest = rest[name.endIndex...]
            guard skip("=") else { return (name.lowercased(), "") }
            return value().map { (name.lowercased(), $0) }
        }

        private mutating func value() -> String? {
            guard skip("\"") else {
                let token = rest.prefix { !" \t;,".contains($0) }
                rest = rest[token.endIndex...]
                return String(token)
            }
            var text = ""
            while let character = rest.popFirst() {
                switch character {
                case "\"": return text
                case "\\": if let next = rest.popFirst() { text.append(next) }
                default: text.append(character)
                }
            }
            return nil
        }
    }
}
