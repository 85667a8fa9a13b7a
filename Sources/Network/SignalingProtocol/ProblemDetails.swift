import EmisoraCore
import FoundationEssentials

/// What an HTTP server says went wrong (RFC 9457).
package struct ProblemDetails: Decodable, Equatable, Sendable {
    package var title: String?
    package var detail: String?

    /// `nil`: it is no such document.
    package init?(json: [UInt8]) {
        guard let problem = try? JSONDecoder().decode(Self.self, from: Data(json)) else { return nil }
        self = problem
    }

    /// A sentence for a person out of a body of whatever type, on one line and not long.
    package static func text(of body: [UInt8], mediaType: String?) -> String? {
        let text: String?
        switch mediaType {
        case "application/problem+json", "application/json":
            let problem = ProblemDetails(json: body)
            text = problem?.detail ?? problem?.title
        case "text/plain", nil, "": text = String(decoding: body, as: UTF8.self)
        default: text = mediaType == "text/html" ? String(decoding: body, as: UTF8.self).withoutTags : nil
        }
        // Bytes of others' do not steer the terminal.
        let shown = text?.unicodeScalars.map { scalar in
            scalar.properties.isWhitespace || scalar.steersTerminals ? " " : "\(scalar)"
        }.joined().split(separator: " ").joined(separator: " ")
        guard let shown, !shown.isEmpty else { return nil }
        return String(shown.prefix(200))
    }
}

extension String {
    /// As far as an error page of a web server needs it.
    fileprivate var withoutTags: String {
        var text = ""
        var isInTag = false
        for character in self {
            if character == "<" {
                isInTag = true
            } else if character == ">" {
                isInTag = false
            } else if !isInTag {
                text.append(character)
            }
        }
        return text
    }
}
