/// What is asked of a server.
package struct HTTPClientRequest: Equatable, Sendable {
    package var method: String
    package var url: HTTPURL
    /// Names and values of printable ASCII.
    package var headers: [(name: String, value: String)]
    /// Goes into `Authorization: Bearer` (RFC 6750), to `url`'s origin alone.
    package var token: String?
    package var body: [UInt8]?
    /// Until the whole response is there, redirects included.
    package var timeout: Duration

    package init(
        _ method: String, _ url: HTTPURL, headers: [(name: String, value: String)] = [], token: String? = nil,
        body: [UInt8]? = nil, timeout: Duration = .seconds(20)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.token = token
        self.body = body
        self.timeout = timeout
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.method == b.method && a.url == b.url && a.token == b.token && a.body == b.body && a.timeout == b.timeout
            && a.headers.elementsEqual(b.headers) { $0.name == $1.name && $0.value == $1.value }
    }

    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

package struct HTTPClientResponse: Sendable {
    package var status: Int
    /// Where the response came from in the end.
    package var url: HTTPURL
    /// Whether that place was shown the token.
    package var sawToken: Bool
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        status: Int, url: HTTPURL, sawToken: Bool = true, headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        self.status = status
        self.url = url
        self.sawToken = sawToken
        self.headers = headers
        self.body = body
    }

    package var isSuccess: Bool { (200...299).contains(status) }

    /// The first header of that name, in whatever case.
    package func header(_ name: String) -> String? { values(of: name).first }

    package func values(of name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// `type/subtype` of `Content-Type`, in lower case, without parameters.
    package var mediaType: String? {
        header("Content-Type")?.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    }
}

/// Why there is no response.
package enum HTTPClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// No connection, a broken one, a certificate that is not trusted, or no answer in time.
    case unreachable(url: String, reason: String)
    /// A redirect that leads nowhere, away from TLS, or one too many.
    case badRedirect(from: String, reason: String)
    /// `cancel()` was called.
    case cancelled
    /// libcurl could not be set up.
    case system(String)

    package var description: String {
        switch self {
        case .unreachable(let url, let reason): "\(url) cannot be reached: \(reason)."
        case .badRedirect(let url, let reason): "\(url) redirects, but \(reason)."
        case .cancelled: "The request was cancelled."
        case .system(let reason): "HTTP cannot be used: \(reason)."
        }
    }
}
