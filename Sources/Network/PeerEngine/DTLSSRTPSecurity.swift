import EmisoraCore
import EmisoraCrypto
import EmisoraDTLS
import EmisoraSRTP

/// DTLS 1.2 for the keys (RFC 5764), SRTP and SRTCP for the packets (RFC 3711, RFC 7714).
package struct DTLSSRTPSecurity: TransportSecurity {
    package static let maximumOverhead = SRTPContext.maximumOverhead

    private let context: DTLSContext
    private let transport: DTLSTransport
    private var outbound: SRTPContext?
    private var inbound: SRTPContext?
    private var profile: SRTPKeyingMaterial.Profile?
    private var encryptedHeaderExtensions: Set<UInt8> = []
    private var failure: TransportSecurityEvent?

    /// Loads what the first connection would otherwise wait for.
    package static func prepare() {
        SRTPContext.prepare()
    }

    /// - Parameter maximumTransmissionUnit: bytes of a handshake's datagrams at the most.
    package init(
        context: DTLSContext, maximumTransmissionUnit: Int = DTLSTransport.maximumTransmissionUnit
    ) throws(DTLSError) {
        self.context = context
        transport = try DTLSTransport(context: context, maximumTransmissionUnit: maximumTransmissionUnit)
    }

    package var localFingerprint: Fingerprint { context.certificate.fingerprint }
    package var isEstablished: Bool { outbound != nil }

    package var description: TransportSecurityDescription {
        guard let profile else { return TransportSecurityDescription() }
        return TransportSecurityDescription(
            tlsVersion: "FEFD", dtlsCipher: transport.cipherName, srtpCipher: profile.name)
    }

    package mutating func start(role: TransportSecurityRole, now: Instant) {
        transport.start(role: role == .client ? .client : .server, now: now)
    }

    package mutating func setRemoteFingerprints(_ fingerprints: [Fingerprint], now: Instant) {
        transport.setExpectedFingerprints(fingerprints, now: now)
    }

    package mutating func setEncryptedHeaderExtensions(_ ids: Set<UInt8>) {
        guard ids != encryptedHeaderExtensions else { return }
        encryptedHeaderExtensions = ids
        do throws(SRTPError) {
            try outbound?.setEncryptedHeaderExtensions(ids)
            try inbound?.setEncryptedHeaderExtensions(ids)
        } catch {
            // What was to be encrypted must not go on in the clear.
            outbound = nil
            inbound = nil
            failure = .failed(reason: "SRTP cannot encrypt the negotiated header extensions: \(error)")
        }
    }

    package mutating func handle(_ datagram: RawSpan, now: Instant) {
        transport.handle(datagram, now: now)
    }

    package var nextDeadline: Instant? { transport.nextDeadline }

    package mutating func handleTimeout(now: Instant) {
        transport.handleTimeout(now: now)
    }

    package mutating func pollTransmit(into buffer: inout MutableRawSpan) -> Int? {
        transport.pollTransmit(into: &buffer)
    }

    package mutating func pollEvent() -> TransportSecurityEvent? {
        if let failure = failure.take() { return failure }
        return switch transport.pollEvent() {
        case .connected(let keys): establish(keys)
        case .failed(let error): .failed(reason: error.description)
        case .closed: .closed
        case nil: nil
        }
    }

    package var takesApplicationData: Bool {
        get { transport.takesApplicationData }
        set { transport.takesApplicationData = newValue }
    }

    package var canSendApplicationData: Bool { transport.isConnected }

    package mutating func sendApplicationData(_ bytes: [UInt8]) -> Bool {
        transport.send(bytes)
    }

    package mutating func pollApplicationData() -> [UInt8]? {
        transport.pollApplicationData()
    }

    package mutating func close() {
        transport.close()
        outbound = nil
        inbound = nil
    }

    private mutating func establish(_ keys: SRTPKeyingMaterial) -> TransportSecurityEvent {
        let profile: SRTPProfile =
            switch keys.profile {
            case .aeadAes128Gcm: .aeadAes128Gcm
            case .aeadAes256Gcm: .aeadAes256Gcm
            case .aes128CmHmacSha1_80: .aes128CmHmacSha1_80
            }
        do throws(SRTPError) {
            let outbound = try SRTPContext(
                profile: profile, masterKeyAndSalt: keys.local, direction: .outbound,
                encryptedHeaderExtensions: encryptedHeaderExtensions)
            inbound = try SRTPContext(
                profile: profile, masterKeyAndSalt: keys.remote, direction: .inbound,
                encryptedHeaderExtensions: encryptedHeaderExtensions)
            self.outbound = outbound
            self.profile = keys.profile
            return .established
        } catch {
            return .failed(reason: "SRTP cannot be set up with the negotiated keys: \(error)")
        }
    }

    // MARK: Packets

    package mutating func protectRTP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int? {
        try? outbound?.protectRTP(&packet, byteCount: byteCount)
    }

    package mutating func unprotectRTP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int? {
        try? inbound?.unprotectRTP(&packet, byteCount: byteCount)
    }

    package mutating func protectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int? {
        try? outbound?.protectRTCP(&packet, byteCount: byteCount)
    }

    package mutating func unprotectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int? {
        try? inbound?.unprotectRTCP(&packet, byteCount: byteCount)
    }
}
