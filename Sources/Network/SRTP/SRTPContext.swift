import CEmisoraSRTP
import EmisoraCore

/// The keys and counters of one direction of an SRTP session (RFC 3711), for all its SSRCs.
///
/// Packets are transformed in place. One thread at a time.
///
/// An RTP packet may be protected again, as a retransmission on the media's own SSRC is, but only with the very same
/// bytes, header extensions included: with AES-GCM a changed packet under the same index throws `indexReused`.
///
/// ```swift
/// let outbound = try SRTPContext(profile: .aeadAes128Gcm, masterKeyAndSalt: keys.local, direction: .outbound)
/// let byteCount = try outbound.protectRTP(&slot, byteCount: plainByteCount)
/// ```
package final class SRTPContext {
    package enum Direction: Hashable, Sendable {
        case inbound
        case outbound
    }

    /// Bytes that protection adds at most: the tag, and for RTCP the index of 4 bytes.
    package static let maximumOverhead = 16 + 4
    /// Packets that may arrive late and still be told from repeated ones. RFC 3711 §3.3.2 asks for at least 64; NACK
    /// and reordering at high rates need more.
    private static let replayWindow: UInt = 1024
    /// Distinct SSRCs that a peer may use; libsrtp keeps about 1 kB for each of them until the session ends.
    package static let maximumInboundStreamCount = 64
    private static let minimumRTPByteCount = 12
    private static let minimumRTCPByteCount = 8
    private static let maximumPacketByteCount = 65_535

    private let session: srtp_t
    private let profile: SRTPProfile
    /// SSRCs of which an authentic packet came.
    private var inboundSSRCs: Set<UInt32> = []
    private var indexGuard: IndexGuard?

    package init(profile: SRTPProfile, masterKeyAndSalt: [UInt8], direction: Direction) throws(SRTPError) {
        guard masterKeyAndSalt.count == profile.keyByteCount + profile.saltByteCount else { throw .malformed }
        guard Self.libraryStatus == srtp_err_status_ok else { throw .library(status: Self.libraryStatus.rawValue) }
        var policy = srtp_policy_t()
        for crypto in [\srtp_policy_t.rtp, \.rtcp] {
            switch profile {
            case .aeadAes128Gcm: emisora_srtp_policy_aead_aes_128_gcm(&policy[keyPath: crypto])
            case .aeadAes256Gcm: emisora_srtp_policy_aead_aes_256_gcm(&policy[keyPath: crypto])
            case .aes128CmHmacSha1_80: emisora_srtp_policy_aes_cm_128_hmac_sha1_80(&policy[keyPath: crypto])
            }
        }
        policy.ssrc.type = direction == .inbound ? ssrc_any_inbound : ssrc_any_outbound
        policy.window_size = Self.replayWindow
        // A retransmission on the media's own SSRC repeats an index that was sent before; it is the same packet.
        policy.allow_repeat_tx = direction == .outbound ? 1 : 0
        var created: srtp_t?
        var key = masterKeyAndSalt
        let status = key.withUnsafeMutableBufferPointer { buffer in
            policy.key = buffer.baseAddress
            return srtp_create(&created, &policy)
        }
        guard status == srtp_err_status_ok, let created else { throw Self.error(status) }
        session = created
        self.profile = profile
        indexGuard =
            direction == .outbound && profile.isAEAD
            ? IndexGuard(window: Int(Self.replayWindow)) : nil
    }

    deinit {
        srtp_dealloc(session)
    }

    /// Encrypts and authenticates the RTP packet in the first `byteCount` bytes; gives its new size.
    package func protectRTP(_ packet: inout MutableRawSpan, byteCount: Int) throws(SRTPError) -> Int {
        if byteCount >= Self.minimumRTPByteCount, byteCount <= packet.byteCount - profile.tagByteCount,
            indexGuard?.admits(packet.bytes.extracting(first: byteCount)) == false
        {
            throw .indexReused
        }
        return try protect(&packet, byteCount, minimum: Self.minimumRTPByteCount, overhead: profile.tagByteCount) {
            srtp_protect(session, $0, $1)
        }
    }

    /// Encrypts and authenticates the RTCP packet in the first `byteCount` bytes; gives its new size.
    package func protectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) throws(SRTPError) -> Int {
        try protect(&packet, byteCount, minimum: Self.minimumRTCPByteCount, overhead: profile.tagByteCount + 4) {
            srtp_protect_rtcp(session, $0, $1)
        }
    }

    /// Checks and decrypts the SRTP packet in the first `byteCount` bytes; gives the size of the RTP packet.
    package func unprotectRTP(_ packet: inout MutableRawSpan, byteCount: Int) throws(SRTPError) -> Int {
        let minimum = Self.minimumRTPByteCount + profile.tagByteCount
        return try unprotect(&packet, byteCount, minimum: minimum, ssrcOffset: 8) { srtp_unprotect(session, $0, $1) }
    }

    /// Checks and decrypts the SRTCP packet in the first `byteCount` bytes; gives the size of the RTCP packet.
    package func unprotectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) throws(SRTPError) -> Int {
        let minimum = Self.minimumRTCPByteCount + profile.tagByteCount + 4
        return try unprotect(&packet, byteCount, minimum: minimum, ssrcOffset: 4) {
            srtp_unprotect_rtcp(session, $0, $1)
        }
    }

    // MARK: Inside

    private typealias Operation = (UnsafeMutableRawPointer, UnsafeMutablePointer<Int32>) -> srtp_err_status_t

    private func protect(
        _ packet: inout MutableRawSpan, _ byteCount: Int, minimum: Int, overhead: Int, _ operation: Operation
    ) throws(SRTPError) -> Int {
        guard byteCount >= 0, packet.byteCount - byteCount >= overhead else {
            throw .noRoom(needed: overhead, available: packet.byteCount - max(0, byteCount))
        }
        return try transform(&packet, byteCount, minimum: minimum, operation)
    }

    private func unprotect(
        _ packet: inout MutableRawSpan, _ byteCount: Int, minimum: Int, ssrcOffset: Int, _ operation: Operation
    ) throws(SRTPError) -> Int {
        guard byteCount >= minimum, byteCount <= packet.byteCount else { throw .malformed }
        // In the clear in both formats, and covered by the tag.
        let ssrc = packet.bytes.unsafeLoadUnaligned(fromByteOffset: ssrcOffset, as: UInt32.self)
        let isKnown = inboundSSRCs.contains(ssrc)
        guard isKnown || inboundSSRCs.count < Self.maximumInboundStreamCount else { throw .tooManyStreams }
        let plainByteCount = try transform(&packet, byteCount, minimum: minimum, operation)
        if !isKnown { inboundSSRCs.insert(ssrc) }
        return plainByteCount
    }

    private func transform(
        _ packet: inout MutableRawSpan, _ byteCount: Int, minimum: Int, _ operation: Operation
    ) throws(SRTPError) -> Int {
        guard byteCount >= minimum, byteCount <= packet.byteCount, byteCount <= Self.maximumPacketByteCount else {
            throw .malformed
        }
        var length = Int32(byteCount)
        let status = packet.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { operation($0, &length) } ?? srtp_err_status_bad_param
        }
        guard status == srtp_err_status_ok else { throw Self.error(status) }
        return Int(length)
    }

    /// libsrtp's process-wide initialisation, done once.
    private static let libraryStatus: srtp_err_status_t = srtp_init()

    /// Does now what the first context would do otherwise, in the middle of a call's start: where libsrtp is built on
    /// NSS, as Debian's is, its modules and their self-tests take 50 to 100 ms.
    package static func prepare() {
        _ = libraryStatus
    }

    private static func error(_ status: srtp_err_status_t) -> SRTPError {
        switch status {
        case srtp_err_status_auth_fail, srtp_err_status_cipher_fail: .authenticationFailed
        case srtp_err_status_replay_fail, srtp_err_status_replay_old: .replayed
        case srtp_err_status_key_expired: .keyExpired
        case srtp_err_status_parse_err, srtp_err_status_bad_param: .malformed
        default: .library(status: status.rawValue)
        }
    }
}
