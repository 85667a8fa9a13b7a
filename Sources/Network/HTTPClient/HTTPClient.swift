import CEmisoraCurl
import Synchronization

/// An HTTP client that keeps its connections, one request after the other.
///
/// ```swift
/// let client = try HTTPClient()
/// let response = try client.send(HTTPClientRequest("DELETE", HTTPURL("https://example.org/whip/1")!, token: "…"))
/// ```
///
/// Redirects are followed where the request stays what it is (307 and 308, RFC 9110 §15.4), five at the most, never from
/// TLS to none, and without the token where they lead to another origin.
///
/// `@unchecked Sendable`: `send` is called by one thread at a time, which alone touches the handles; other threads only
/// call `cancel()`, for which libcurl has a function that any thread may call.
package final class HTTPClient: @unchecked Sendable {
    private static let redirectLimit = 5
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    private static let connectTimeout: Duration = .seconds(5)

    private let multi: UnsafeMutableRawPointer
    private let easy: UnsafeMutableRawPointer
    private let authorities: String?
    private let isCancelled = Atomic(false)

    /// - Parameter authorities: The path of a PEM file in place of the system's certificate authorities.
    package init(authorities: String? = nil) throws(HTTPClientError) {
        guard Self.isReady, let multi = curl_multi_init() else { throw .system("libcurl does not start") }
        guard let easy = curl_easy_init() else {
            curl_multi_cleanup(multi)
            throw .system("libcurl does not start")
        }
        self.multi = multi
        self.easy = easy
        self.authorities = authorities
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
    }

    /// Ends the request under way, and lets no other begin until `reset()`; from any thread.
    package func cancel() {
        isCancelled.store(true, ordering: .releasing)
        curl_multi_wakeup(multi)
    }

    package func reset() {
        isCancelled.store(false, ordering: .releasing)
    }

    /// Sends the request and waits for the whole response.
    package func send(_ request: HTTPClientRequest) throws(HTTPClientError) -> HTTPClientResponse {
        var request = request
        let deadline = ContinuousClock.now + request.timeout
        for _ in 0...Self.redirectLimit {
            request.timeout = deadline - .now
            let response = try exchange(request)
            guard response.status == 307 || response.status == 308 else { return response }
            let from = request.url.text
            guard let next = response.header("Location").flatMap(request.url.resolving) else {
                throw .badRedirect(from: from, reason: "not to a URL")
            }
            guard next.isSecure || !request.url.isSecure else {
                throw .badRedirect(from: from, reason: "away from TLS")
            }
            if next.origin != request.url.origin { request.token = nil }
            request.url = next
        }
        throw .badRedirect(from: request.url.text, reason: "that is one time too many")
    }

    private func exchange(_ request: HTTPClientRequest) throws(HTTPClientError) -> HTTPClientResponse {
        let transfer = HTTPTransfer()
        var list: UnsafeMutablePointer<curl_slist>?
        // Else libcurl waits for a go-ahead that few servers give.
        var lines = ["Expect:"] + request.headers.map { "\($0.name): \($0.value)" }
        if let token = request.token { lines.append("Authorization: Bearer \(token)") }
        for line in lines { list = curl_slist_append(list, line) }
        defer { curl_slist_free_all(list) }
        curl_easy_reset(easy)
        configure(request, list, transfer)
        if let body = request.body { set(body: body) }
        let result = try run()
        withExtendedLifetime(transfer) {}
        guard result == CURLE_OK else {
            let reason = transfer.isTooLarge ? "its answer is too large" : String(cString: curl_easy_strerror(result))
            throw .unreachable(url: request.url.text, reason: reason)
        }
        var status = 0
        emisora_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
        return HTTPClientResponse(
            status: status, url: request.url, sawToken: request.token != nil, headers: transfer.headers,
            body: transfer.body)
    }

    private func configure(
        _ request: HTTPClientRequest, _ list: UnsafeMutablePointer<curl_slist>?, _ transfer: HTTPTransfer
    ) {
        let timeout =
            request.timeout.components.seconds * 1_000 + request.timeout.components.attoseconds / 1_000_000_000_000_000
        emisora_curl_set_text(easy, CURLOPT_URL, request.url.text)
        emisora_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        emisora_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method)
        emisora_curl_set_text(easy, CURLOPT_USERAGENT, "Emisora")
        emisora_curl_set_list(easy, CURLOPT_HTTPHEADER, list)
        emisora_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        emisora_curl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        emisora_curl_set_long(easy, CURLOPT_TIMEOUT_MS, Int(max(1, timeout)))
        emisora_curl_set_long(
            easy, CURLOPT_CONNECTTIMEOUT_MS, Int(min(max(1, timeout), Self.connectTimeout.components.seconds * 1_000)))
        if let authorities {
            emisora_curl_set_text(easy, CURLOPT_CAINFO, authorities)
            emisora_curl_set_text(easy, CURLOPT_CAPATH, nil)
        }
        if request.method == "HEAD" { emisora_curl_set_long(easy, CURLOPT_NOBODY, 1) }
        let user = Unmanaged.passUnretained(transfer).toOpaque()
        emisora_curl_set_callback(easy, CURLOPT_WRITEFUNCTION, takeBody)
        emisora_curl_set_user(easy, CURLOPT_WRITEDATA, user)
        emisora_curl_set_callback(easy, CURLOPT_HEADERFUNCTION, takeHeader)
        emisora_curl_set_user(easy, CURLOPT_HEADERDATA, user)
    }

    private func set(body: [UInt8]) {
        emisora_curl_set_long(easy, CURLOPT_POSTFIELDSIZE, body.count)
        // Copied by libcurl. An empty body has no address of its own, for which it would ask a callback.
        (body.isEmpty ? [0] : body).withUnsafeBytes { bytes in
            _ = emisora_curl_set_user(
                easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }
    }

    /// Waits for the transfer's end, or for `cancel()`.
    private func run() throws(HTTPClientError) -> CURLcode {
        guard curl_multi_add_handle(multi, easy) == CURLM_OK else { throw .system("libcurl takes no transfer") }
        defer { curl_multi_remove_handle(multi, easy) }
        var running: Int32 = 1
        while true {
            if isCancelled.load(ordering: .acquiring) { throw .cancelled }
            guard curl_multi_perform(multi, &running) == CURLM_OK else { throw .system("libcurl does not go on") }
            guard running > 0 else { return emisora_curl_result(multi) }
            curl_multi_poll(multi, nil, 0, 1_000, nil)
        }
    }
}

/// What comes of one exchange. Touched by libcurl's callbacks, on the thread that runs the transfer.
private final class HTTPTransfer {
    private static let bodyLimit = 1 << 18
    private static let headerLimit = 200

    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    var isTooLarge = false

    /// One line of a header section; each response, also an interim one, begins anew.
    func take(header bytes: UnsafeRawBufferPointer) -> Bool {
        let line = String(decoding: bytes, as: UTF8.self).filter { !$0.isNewline }
        if line.hasPrefix("HTTP/") {
            headers = []
        } else if let colon = line.firstIndex(of: ":") {
            guard headers.count < Self.headerLimit else { return false }
            headers.append((String(line[..<colon]), line[line.index(after: colon)...].trimmed))
        }
        return true
    }

    func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= Self.bodyLimit else {
            isTooLarge = true
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}

private func takeBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let user else { return 0 }
    let taken = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return Unmanaged<HTTPTransfer>.fromOpaque(user).takeUnretainedValue().take(body: taken) ? taken.count : 0
}

private func takeHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let user else { return 0 }
    let taken = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return Unmanaged<HTTPTransfer>.fromOpaque(user).takeUnretainedValue().take(header: taken) ? taken.count : 0
}
