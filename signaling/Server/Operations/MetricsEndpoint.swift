import EmisoraOperations
import Synchronization

/// An HTTP server with `/metrics`, `/healthz` and `/readyz` and nothing else, on a thread of its own.
///
/// ```swift
/// let endpoint = MetricsEndpoint(isReady: { session.isConnected }) { figures.text }
/// try endpoint.start(at: MetricsAddress("127.0.0.1:9090")!)
/// …
/// endpoint.stop()
/// ```
///
/// It has no tokens and no TLS: it is for addresses that only those reach who may read it.
package final class MetricsEndpoint: Sendable {
    private let pages: OperationsPages
    private let running = Mutex<ServerThread<ServerLoop>?>(nil)

    /// Both are called on the endpoint's thread.
    ///
    /// - Parameters:
    ///   - isReady: What `/readyz` answers.
    ///   - exposition: Gives metrics in Prometheus' text format.
    package convenience init(
        isReady: @escaping @Sendable () -> Bool = { true }, exposition: @escaping @Sendable () -> String
    ) {
        self.init(exposition: exposition, readiness: { isReady() ? .ready : .waiting })
    }

    init(
        exposition: @escaping @Sendable () -> String,
        readiness: @escaping @Sendable () -> ServerMetrics.Readiness,
        isShared: @escaping @Sendable () -> Bool? = { nil }
    ) {
        pages = OperationsPages(
            readers: .everybody, isAlone: true, exposition: exposition, readiness: readiness, isShared: isShared)
    }

    deinit { stop() }

    /// Serves from here on. Returns the port; at once when running already.
    @discardableResult
    package func start(at address: MetricsAddress) throws(SignalingServerError) -> UInt16 {
        try running.withLock { running throws(SignalingServerError) in
            if let running { return running.body.port }
            let listening = try ListenAddress(host: address.host, port: address.port)
            try listening.checkFree()
            let loop = try ServerLoop(
                address: listening, settings: .init(), certificateFiles: nil, log: .discarding, pages: pages)
            running = try ServerThread(running: loop)
            return loop.port
        }
    }

    /// Closes every connection; the port is free afterwards.
    package func stop() {
        let ended = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let ended else { return }
        ended.body.requestStop()
        ended.join()
    }
}

/// `HOST:PORT`, with an address of IPv6 in brackets.
package struct MetricsAddress: Equatable, Sendable {
    package var host: String
    package var port: UInt16

    /// `nil` for anything else.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x5B && $0 != 0x5D }) else {
            return nil
        }
        self.host = String(host)
        self.port = port
    }

    /// As it stands in a URL.
    package var urlHost: String { host.contains(":") ? "[\(host)]" : host }
}
