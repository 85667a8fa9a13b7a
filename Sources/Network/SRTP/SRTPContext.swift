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
    /// Sources of a peer for which libsrtp keeps its state, about 1 kB each; others take the place of the one that was
    /// silent longest.
    package static let maximumInboundStreamCount = 64
    /// Sources that a peer may use at all while the session lasts.
    package static let maximumInboundSourceCount = 4_096
    private static let minimumRTPByteCount = 12
    private static let minimumRTCPByteCount = 8
    private static let maximumPacketByteCount = 65_535

    private let session: srtp_t
    private let profile: SRTPProfile
    private var policy: SRTPPolicy
    /// Those of which an authentic packet came.
    private var sources = InboundSources(
        streamLimit: maximumInboundStreamCount, sourceLimit: maximumInboundSourceCount)
    private var indexGuard: IndexGuard?

    /// - Parameter encryptedHeaderExtensions: Ids of the header extensions whose values are encrypted (RFC 6904).
    package init(
        profile: SRTPProfile, masterKeyAndSalt: [UInt8], direction: Direction,
        encryptedHeaderExtensions: Set<UInt8> = []
    ) throws(SRTPError) {
        guard masterKeyAndSalt.count == profile.keyByteCount + profile.saltByteCount else { throw .malformed }
        guard Self.libraryStatus == srtp_err_status_ok else { throw .library(status: Self.libraryStatus.rawValue) }
        policy = SRTPPolicy(
            profile: profile, masterKeyAndSalt: masterKeyAndSalt, direction: direction, replayWindow: Self.replayWindow,
            encryptedHeaderExtensions: encryptedHeaderExtensions)
        var created: srtp_t?
        let status = policy.withPolicy(of: nil) { srtp_create(&created, $0) }
        guard status == srtp_err_status_ok, let created else { throw Self.error(status) }
        session = created
        self.profile = profile
        indexGuard =
            direction == .outbound && profile.isAEAD
            ? IndexGuard(window: Int(Self.replayWindow)) : nil
    }

    /// Changes which header extensions are encrypted from the next packet on; all counters go on.
    package func setEncryptedHeaderExtensions(_ ids: Set<UInt8>) throws(SRTPError) {
        guard ids != policy.encryptedHeaderExtensions else { return }
        // An update forgets the replay lists, which `sources` makes up for.
        for ssrc in sources.withStreams { removeStream(of: ssrc) }
        var changed = policy
        changed.encryptedHeaderExtensions = ids
        let status = changed.withPolicy(of: nil) { srtp_update(session, $0) }
        guard status == srtp_err_status_ok else { throw Self.error(status) }
        policy = changed
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
        guard byteCount >= minimum, byteCount <= packet.byteCount else { throw .malformed }
        // In the clear, and covered by the tag.
        let ssrc = packet.bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt32.self)
        let sequenceNumber = UInt16(bigEndian: packet.bytes.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self))
        let known = sources[ssrc]
        let index = known?.index(of: sequenceNumber) ?? UInt64(sequenceNumber)
        guard known?.admits(index: index) != false else { throw .replayed }
        return try unprotect(&packet, byteCount, minimum: minimum, ssrc, known, rtp: index, rtcp: nil) {
            srtp_unprotect(session, $0, $1)
        }
    }

    /// Checks and decrypts the SRTCP packet in the first `byteCount` bytes; gives the size of the RTCP packet.
    package func unprotectRTCP(_ packet: inout MutableRawSpan, byteCount: Int) throws(SRTPError) -> Int {
        let minimum = Self.minimumRTCPByteCount + profile.tagByteCount + 4
        guard byteCount >= minimum, byteCount <= packet.byteCount else { throw .malformed }
        let ssrc = packet.bytes.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self)
        // Behind the tag with GCM (RFC 7714 §9.3), else before it (RFC 3711 §3.4).
        let trailer = byteCount - 4 - (profile.isAEAD ? 0 : profile.tagByteCount)
        let index = UInt32(bigEndian: packet.bytes.unsafeLoadUnaligned(fromByteOffset: trailer, as: UInt32.self))
        let known = sources[ssrc]
        guard known?.admits(rtcpIndex: index & 0x7FFF_FFFF) != false else { throw .replayed }
        return try unprotect(
            &packet, byteCount, minimum: minimum, ssrc, known, rtp: nil, rtcp: index & 0x7FFF_FFFF
        ) {
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

    /// `ssrc` is as in the packet, and as libsrtp wants it in most places.
    private func unprotect(
        _ packet: inout MutableRawSpan, _ byteCount: Int, minimum: Int, _ ssrc: UInt32,
        _ known: InboundSources.Source?, rtp index: UInt64?, rtcp rtcpIndex: UInt32?, _ operation: Operation
    ) throws(SRTPError) -> Int {
        guard known != nil || !sources.isFull else { throw .tooManyStreams }
        let isReturning = known?.hasStream == false
        if isReturning {
            let status = policy.withPolicy(of: UInt32(bigEndian: ssrc)) { srtp_add_stream(session, $0) }
            guard status == srtp_err_status_ok else { throw Self.error(status) }
        }
        if known?.needsRolloverCounter == true, let index {
            _ = srtp_set_stream_roc(session, UInt32(bigEndian: ssrc), UInt32(truncatingIfNeeded: index >> 16))
        }
        do throws(SRTPError) {
            let plainByteCount = try transform(&packet, byteCount, minimum: minimum, operation)
            if let leaving = sources.didAccept(rtp: index, rtcp: rtcpIndex, of: ssrc) { removeStream(of: leaving) }
            return plainByteCount
        } catch {
            // Forged: what it made is taken back, so that it displaces nothing.
            if isReturning { srtp_remove_stream(session, ssrc) }
            throw error
        }
    }

    private func removeStream(of ssrc: UInt32) {
        srtp_remove_stream(session, ssrc)
        sources.didRemoveStream(of: ssrc)
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
