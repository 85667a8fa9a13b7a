import EmisoraCore
import EmisoraCrypto
import EmisoraPeerEngine

/// Transport security without secrets: a two-message handshake and packets with a tag of four fixed bytes, so that a
/// whole peer runs deterministically. OpenSSL's DTLS reads a clock of its own and cannot.
package struct NullSecurity: TransportSecurity {
    package static let maximumOverhead = 4
    private static let hello: [UInt8] = [22, 0xFE, 0xFD, 1]
    /// The content type of records that carry it in DTLS, too.
    private static let applicationData: UInt8 = 23
    private static let tag: UInt32 = 0x5AFE_5AFE

    package let localFingerprint: Fingerprint
    package private(set) var isEstablished = false
    package var description: TransportSecurityDescription { TransportSecurityDescription(tlsVersion: "null") }

    private var isClient = false
    private var isStarted = false
    private var outgoing = 0
    package var takesApplicationData = false
    private var records: [[UInt8]] = []
    private var received: [[UInt8]] = []
    private var retransmitAt: Instant?
    private var event: TransportSecurityEvent?

    package init() {
        let nothing: [UInt8] = []
        guard let fingerprint = Fingerprint(ofCertificate: nothing.span.bytes) else {
            preconditionFailure("SHA-256 is missing from OpenSSL")
        }
        localFingerprint = fingerprint
    }

    package mutating func start(role: TransportSecurityRole, now: Instant) {
        isStarted = true
        isClient = role == .client
        guard isClient else { return }
        outgoing += 1
        retransmitAt = now + .milliseconds(50)
    }

    package mutating func setRemoteFingerprints(_ fingerprints: [Fingerprint], now: Instant) {}

    /// There is nothing to hide it with.
    package mutating func setEncryptedHeaderExtensions(_ ids: Set<UInt8>) {}

    package mutating func handle(_ datagram: RawSpan, now: Instant) {
        let bytes = datagram.withUnsafeBytes { Array($0) }
        if isEstablished, takesApplicationData, bytes.first == Self.applicationData {
            received.append(Array(bytes.dropFirst()))
        }
        guard isStarted, datagram.withUnsafeBytes({ $0.elementsEqual(Self.hello) }) else { return }
        if !isClient { outgoing += 1 }
        retransmitAt = nil
        if !isEstablished { event = .established }
        isEstablished = true
    }

    package var nextDeadline: Instant? { retransmitAt }

    package mutating func handleTimeout(now: Instant) {
        guard let due = retransmitAt, now >= due else { return }
        outgoing += 1
        retransmitAt = now + .milliseconds(100)
    }

    package mutating func pollTransmit(into buffer: inout MutableRawSpan) -> Int? {
        if outgoing == 0, !records.isEmpty {
            let record = records.removeFirst()
            buffer.withUnsafeMutableBytes { $0.copyBytes(from: [Self.applicationData] + record) }
            return record.count + 1
        }
        guard outgoing > 0 else { return nil }
        outgoing -= 1
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: Self.hello) }
        return Self.hello.count
    }

    package mutating func pollEvent() -> TransportSecurityEvent? {
        defer { event = nil }
        return event
    }

    package var canSendApplicationData: Bool { isEstablished }

    package mutating func sendApplicationData(_ bytes: [UInt8]) -> Bool {
        guard isEstablished else { return false }
        records.append(bytes)
        return true
    }

    package mutating func pollApplicationData() -> [UInt8]? {
        received.isEmpty ? nil : received.removeFirst()
    }

    package mutating func close() { isEstablished = false }

    package mutating func protectRTP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int? {
        guard isEstablished, packet.byteCount >= byteCount + 4 else { return nil }
        packet.storeBytes(of: Self.tag, toByteOffset: byteCount, as: UInt32.self)
        return byteCount + 4
    }

    package mutating func unprotectRTP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int? {
        guard isEstablished, byteCount >= 4,
            packet.bytes.unsafeLoadUnaligned(fromByteOffset: byteCount - 4, as: UInt32.self) == Self.tag
        else { return nil }
        return byteCount - 4
    }

    package mutating func protectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int? {
        protectRTP(&packet, byteCount: byteCount)
    }

    package mutating func unprotectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) -> Int? {
        unprotectRTP(&packet, byteCount: byteCount)
    }
}
