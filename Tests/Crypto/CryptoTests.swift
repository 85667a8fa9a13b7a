import CEmisoraOpenSSL
import EmisoraCore
import Testing

@testable import EmisoraCrypto

@Suite struct HMACSHA1Tests {
    /// RFC 2202 §3, cases 1, 2, 3 and 6 (a key longer than SHA-1's block).
    @Test(arguments: [
        ([UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8), "b617318655057264e28bc0b6fb378c8ef146be00"),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        ),
        (
            [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
            "125d7342b9ac11cd91a39af48aa17b4f63f175d3"
        ),
        (
            [UInt8](repeating: 0xaa, count: 80), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112"
        ),
    ])
    func tagsAreThoseOfRFC2202(key: [UInt8], message: [UInt8], expected: String) {
        let tag = HMACSHA1Key(key.span.bytes).tag(of: message.span.bytes)
        #expect(bytes(of: tag) == hex(expected))
        #expect(tag.matches(bytes: hex(expected)))
    }

    @Test func emptyKeyAndMessageHaveATag() {
        let nothing: [UInt8] = []
        let tag = HMACSHA1Key(nothing.span.bytes).tag(of: nothing.span.bytes)
        #expect(bytes(of: tag) == hex("fbdb1d1b18aa6c08324b7d64b71fb76370690e1d"))
    }

    @Test func eachFlippedBitAndEachOtherLengthIsRefused() {
        let message = Array("message".utf8)
        let tag = HMACSHA1Key(Array("key".utf8).span.bytes).tag(of: message.span.bytes)
        let right = bytes(of: tag)
        for bit in 0..<right.count * 8 {
            var wrong = right
            wrong[bit / 8] ^= 1 << (bit % 8)
            #expect(!tag.matches(bytes: wrong))
        }
        #expect(!tag.matches(bytes: right.dropLast()))
        #expect(!tag.matches(bytes: (right + [0])))
    }

    @Test func aTagThatWasNeverComputedMatchesNothing() {
        let tag = HMACSHA1Tag()
        #expect(!tag.matches(bytes: [UInt8](repeating: 0, count: 20)))
    }

    @Test func aTagNeedsTwentyBytesOfRoom() {
        let tag = HMACSHA1Key(Array("key".utf8).span.bytes).tag(of: Array("message".utf8).span.bytes)
        var small = [UInt8](repeating: 0, count: 19)
        var span = small.mutableSpan
        var room = span.mutableBytes
        let written = tag.write(into: &room)
        #expect(written == nil)
        #expect(small == [UInt8](repeating: 0, count: 19))
    }

    @Test func constantTimeComparisonIsAComparison() {
        let one: [UInt8] = [1, 2, 3]
        #expect(isEqual(one, [1, 2, 3]))
        #expect(!isEqual(one, [1, 2, 4]))
        #expect(!isEqual(one, [1, 2]))
        #expect(isEqual([], []))
    }

    private func bytes(of tag: HMACSHA1Tag) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 20)
        var span = out.mutableSpan
        var room = span.mutableBytes
        _ = tag.write(into: &room)
        return out
    }
}

@Suite struct FingerprintTests {
    private static let octets = Array(repeating: "AB", count: 31).joined(separator: ":")
    private static let damagedTexts: [String] = [
        "", ":", "AB", octets, octets + ":AB:AB", octets + ":AB:", octets + "-AB", octets + ":+A", octets + ":-0",
        octets + ":é", octets + ":A", octets + ":0x", String(repeating: "A", count: 95),
        String(repeating: "AB:", count: 100_000),
    ]
    private let certificate = Array("any bytes will do for a hash".utf8)

    @Test(arguments: Fingerprint.Algorithm.allCases)
    func textIsReadBackAndMatches(algorithm: Fingerprint.Algorithm) throws {
        let hashed = Fingerprint(ofCertificate: certificate.span.bytes, algorithm: algorithm)
        let made = try #require(hashed)
        #expect(made.bytes.count == algorithm.byteCount)
        for text in [made.text, made.text.lowercased()] {
            let read = try #require(Fingerprint(algorithm: algorithm.rawValue.uppercased(), text: text))
            #expect(read == made)
            #expect(read.matches(der: certificate))
            #expect(!read.matches(der: (certificate + [0])))
        }
    }

    @Test func weakAndUnknownHashesAreRefused() {
        let sha1 = Array(repeating: "AB", count: 20).joined(separator: ":")
        #expect(Fingerprint(algorithm: "sha-1", text: sha1) == nil)
        #expect(Fingerprint(algorithm: "md5", text: Array(repeating: "AB", count: 16).joined(separator: ":")) == nil)
        #expect(Fingerprint(algorithm: "sha-3", text: sha1) == nil)
    }

    @Test(arguments: Self.damagedTexts)
    func damagedTextIsRefused(text: String) {
        #expect(Fingerprint(algorithm: "sha-256", text: text) == nil)
    }
}

@Suite struct CertificateTests {
    @Test func aCertificateIsASelfSignedP256OneForAMonth() throws {
        let now: Int64 = 1_800_000_000
        var random = SeededRandom(seed: 1)
        let certificate = try Certificate(unixTime: now, using: &random)
        let x509 = try #require(parse(certificate.der))
        defer { X509_free(x509) }

        #expect(X509_get_version(x509) == 2)
        #expect(X509_NAME_cmp(X509_get_subject_name(x509), X509_get_issuer_name(x509)) == 0)
        #expect(ASN1_TIME_cmp_time_t(X509_get0_notBefore(x509), Int(now) - 86_400) == 0)
        #expect(ASN1_TIME_cmp_time_t(X509_get0_notAfter(x509), Int(now) + 30 * 86_400) == 0)
        let key = try #require(X509_get0_pubkey(x509))
        var group = [CChar](repeating: 0, count: 64)
        #expect(EVP_PKEY_get_group_name(key, &group, group.count, nil) == 1)
        #expect(String(decoding: group.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self) == "prime256v1")
        #expect(X509_verify(x509, key) == 1)
        #expect(certificate.fingerprint.matches(der: certificate.der))
        #expect(certificate.fingerprint.algorithm == .sha256)
    }

    @Test func aCertificateSurvivesItsText() throws {
        var random = SeededRandom(seed: 3)
        let certificate = try Certificate(unixTime: 1_800_000_000, using: &random)
        let text = try certificate.pem()
        let read = try Certificate(pem: text)
        #expect(read.der == certificate.der)
        #expect(read.fingerprint == certificate.fingerprint)
        #expect(read.expires == certificate.expires)
        #expect(read.expires == 1_800_000_000 + 30 * 86_400)
        #expect(try read.pem() == text)
    }

    @Test func textThatIsNoCertificateOfOursIsRefusedWithAReason() throws {
        var random = SeededRandom(seed: 4)
        let text = try Certificate(unixTime: 1_800_000_000, using: &random).pem()
        let other = try Certificate(unixTime: 1_800_000_000, using: &random).pem()
        let border = Array("-----BEGIN CERTIFICATE-----".utf8)
        let split = try #require(text.indices.first { text[$0...].starts(with: border) })
        let otherSplit = try #require(other.indices.first { other[$0...].starts(with: border) })
        #expect(throws: CertificateError.noPrivateKey) { try Certificate(pem: []) }
        #expect(throws: CertificateError.noPrivateKey) { try Certificate(pem: Array(text[split...])) }
        #expect(throws: CertificateError.noCertificate) { try Certificate(pem: Array(text[..<split])) }
        #expect(throws: CertificateError.keyOfAnother) {
            try Certificate(pem: Array(text[..<split] + other[otherSplit...]))
        }
        // The other way round is as good.
        #expect(try Certificate(pem: Array(text[split...] + text[..<split])).pem() == text)
        for length in stride(from: 0, to: text.count - 2, by: 7) {
            #expect(throws: CertificateError.self) { try Certificate(pem: Array(text[..<length])) }
        }
    }

    @Test func anEncryptedKeyIsRefusedInsteadOfAskingForItsPassword() throws {
        #expect(throws: CertificateError.noPrivateKey) {
            try Certificate(
                pem: Array(
                    """
                    -----BEGIN ENCRYPTED PRIVATE KEY-----
                    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiM4M7MuHYdSAICCAAw
                    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDV7qhnUdGmMTwSCkTDk0GcEgZCx
                    -----END ENCRYPTED PRIVATE KEY-----
                    """.utf8))
        }
    }

    @Test func twoCertificatesHaveNothingInCommon() throws {
        var random = SeededRandom(seed: 2)
        let first = try Certificate(unixTime: 1_800_000_000, using: &random)
        let second = try Certificate(unixTime: 1_800_000_000, using: &random)
        #expect(first.fingerprint != second.fingerprint)
        let one = try #require(parse(first.der))
        let other = try #require(parse(second.der))
        defer {
            X509_free(one)
            X509_free(other)
        }
        #expect(X509_NAME_cmp(X509_get_subject_name(one), X509_get_subject_name(other)) != 0)
        #expect(ASN1_INTEGER_cmp(X509_get0_serialNumber(one), X509_get0_serialNumber(other)) != 0)
        #expect(X509_verify(one, X509_get0_pubkey(other)) != 1)
    }

    private func parse(_ der: [UInt8]) -> OpaquePointer? {
        der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return d2i_X509(nil, &cursor, buffer.count)
        }
    }
}

@Suite struct RandomTests {
    @Test func secureRandomGivesNoNumberTwice() {
        var random = SecureRandom()
        #expect(Set((0..<1000).map { _ in random.next() }).count == 1000)
    }

    @Test func tokensUseTheWholeAlphabetAndNothingElse() {
        var random = SeededRandom(seed: 3)
        let token = RandomToken.make(length: 4096, using: &random)
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        #expect(token.count == 4096)
        #expect(Set(token) == alphabet)
        #expect(RandomToken.make(length: 0, using: &random).isEmpty)
        #expect(RandomToken.make(length: -1, using: &random).isEmpty)
        #expect(RandomToken.make(length: 22, using: &random) != RandomToken.make(length: 22, using: &random))
    }
}

// Expectations cannot hold spans, which are non-escapable.

extension HMACSHA1Tag {
    fileprivate func matches(bytes: [UInt8]) -> Bool { matches(bytes.span.bytes) }
}

extension Fingerprint {
    fileprivate func matches(der: [UInt8]) -> Bool { matches(certificate: der.span.bytes) }
}

private func isEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
    constantTimeEqual(first.span.bytes, second.span.bytes)
}
