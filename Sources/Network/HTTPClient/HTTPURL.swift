import CEmisoraCurl

/// An `http:` or `https:` URL (RFC 3986), taken apart as far as a client has to.
package struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    /// Who answers (RFC 6454 §4): what a credential is for.
    package struct Origin: Hashable, Sendable {
        package var scheme: String
        package var host: String
        package var port: UInt16

        package init(scheme: String, host: String, port: UInt16) {
            self.scheme = scheme
            self.host = host
            self.port = port
        }
    }

    private static let byteLimit = 4_096

    package let origin: Origin
    /// The URL as a whole, without a fragment.
    package let text: String
    /// Begins with a slash.
    package let path: String

    package var isSecure: Bool { origin.scheme == "https" }

    /// - Returns: `nil` where `text` is no such URL, or has a user name in it, which belongs into a header.
    package init?(_ text: String) {
        self.init(text, base: nil)
    }

    /// What `reference` means as a reference in this URL's document (RFC 3986 §5), as in `Location`.
    package func resolving(_ reference: String) -> HTTPURL? {
        HTTPURL(reference, base: self.text)
    }

    private init?(_ text: String, base: String?) {
        guard text.utf8.count <= Self.byteLimit, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            let url = curl_url()
        else { return nil }
        defer { curl_url_cleanup(url) }
        if let base, curl_url_set(url, CURLUPART_URL, base, 0) != CURLUE_OK { return nil }
        guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK,
            curl_url_set(url, CURLUPART_FRAGMENT, nil, 0) == CURLUE_OK,
            let scheme = Self.part(CURLUPART_SCHEME, of: url)?.lowercased(), ["http", "https"].contains(scheme),
            let host = Self.part(CURLUPART_HOST, of: url)?.lowercased(),
            let port = Self.part(CURLUPART_PORT, of: url, flags: CURLU_DEFAULT_PORT).flatMap(UInt16.init),
            Self.part(CURLUPART_USER, of: url) == nil, Self.part(CURLUPART_PASSWORD, of: url) == nil,
            let path = Self.part(CURLUPART_PATH, of: url), let whole = Self.part(CURLUPART_URL, of: url)
        else { return nil }
        origin = Origin(scheme: scheme, host: host, port: port)
        self.path = path
        self.text = whole
    }

    package var description: String { text }

    private static func part(_ part: CURLUPart, of url: OpaquePointer, flags: Int32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(url, part, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
