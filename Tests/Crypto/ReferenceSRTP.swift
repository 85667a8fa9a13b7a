import CEmisoraOpenSSL

/// SRTP and SRTCP once more, straight from RFC 3711 and RFC 7714 on OpenSSL's ciphers, so that our packets are read by
/// something that shares no code with what wrote them. Slow and plain; knows what a test needs and nothing else.
struct ReferenceSRTP {
    enum Profile: CaseIterable {
        // swift-format-ignore: AlwaysUseLowerCamelCase
        case aes128CmHmacSha1_80
        case aeadAes128Gcm
        case aeadAes256Gcm

        var isAEAD: Bool { self != .aes128CmHmacSha1_80 }
        var keyByteCount: Int { self == .aeadAes256Gcm ? 32 : 16 }
        var saltByteCount: Int { isAEAD ? 12 : 14 }
        var tagByteCount: Int { isAEAD ? 16 : 10 }
    }

    /// The keys of RTP or of RTCP.
    struct SessionKeys {
        let cipher: [UInt8]
        let authentication: [UInt8]
        let salt: [UInt8]
    }

    let profile: Profile
    let rtp: SessionKeys
    let rtcp: SessionKeys
    /// Key and salt of header extensions (RFC 6904 §3.2); the shorter salt of GCM is padded (RFC 7714 §8.3).
    let headerCipher: [UInt8]
    let headerSalt: [UInt8]
    /// Ids of the header extensions that are encrypted.
    var encryptedIDs: Set<UInt8> = []

    init(profile: Profile, masterKeyAndSalt: [UInt8]) {
        let key = Array(masterKeyAndSalt[..<profile.keyByteCount])
        let salt = Array(masterKeyAndSalt[profile.keyByteCount...])
        func keys(firstLabel: UInt8) -> SessionKeys {
            SessionKeys(
                cipher: Self.derive(key: key, salt: salt, label: firstLabel, count: profile.keyByteCount),
                authentication: Self.derive(key: key, salt: salt, label: firstLabel + 1, count: 20),
                salt: Self.derive(key: key, salt: salt, label: firstLabel + 2, count: profile.saltByteCount))
        }
        self.profile = profile
        rtp = keys(firstLabel: 0)
        rtcp = keys(firstLabel: 3)
        headerCipher = Self.derive(key: key, salt: salt, label: 6, count: profile.keyByteCount)
        headerSalt =
            Self.derive(key: key, salt: salt, label: 7, count: profile.saltByteCount)
            + [UInt8](repeating: 0, count: 14 - profile.saltByteCount)
    }

    /// RFC 3711 §4.3 with a derivation rate of 0; the shorter salt of GCM is padded with zeros (RFC 7714 §11).
    static func derive(key: [UInt8], salt: [UInt8], label: UInt8, count: Int) -> [UInt8] {
        var iv = salt + [UInt8](repeating: 0, count: 16 - salt.count)
        iv[7] ^= label
        return aesCounterMode(key: key, iv: iv, [UInt8](repeating: 0, count: count))
    }

    // MARK: RTP

    func protect(rtp plain: [UInt8], rollover: UInt32) -> [UInt8] {
        // Encrypted before it is authenticated (RFC 6904 §3).
        let packet = maskingExtension(of: plain, rollover: rollover)
        let header = Self.headerByteCount(of: packet)
        switch profile {
        case .aes128CmHmacSha1_80:
            let iv = counterIV(keys: rtp, ssrc: packet[8..<12], index: Self.bytes(rollover) + packet[2..<4])
            let sealed = packet[..<header] + Self.aesCounterMode(key: rtp.cipher, iv: iv, Array(packet[header...]))
            return sealed + Self.tag(key: rtp.authentication, sealed + Self.bytes(rollover))
        case .aeadAes128Gcm, .aeadAes256Gcm:
            let iv = nonce(keys: rtp, ssrc: packet[8..<12], index: Self.bytes(rollover) + packet[2..<4])
            return packet[..<header]
                + Self.gcmSeal(
                    key: rtp.cipher, iv: iv, associated: Array(packet[..<header]), plain: Array(packet[header...]))
        }
    }

    /// `nil` where the tag is wrong.
    func unprotect(rtp packet: [UInt8], rollover: UInt32) -> [UInt8]? {
        let header = Self.headerByteCount(of: packet)
        guard packet.count >= header + profile.tagByteCount else { return nil }
        switch profile {
        case .aes128CmHmacSha1_80:
            let sealed = Array(packet.dropLast(10))
            guard Self.tag(key: rtp.authentication, sealed + Self.bytes(rollover)) == Array(packet.suffix(10)) else {
                return nil
            }
            let iv = counterIV(keys: rtp, ssrc: packet[8..<12], index: Self.bytes(rollover) + packet[2..<4])
            return maskingExtension(
                of: sealed[..<header] + Self.aesCounterMode(key: rtp.cipher, iv: iv, Array(sealed[header...])),
                rollover: rollover)
        case .aeadAes128Gcm, .aeadAes256Gcm:
            let iv = nonce(keys: rtp, ssrc: packet[8..<12], index: Self.bytes(rollover) + packet[2..<4])
            return Self.gcmOpen(
                key: rtp.cipher, iv: iv, associated: Array(packet[..<header]), sealed: Array(packet[header...])
            ).map { maskingExtension(of: packet[..<header] + $0, rollover: rollover) }
        }
    }

    /// RFC 6904 §3.1: a keystream as long as all elements together, of which a mask lets through what covers the values
    /// of those that are encrypted. The same once more undoes it.
    func maskingExtension(of packet: [UInt8], rollover: UInt32) -> [UInt8] {
        guard packet[0] & 0x10 != 0, !encryptedIDs.isEmpty else { return packet }
        let start = 12 + 4 * Int(packet[0] & 15) + 4
        let end = Self.headerByteCount(of: packet)
        let hasTwoByteHeads = packet[start - 4] == 0x10
        var mask = [UInt8](repeating: 0, count: end - start)
        var position = start
        while position < end {
            let id = hasTwoByteHeads ? packet[position] : packet[position] >> 4
            if id == 0 {
                position += 1
                continue
            }
            let head = hasTwoByteHeads ? 2 : 1
            let length = hasTwoByteHeads ? Int(packet[position + 1]) : Int(packet[position] & 15) + 1
            if encryptedIDs.contains(id) {
                for offset in 0..<length { mask[position - start + head + offset] = 0xFF }
            }
            position += head + length
        }
        let iv = zip(
            headerSalt + [0, 0],
            [0, 0, 0, 0] + packet[8..<12] + Self.bytes(rollover) + packet[2..<4] + [0, 0]
        ).map { $0 ^ $1 }
        let keystream = Self.aesCounterMode(key: headerCipher, iv: iv, [UInt8](repeating: 0, count: mask.count))
        var masked = packet
        for (offset, byte) in zip(keystream, mask).map({ $0 & $1 }).enumerated() { masked[start + offset] ^= byte }
        return masked
    }

    // MARK: RTCP

    func protect(rtcp packet: [UInt8], index: UInt32, encrypted: Bool = true) -> [UInt8] {
        let trailer = Self.bytes(index | (encrypted ? 0x8000_0000 : 0))
        switch profile {
        case .aes128CmHmacSha1_80:
            let iv = counterIV(keys: rtcp, ssrc: packet[4..<8], index: [0, 0] + Self.bytes(index))
            let body = Array(packet[8...])
            let sealed =
                packet[..<8] + (encrypted ? Self.aesCounterMode(key: rtcp.cipher, iv: iv, body) : body) + trailer
            return sealed + Self.tag(key: rtcp.authentication, Array(sealed))
        case .aeadAes128Gcm, .aeadAes256Gcm:
            let iv = nonce(keys: rtcp, ssrc: packet[4..<8], index: [0, 0] + Self.bytes(index))
            let clear = encrypted ? Array(packet[..<8]) : packet
            let sealed = Self.gcmSeal(
                key: rtcp.cipher, iv: iv, associated: clear + trailer, plain: encrypted ? Array(packet[8...]) : [])
            return clear + sealed + trailer
        }
    }

    /// `nil` where the tag is wrong or the packet is not encrypted.
    func unprotect(rtcp packet: [UInt8]) -> (packet: [UInt8], index: UInt32)? {
        guard packet.count >= 8 + profile.tagByteCount + 4 else { return nil }
        let trailerEnd = profile.isAEAD ? packet.count : packet.count - 10
        let trailer = Array(packet[trailerEnd - 4..<trailerEnd])
        let word = trailer.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard word & 0x8000_0000 != 0 else { return nil }
        let index = word & 0x7FFF_FFFF
        switch profile {
        case .aes128CmHmacSha1_80:
            guard Self.tag(key: rtcp.authentication, Array(packet[..<trailerEnd])) == Array(packet[trailerEnd...])
            else { return nil }
            let iv = counterIV(keys: rtcp, ssrc: packet[4..<8], index: [0, 0] + Self.bytes(index))
            return (
                packet[..<8] + Self.aesCounterMode(key: rtcp.cipher, iv: iv, Array(packet[8..<trailerEnd - 4])), index
            )
        case .aeadAes128Gcm, .aeadAes256Gcm:
            let iv = nonce(keys: rtcp, ssrc: packet[4..<8], index: [0, 0] + Self.bytes(index))
            return Self.gcmOpen(
                key: rtcp.cipher, iv: iv, associated: packet[..<8] + trailer,
                sealed: Array(packet[8..<trailerEnd - 4])
            ).map { (packet[..<8] + $0, index) }
        }
    }

    // MARK: Pieces

    /// RFC 3711 §4.1.1: salt · 2^16 ⊕ SSRC · 2^64 ⊕ index · 2^16.
    private func counterIV(keys: SessionKeys, ssrc: ArraySlice<UInt8>, index: [UInt8]) -> [UInt8] {
        let other = [0, 0, 0, 0] + ssrc + index + [0, 0]
        return zip(keys.salt + [0, 0], other).map { $0 ^ $1 }
    }

    /// RFC 7714 §8.1 and §9.1.
    private func nonce(keys: SessionKeys, ssrc: ArraySlice<UInt8>, index: [UInt8]) -> [UInt8] {
        zip(keys.salt, [0, 0] + ssrc + index).map { $0 ^ $1 }
    }

    /// What stays in the clear: fixed header, CSRCs, header extension.
    private static func headerByteCount(of packet: [UInt8]) -> Int {
        var count = 12 + 4 * Int(packet[0] & 15)
        if packet[0] & 0x10 != 0 { count += 4 + 4 * (Int(packet[count + 2]) << 8 | Int(packet[count + 3])) }
        return count
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    private static func tag(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 20)
        var length: UInt32 = 0
        _ = HMAC(EVP_sha1(), key, Int32(key.count), message, message.count, &out, &length)
        return Array(out[..<10])
    }

    private static func aesCounterMode(key: [UInt8], iv: [UInt8], _ input: [UInt8]) -> [UInt8] {
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var out = [UInt8](repeating: 0, count: input.count + 16)
        var count: Int32 = 0
        EVP_EncryptInit_ex(context, key.count == 32 ? EVP_aes_256_ctr() : EVP_aes_128_ctr(), nil, key, iv)
        EVP_EncryptUpdate(context, &out, &count, input, Int32(input.count))
        return Array(out[..<Int(count)])
    }

    private static func gcmSeal(key: [UInt8], iv: [UInt8], associated: [UInt8], plain: [UInt8]) -> [UInt8] {
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var out = [UInt8](repeating: 0, count: plain.count + 16)
        var tag = [UInt8](repeating: 0, count: 16)
        var ignored: Int32 = 0
        var count: Int32 = 0
        EVP_EncryptInit_ex(context, key.count == 32 ? EVP_aes_256_gcm() : EVP_aes_128_gcm(), nil, key, iv)
        EVP_EncryptUpdate(context, nil, &ignored, associated, Int32(associated.count))
        if !plain.isEmpty { EVP_EncryptUpdate(context, &out, &count, plain, Int32(plain.count)) }
        EVP_EncryptFinal_ex(context, &tag, &ignored)
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag)
        return out[..<Int(count)] + tag
    }

    private static func gcmOpen(key: [UInt8], iv: [UInt8], associated: [UInt8], sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= 16 else { return nil }
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        let cipherText = Array(sealed.dropLast(16))
        var tag = Array(sealed.suffix(16))
        var out = [UInt8](repeating: 0, count: sealed.count)
        var last = [UInt8](repeating: 0, count: 16)
        var ignored: Int32 = 0
        var count: Int32 = 0
        EVP_DecryptInit_ex(context, key.count == 32 ? EVP_aes_256_gcm() : EVP_aes_128_gcm(), nil, key, iv)
        EVP_DecryptUpdate(context, nil, &ignored, associated, Int32(associated.count))
        if !cipherText.isEmpty { EVP_DecryptUpdate(context, &out, &count, cipherText, Int32(cipherText.count)) }
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag)
        guard EVP_DecryptFinal_ex(context, &last, &ignored) == 1 else { return nil }
        return Array(out[..<Int(count)])
    }
}
