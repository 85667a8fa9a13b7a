import EmisoraCore
import EmisoraSignalingProtocol

/// A request as the state machines see it: read whole, bounded, its path percent-decoded by nobody.
struct HTTPRequest: Equatable, Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        case options = "OPTIONS"
        case other = "OTHER"
    }

    var method: Method
    /// Without the query.
    var path: String
    /// Whether it comes from a program of this machine.
    var isLocal = false
    /// `Content-Type` as sent.
    var contentType: String?
    /// `If-Match` as sent.
    var ifMatch: String?
    /// `Host` and `Origin` as sent; an origin that cannot be read is empty.
    var host: String?
    var origin: String?
    /// Of `Authorization: Bearer`.
    var token: BearerToken?
    /// Who asks; all whose address is not known share one.
    var address = IPAddress(v4: 0)
    var body: [UInt8] = []

    /// `type/subtype` of `Content-Type`, in lower case, without parameters.
    var mediaType: String? {
        contentType?.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    }
}

/// One request on its way through the server.
struct HTTPRequestID: Hashable, Sendable {
    var number: UInt64
}

struct HTTPResponse: Equatable, Sendable {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// Whether the connection ends after this; for requests whose body was not read.
    var closes = false

    static func == (a: Self, b: Self) -> Bool {
        a.status == b.status && a.body == b.body && a.closes == b.closes
            && a.headers.elementsEqual(b.headers) { $0.name == $1.name && $0.value == $1.value }
    }

    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// RFC 9457. `detail` says to a person what is wrong and what to do.
    static func problem(_ status: Int, _ detail: String) -> Self {
        // `detail` is one of our own sentences, with names from the checked alphabet at most: nothing to escape.
        let body =
            "{\"type\":\"about:blank\",\"title\":\"\(reason(of: status))\",\"status\":\(status),"
            + "\"detail\":\"\(detail)\"}\n"
        return Self(status: status, headers: [("Content-Type", "application/problem+json")], body: Array(body.utf8))
    }

    /// RFC 6750 §3: the same words for everything that is not let in.
    static func unauthorized(_ detail: String) -> Self {
        problem(401, detail).adding("WWW-Authenticate", "Bearer")
    }

    /// RFC 6585 §4.
    static let tooMany = problem(429, "Requests come too fast.").adding("Retry-After", "1")

    static func text(_ status: Int, _ type: String, _ text: String) -> Self {
        Self(status: status, headers: [("Content-Type", type)], body: Array(text.utf8))
    }

    func adding(_ name: String, _ value: String) -> Self {
        var copy = self
        copy.headers.append((name, value))
        return copy
    }

    /// The whole message of HTTP/1.1; a `HEAD` gets the same header section and nothing after it.
    func serialized(head: Bool, keepAlive: Bool) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reason(of: status))\r\n"
        for (name, value) in headers {
            text += "\(name): \(value)\r\n"
        }
        if status != 204 { text += "Content-Length: \(body.count)\r\n" }
        text += "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        text += "Connection: \(keepAlive && !closes ? "keep-alive" : "close")\r\n\r\n"
        return Array(text.utf8) + (head ? [] : body)
    }

    static func reason(of status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 409: "Conflict"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: "Unknown"
        }
    }
}
