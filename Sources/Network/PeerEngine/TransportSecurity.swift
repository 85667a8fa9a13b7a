import EmisoraCore
import EmisoraCrypto

/// Who sends the ClientHello (RFC 8842 §5.2: the endpoint whose `a=setup` is `active`).
package enum TransportSecurityRole: Hashable, Sendable {
    case client
    case server
}

/// What a transport's security reports upward.
package enum TransportSecurityEvent: Equatable, Sendable {
    /// Peer authenticated by its fingerprint, media keys in place on both sides.
    case established
    /// Nothing more will be protected or accepted; `reason` is for a person.
    case failed(reason: String)
    /// The peer said goodbye (`close_notify`).
    case closed
}

/// How a `PeerEngine` keys and protects its media: DTLS-SRTP in production, a null one in the simulator, since
/// OpenSSL's DTLS reads a clock of its own and would break the simulator's determinism.
///
/// Packets are protected in place. The four packet calls return the new byte count, or `nil` where the packet must be
/// dropped: not yet established, forged, replayed, or without room for the tag.
package protocol TransportSecurity {
    /// Bytes that protecting a packet can add; the caller leaves this much room behind it.
    static var maximumOverhead: Int { get }

    /// The certificate's fingerprint for `a=fingerprint`.
    var localFingerprint: Fingerprint { get }
    var isEstablished: Bool { get }
    /// For statistics: `dtlsCipher`, `srtpCipher`, `tlsVersion`; empty before the handshake is done.
    var description: TransportSecurityDescription { get }

    mutating func start(role: TransportSecurityRole, now: Instant)
    /// The fingerprints of the remote description, one of which the peer's certificate must match.
    mutating func setRemoteFingerprints(_ fingerprints: [Fingerprint], now: Instant)
    /// Ids of the header extensions that are encrypted in both directions (RFC 6904); none others are.
    mutating func setEncryptedHeaderExtensions(_ ids: Set<UInt8>)
    mutating func handle(_ datagram: RawSpan, now: Instant)
    var nextDeadline: Instant? { get }
    mutating func handleTimeout(now: Instant)
    mutating func pollTransmit(into buffer: inout MutableRawSpan) -> Int?
    mutating func pollEvent() -> TransportSecurityEvent?
    /// Whether application data of the peer's is kept for `pollApplicationData`.
    var takesApplicationData: Bool { get set }
    /// Whether `sendApplicationData` works: later than `isEstablished` where media may start early.
    var canSendApplicationData: Bool { get }
    /// Seals bytes as one record for `pollTransmit`; `false` where that cannot be.
    mutating func sendApplicationData(_ bytes: [UInt8]) -> Bool
    /// One record of the peer's, authenticated.
    mutating func pollApplicationData() -> [UInt8]?
    /// Says goodbye to the peer; what `pollTransmit` gives afterwards is still to be sent.
    mutating func close()

    mutating func protectRTP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int?
    mutating func unprotectRTP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int?
    mutating func protectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int?
    mutating func unprotectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int?
}

/// What was negotiated, in the words of W3C webrtc-stats `transport`.
package struct TransportSecurityDescription: Equatable, Sendable {
    package var tlsVersion: String
    package var dtlsCipher: String
    package var srtpCipher: String

    package init(tlsVersion: String = "", dtlsCipher: String = "", srtpCipher: String = "") {
        self.tlsVersion = tlsVersion
        self.dtlsCipher = dtlsCipher
        self.srtpCipher = srtpCipher
    }
}
