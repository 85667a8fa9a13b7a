/// A secret text that lets its bearer in, kept out of everything that is printed.
///
/// The wire has the text itself; whoever prints a message, a request or a setting that holds a token sees `(token)`.
package struct BearerToken: Hashable, Codable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The longest token that is looked at: claims of 1 KiB of connection data and names, in base64.
    package static let maximumByteCount = 4096

    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// The token of an `Authorization` header (RFC 6750 §2.1); `nil` for another scheme.
    package init?(authorization: String) {
        let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        text = String(parts[1]).trimmed
    }

    package init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    package var description: String { "(token)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
