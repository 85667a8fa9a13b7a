import CEmisoraOpenSSL
import EmisoraCore
import EmisoraCrypto

/// One DTLS 1.2 association for DTLS-SRTP (RFC 5764), without socket or thread.
///
/// ```
///  idle ──start──▶ handshaking ──finished──▶ awaitingFingerprint ──matches──▶ connected ──close_notify──▶ closed
///                      │                            │
///                      └────────── error ───────────┴──── mismatch ──▶ failed
/// ```
///
/// Feed it with datagrams and time-outs, then drain `pollTransmit` and `pollEvent`. Keys are released only when the
/// peer's certificate matches an expected fingerprint, which may be set after the handshake began: a ClientHello can
/// overtake the answer (RFC 8827 §6.5). A client releases them behind its own Finished, see `startEarly`. OpenSSL's retransmission timer runs on a clock of its own; this type reads its
/// remaining time and expresses it on the caller's.
package final class DTLSTransport {
    package enum Role: Hashable, Sendable {
        case client
        case server
    }

    package enum Event: Equatable, Sendable {
        case connected(SRTPKeyingMaterial)
        case failed(DTLSError)
        case closed
    }

    private enum State {
        case idle
        case handshaking(giveUpAt: Instant)
        /// The handshake is done, but the peer's description has not arrived yet.
        case awaitingFingerprint
        case connected
        case closed
        case failed
    }

    /// Datagrams of a flight stay below this, which every path of the Internet carries.
    package static let maximumTransmissionUnit = 1200
    /// Retransmission starts here and doubles (RFC 6347 §4.2.4.1 lets interactive uses go below one second).
    private static let firstRetransmissionMicroseconds: UInt32 = 60_000
    private static let longestRetransmissionMicroseconds: UInt32 = 1_000_000
    private static let handshakeTimeout: Duration = .seconds(30)
    /// Flights that stayed unanswered twice are cut half as large, then down to what every path carries
    /// (RFC 6347 §4.1.1.1).
    private static let timeoutsBeforeSmallerDatagrams = 2
    private static let leastMaximumTransmissionUnit = 256

    private let context: DTLSContext
    let ssl: OpaquePointer
    private let bio: DatagramBIO
    private var role: Role = .server
    private var state: State = .idle
    /// OpenSSL has accepted the peer's ChangeCipherSpec.
    private var isPeerEncrypting = false
    /// `connected` was said while the server's Finished was still on its way.
    private var hasStartedEarly = false
    private var expectedFingerprints: [Fingerprint] = []
    private var events: [Event] = []
    private var retransmitAt: Instant?
    private var maximumTransmissionUnit: Int
    private var silentTimeouts = 0
    /// What the peer sent beside the handshake, while anybody takes it.
    private var received: [[UInt8]] = []
    private var receiveBuffer: [UInt8] = []

    package init(context: DTLSContext, maximumTransmissionUnit: Int = maximumTransmissionUnit) throws(DTLSError) {
        ERR_clear_error()
        guard let ssl = SSL_new(context.handle) else { throw .handshake(OpenSSLError("Making a DTLS association")) }
        guard let bio = DatagramBIO(maximumTransmissionUnit: maximumTransmissionUnit) else {
            SSL_free(ssl)
            throw .handshake(OpenSSLError("Making a datagram BIO"))
        }
        self.context = context
        self.ssl = ssl
        self.bio = bio
        self.maximumTransmissionUnit = maximumTransmissionUnit
        // One BIO both ways: SSL_set_bio takes one reference for the pair and frees it with the SSL.
        SSL_set_bio(ssl, bio.handle, bio.handle)
        emisora_ssl_set_mtu(ssl, maximumTransmissionUnit)
        DTLS_set_timer_cb(ssl) { _, previous in
            previous == 0
                ? DTLSTransport.firstRetransmissionMicroseconds
                : min(previous &* 2, DTLSTransport.longestRetransmissionMicroseconds)
        }
    }

    deinit {
        SSL_free(ssl)
    }

    package var isConnected: Bool {
        if case .connected = state { true } else { false }
    }

    /// IANA's name of the cipher suite, such as `TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256`; empty before it is negotiated.
    package var cipherName: String {
        guard let cipher = SSL_get_current_cipher(ssl), let name = SSL_CIPHER_standard_name(cipher) else { return "" }
        return String(cString: name)
    }

    /// The fingerprints that the peer's description promised; one of them must match.
    package func setExpectedFingerprints(_ fingerprints: [Fingerprint], now: Instant) {
        expectedFingerprints = fingerprints
        if case .awaitingFingerprint = state { authenticate() }
    }

    /// Begins the handshake. A client sends its ClientHello at once. Repeated calls do nothing.
    package func start(role: Role, now: Instant) {
        guard case .idle = state else { return }
        self.role = role
        state = .handshaking(giveUpAt: now + Self.handshakeTimeout)
        switch role {
        case .client: SSL_set_connect_state(ssl)
        case .server: SSL_set_accept_state(ssl)
        }
        advance(now: now)
    }

    /// Takes one datagram from the validated path. Damaged and unexpected ones are ignored, as DTLS demands.
    package func handle(_ datagram: RawSpan, now: Instant) {
        switch state {
        case .handshaking, .awaitingFingerprint, .connected: break
        case .idle, .closed, .failed: return
        }
        let before = SSL_get_state(ssl)
        defer {
            // A repeated flight of the peer's says that ours has not come through, so it is no answer.
            if SSL_get_state(ssl) != before { silentTimeouts = 0 }
        }
        var offset = 0
        while offset < datagram.byteCount {
            let rest = datagram.extracting(droppingFirst: offset)
            let count = isPeerEncrypting ? rest.byteCount : PlaintextRecords.leadingByteCount(of: rest)
            guard count > 0 else { return }
            bio.supply(rest.extracting(first: count))
            advance(now: now)
            offset += count
            if !isPeerEncrypting {
                let state = SSL_get_state(ssl)
                isPeerEncrypting = [
                    TLS_ST_SR_CHANGE, TLS_ST_CR_CHANGE, TLS_ST_SR_FINISHED, TLS_ST_CR_FINISHED, TLS_ST_OK,
                ].contains(state)
            }
        }
    }

    package var nextDeadline: Instant? {
        guard case .handshaking(let giveUpAt) = state else { return nil }
        return min(retransmitAt ?? giveUpAt, giveUpAt)
    }

    package func handleTimeout(now: Instant) {
        guard case .handshaking(let giveUpAt) = state else { return }
        if now >= giveUpAt {
            fail(.timedOut)
        } else if let retransmitAt, now >= retransmitAt {
            ERR_clear_error()
            makeDatagramsSmaller()
            let result = emisora_dtls_handle_timeout(ssl)
            ERR_clear_error()
            // OpenSSL gives up after twelve silent retransmissions, about ten seconds, and cannot go on afterwards.
            guard result >= 0 else { return fail(.timedOut) }
            updateRetransmission(now: now)
        }
    }

    private func makeDatagramsSmaller() {
        silentTimeouts += 1
        guard silentTimeouts > Self.timeoutsBeforeSmallerDatagrams,
            maximumTransmissionUnit > Self.leastMaximumTransmissionUnit
        else { return }
        maximumTransmissionUnit =
            silentTimeouts == Self.timeoutsBeforeSmallerDatagrams + 1
            ? max(Self.leastMaximumTransmissionUnit, maximumTransmissionUnit / 2) : Self.leastMaximumTransmissionUnit
        emisora_ssl_set_mtu(ssl, maximumTransmissionUnit)
    }

    /// Writes the next outgoing datagram into `buffer` and gives its size; `nil` when there is none.
    package func pollTransmit(into buffer: inout MutableRawSpan) -> Int? {
        bio.takeOutgoing(into: &buffer)
    }

    package func pollEvent() -> Event? {
        events.isEmpty ? nil : events.removeFirst()
    }

    // MARK: Application data

    /// Whether records of the peer's are kept for `pollApplicationData`; else they are dropped as they come.
    package var takesApplicationData = false
    /// One datagram of the peer's has few records; what nobody fetches is lost, as on any path.
    private static let receivedLimit = 64
    private static let maximumRecordByteCount = 16_384

    /// Seals bytes as one record, which `pollTransmit` gives.
    ///
    /// - Returns: Whether it was; never before the peer's Finished has come and its certificate matched.
    package func send(_ bytes: [UInt8]) -> Bool {
        guard case .connected = state, !bytes.isEmpty, let count = Int32(exactly: bytes.count) else { return false }
        ERR_clear_error()
        defer { ERR_clear_error() }
        return bytes.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, count) } == count
    }

    package func pollApplicationData() -> [UInt8]? {
        received.isEmpty ? nil : received.removeFirst()
    }

    /// Sends `close_notify`; drain `pollTransmit` afterwards.
    package func close() {
        switch state {
        case .connected, .awaitingFingerprint:
            ERR_clear_error()
            _ = SSL_shutdown(ssl)
            ERR_clear_error()
        case .idle, .handshaking, .closed, .failed: break
        }
        state = .closed
        retransmitAt = nil
    }

    // MARK: Inside

    private func advance(now: Instant) {
        ERR_clear_error()
        if case .handshaking = state {
            let result = SSL_do_handshake(ssl)
            if result == 1 {
                state = .awaitingFingerprint
                if !expectedFingerprints.isEmpty { authenticate() }
                // The datagram that finished the handshake may hold more, such as an alert.
                readRecords()
            } else {
                switch SSL_get_error(ssl, result) {
                case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: startEarly()
                default: fail(.handshake(OpenSSLError(role == .client ? "Connecting" : "Accepting")))
                }
            }
        } else {
            readRecords()
        }
        ERR_clear_error()
        updateRetransmission(now: now)
    }

    /// After the handshake come alerts, repeated flights, and application data, which counts once the peer is known.
    private func readRecords() {
        switch state {
        case .awaitingFingerprint, .connected: break
        case .idle, .handshaking, .closed, .failed: return
        }
        if receiveBuffer.isEmpty {
            receiveBuffer = [UInt8](repeating: 0, count: takesApplicationData ? Self.maximumRecordByteCount : 32)
        }
        // Bounded: one datagram holds few records.
        for _ in 0..<Self.receivedLimit {
            let count = receiveBuffer.withUnsafeMutableBytes { SSL_read(ssl, $0.baseAddress, Int32($0.count)) }
            if count > 0 {
                if takesApplicationData, isConnected, received.count < Self.receivedLimit {
                    received.append(Array(receiveBuffer[..<Int(count)]))
                }
                continue
            }
            switch SSL_get_error(ssl, count) {
            case SSL_ERROR_ZERO_RETURN:
                state = .closed
                events.append(.closed)
            case SSL_ERROR_SSL where SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0:
                fail(.alert(OpenSSLError("Receiving")))
            default: break
            }
            return
        }
    }

    var selectedProfile: SRTPKeyingMaterial.Profile? {
        SSL_get_selected_srtp_profile(ssl).flatMap { UInt16(exactly: $0.pointee.id) }
            .flatMap(SRTPKeyingMaterial.Profile.init(rawValue:))
    }

    private func authenticate() {
        do throws(DTLSError) {
            let keys = try authenticatedKeys()
            state = .connected
            if !hasStartedEarly { events.append(.connected(keys)) }
        } catch {
            fail(error)
        }
    }

    /// False Start (RFC 7918): a client sends behind its own Finished, a round trip before the server's arrives.
    ///
    /// By then the server has signed the key exchange with the key of the certificate whose fingerprint was promised, so
    /// that nobody else has the keys. What its Finished adds is that the negotiation was not tampered with; until then
    /// the choice is among what RFC 7918 §5 asks for: every suite of `DTLSContext` has an ephemeral exchange and an AEAD
    /// cipher. The handshake goes on, and ends the association if that Finished is wrong or never comes. Where anything
    /// is amiss nothing is started early; the end of the handshake then says why.
    private func startEarly() {
        guard role == .client, !hasStartedEarly, SSL_get_state(ssl) == TLS_ST_CW_FINISHED,
            !expectedFingerprints.isEmpty, let keys = try? authenticatedKeys()
        else { return }
        hasStartedEarly = true
        events.append(.connected(keys))
    }

    private func authenticatedKeys() throws(DTLSError) -> SRTPKeyingMaterial {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { throw .fingerprintMismatch }
        defer { X509_free(certificate) }
        var der = [UInt8](repeating: 0, count: max(0, Int(i2d_X509(certificate, nil))))
        _ = der.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return i2d_X509(certificate, &cursor)
        }
        guard expectedFingerprints.contains(where: { $0.matches(certificate: der.span.bytes) }) else {
            throw .fingerprintMismatch
        }
        guard let profile = selectedProfile else { throw .noCommonSRTPProfile }
        var exported = [UInt8](repeating: 0, count: 2 * (profile.keyByteCount + profile.saltByteCount))
        let label = "EXTRACTOR-dtls_srtp"
        guard SSL_export_keying_material(ssl, &exported, exported.count, label, label.utf8.count, nil, 0, 0) == 1,
            let keys = SRTPKeyingMaterial(profile: profile, exported: exported, isClient: role == .client)
        else { throw .handshake(OpenSSLError("Exporting SRTP keys")) }
        return keys
    }

    private func fail(_ error: DTLSError) {
        if case .awaitingFingerprint = state {
            // The handshake itself went well, so the peer believes in the association until it is told.
            ERR_clear_error()
            _ = SSL_shutdown(ssl)
            ERR_clear_error()
        }
        state = .failed
        retransmitAt = nil
        events.append(.failed(error))
    }

    private func updateRetransmission(now: Instant) {
        guard case .handshaking = state else {
            retransmitAt = nil
            return
        }
        let left = emisora_dtls_timeout_us(ssl)
        // One more millisecond: OpenSSL must find its timer expired when we say so.
        retransmitAt = left < 0 ? nil : now + .microseconds(left + 1_000)
    }
}
