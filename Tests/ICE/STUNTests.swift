import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN
import EmisoraSimulation
import Testing

private func isAuthentic(_ message: STUNMessage, _ bytes: [UInt8], _ key: HMACSHA1Key) -> Bool {
    message.isAuthentic(in: bytes.span.bytes, key: key)
}

private func localFragment(_ bytes: [UInt8]) -> String? {
    STUNUsername.localFragment(of: bytes.span.bytes)
}

@Suite struct STUNTests {
    static let password = HMACSHA1Key(Array("VOkJxbRl1RmTxUk/WvJxBt".utf8).span.bytes)
    static let transactionID = STUNTransactionID(high: 0xB7E7_A701, low: 0xBC34_D686_FA87_DFAE)

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.filter { $0 != " " && $0 != "\n" })
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    /// RFC 5769 §2.1.
    static let request = bytes(
        """
        00010058 2112a442 b7e7a701 bc34d686 fa87dfae
        80220010 5354554e 20746573 7420636c 69656e74
        00240004 6e0001ff
        80290008 932ff9b1 51263b36
        00060009 6576746a 3a683676 59202020
        00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249 c1b571a2
        80280004 e57a3bcf
        """)
    /// RFC 5769 §2.2.
    static let responseV4 = bytes(
        """
        0101003c 2112a442 b7e7a701 bc34d686 fa87dfae
        8022000b 74657374 20766563 746f7220
        00200008 0001a147 e112a643
        00080014 2b91f599 fd9e90c3 8c7489f9 2af9ba53 f06be7d7
        80280004 c07d4c96
        """)
    /// RFC 5769 §2.3.
    static let responseV6 = bytes(
        """
        01010048 2112a442 b7e7a701 bc34d686 fa87dfae
        8022000b 74657374 20766563 746f7220
        00200014 0002a147 0113a9fa a5d3f179 bc25f4b5 bed2b9d9
        00080014 a382954e 4be67bf1 1784c97c 8292c275 bfe3ed41
        80280004 c8fb0b4c
        """)
    /// RFC 5769 §2.4, with the long-term key MD5("マトリックス:example.org:TheMatrIX").
    static let longTermRequest = bytes(
        """
        00010060 2112a442 78ad3433 c6ad72c0 29da412e
        00060012 e3839ee3 8388e383 aae38383 e382afe3 82b90000
        0015001c 662f2f34 39396b39 35346436 4f4c3334 6f4c3946 53547679 36347341
        0014000b 6578616d 706c652e 6f726700
        00080014 f6702465 6dd64a3e 02b8e071 2e85c9a2 8ca89666
        """)
    static let longTermKey = HMACSHA1Key(bytes("e8ca7ad59d5eb0518e312911d2dab2a9").span.bytes)

    @Test func theSampleRequestOfRFC5769IsReadAndAuthenticated() throws {
        let message = try STUNMessage(parsing: Self.request.span.bytes)
        #expect(message.type == STUNMessageType(.request))
        #expect(message.transactionID == Self.transactionID)
        #expect(message.username == Array("evtj:h6vY".utf8))
        #expect(message.priority == 0x6E00_01FF)
        #expect(message.iceControlled == 0x932F_F9B1_5126_3B36)
        #expect(message.iceControlling == nil)
        #expect(!message.useCandidate)
        #expect(message.hasFingerprint)
        #expect(message.unknownRequired.isEmpty)
        #expect(isAuthentic(message, Self.request, Self.password))
        #expect(!isAuthentic(message, Self.request, Self.longTermKey))
        #expect(localFragment(Self.request) == "evtj")
    }

    @Test func theSampleResponsesOfRFC5769CarryTheirMappedAddress() throws {
        let v4 = try STUNMessage(parsing: Self.responseV4.span.bytes)
        #expect(v4.type == STUNMessageType(.success))
        #expect(v4.mappedAddress?.description == "192.0.2.1:32853")
        #expect(isAuthentic(v4, Self.responseV4, Self.password))
        let v6 = try STUNMessage(parsing: Self.responseV6.span.bytes)
        #expect(v6.mappedAddress?.description == "[2001:db8:1234:5678:11:2233:4455:6677]:32853")
        #expect(isAuthentic(v6, Self.responseV6, Self.password))
    }

    @Test func theSampleRequestWithLongTermCredentialsIsAuthenticated() throws {
        let message = try STUNMessage(parsing: Self.longTermRequest.span.bytes)
        #expect(message.username == Array("マトリックス".utf8))
        #expect(message.unknownRequired.isEmpty)
        #expect(!message.hasFingerprint)
        #expect(isAuthentic(message, Self.longTermRequest, Self.longTermKey))
    }

    @Test func whatTheBuilderWritesTheParserReads() throws {
        var buffer = [UInt8](repeating: 0xAA, count: 256)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        var builder = try STUNMessageBuilder(
            &raw, type: STUNMessageType(.request), transactionID: Self.transactionID)
        try builder.add(username: Array("evtj:h6v".utf8))
        try builder.add(priority: 7)
        try builder.add(tieBreaker: 9, isControlling: true)
        try builder.addUseCandidate()
        let byteCount = try builder.finish(key: Self.password)
        let bytes = Array(buffer[..<byteCount])
        let message = try STUNMessage(parsing: bytes.span.bytes)
        #expect(message.username == Array("evtj:h6v".utf8))
        #expect(message.priority == 7)
        #expect(message.iceControlling == 9)
        #expect(message.useCandidate)
        #expect(message.hasFingerprint)
        #expect(isAuthentic(message, bytes, Self.password))
    }

    @Test(arguments: ["192.0.2.1", "2001:db8::7"])
    func errorsUnknownAttributesAndAddressesSurviveTheWire(ip: String) throws {
        let address = SocketAddress(ip: try #require(IPAddress(ip)), port: 65_535)
        var buffer = [UInt8](repeating: 0, count: 256)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        var builder = try STUNMessageBuilder(&raw, type: STUNMessageType(.error), transactionID: Self.transactionID)
        try builder.add(errorCode: STUNErrorCode.roleConflict, reason: "Role Conflict")
        try builder.add(unknownAttributes: [0x7001, 0x7002, 0x7003])
        try builder.add(xorMappedAddress: address)
        let byteCount = try builder.finish(key: nil)
        let bytes = Array(buffer[..<byteCount])
        let message = try STUNMessage(parsing: bytes.span.bytes)
        #expect(message.errorCode == 487)
        #expect(message.mappedAddress == address)
        #expect(message.integrityOffset == nil)
    }

    @Test func aBufferThatIsTooSmallIsRefusedAtEverySize() throws {
        for size in 0..<88 {
            var buffer = [UInt8](repeating: 0, count: size)
            var span = buffer.mutableSpan
            var raw = span.mutableBytes
            do throws(STUNError) {
                var builder = try STUNMessageBuilder(
                    &raw, type: STUNMessageType(.request), transactionID: Self.transactionID)
                try builder.add(username: Array("evtj:h6vY".utf8))
                try builder.add(priority: 1)
                try builder.add(tieBreaker: 9, isControlling: true)
                _ = try builder.finish(key: Self.password)
                Issue.record("\(size) bytes cannot be enough")
            } catch {
                #expect(error == .noRoom)
            }
        }
    }

    @Test func everyTruncationAndEveryChangedBitIsRefusedOrNotAuthentic() throws {
        for length in 0..<Self.request.count {
            #expect(throws: STUNError.self) { try parse(Array(Self.request[..<length])) }
        }
        for bit in 0..<Self.request.count * 8 {
            var damaged = Self.request
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            guard let message = try? STUNMessage(parsing: damaged.span.bytes) else { continue }
            // Without its FINGERPRINT the message may parse; MESSAGE-INTEGRITY is what counts, and it covers all before.
            let isCovered = bit / 8 < Self.request.count - 8
            #expect(!(isCovered && isAuthentic(message, damaged, Self.password)), "bit \(bit)")
        }
    }

    @Test func unknownRequiredAttributesAreNamedAndOptionalOnesIgnored() throws {
        let message = try STUNMessage(
            parsing: Self.bytes(
                """
                00010018 2112a442 b7e7a701 bc34d686 fa87dfae
                c0570004 00000001 7abc0004 00000000 00030004 00000000
                """
            ).span.bytes)
        #expect(message.unknownRequired == [0x7ABC, 0x0003])
    }

    @Test func whatFollowsMessageIntegrityDoesNotCount() throws {
        // USE-CANDIDATE put behind the tag by someone on the way, the length and the FINGERPRINT left out.
        var forged = Array(Self.request[..<(Self.request.count - 8)])
        forged += Self.bytes("00250000")
        forged[3] = UInt8(forged.count - 20)
        let message = try STUNMessage(parsing: forged.span.bytes)
        #expect(isAuthentic(message, forged, Self.password))
        #expect(!message.useCandidate)
    }

    @Test func aUserNameOf509BytesIsMalformed() throws {
        for (length, isAllowed) in [(508, true), (509, false), (513, false)] {
            let padded = (length + 3) & ~3
            var bytes = Self.bytes("00010000 2112a442 b7e7a701 bc34d686 fa87dfae 00060000")
            bytes[2] = UInt8((padded + 4) >> 8)
            bytes[3] = UInt8(truncatingIfNeeded: padded + 4)
            bytes[22] = UInt8(length >> 8)
            bytes[23] = UInt8(truncatingIfNeeded: length)
            bytes += [UInt8](repeating: UInt8(ascii: ":"), count: padded)
            #expect(((try? parse(bytes)) != nil) == isAllowed)
        }
    }

    @Test func theFragmentIsFoundOnlyInWellFormedUserNames() {
        func fragment(_ attributes: String) -> String? {
            localFragment(Self.bytes("00010000 2112a442 b7e7a701 bc34d686 fa87dfae" + attributes))
        }
        #expect(fragment("00240004 00000001 00060004 61623a63") == "ab")
        #expect(fragment("00060004 61626364") == nil)
        #expect(fragment("00060003 3a626300") == nil)
        #expect(fragment("00060003 ff3a6300") == nil)
        #expect(fragment("00061000 61623a63") == nil)
        #expect(fragment("") == nil)
        #expect(fragment("0024ffff") == nil)
    }

    /// libnice repeats the user name of the request that it answers.
    @Test(arguments: ["0101", "0111", "0011"]) func onlyRequestsNameTheirReceiver(type: String) {
        let rest = "000c 2112a442 b7e7a701 bc34d686 fa87dfae 00060007 61626364 3a656600"
        #expect(localFragment(Self.bytes("0001" + rest)) == "abcd")
        #expect(localFragment(Self.bytes(type + rest)) == nil)
    }

    @Test func randomAndMutatedDatagramsNeverTrap() {
        var random = SeededRandom(5_769)
        let samples = [Self.request, Self.responseV4, Self.responseV6, Self.longTermRequest]
        var parsed = 0
        for round in 0..<100_000 {
            var bytes = samples[round % 4]
            if round % 5 == 0 {
                bytes = (0..<Int(random.next() % 64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                if bytes.count >= 20 {
                    bytes.replaceSubrange(0..<8, with: [0, 1, 0, UInt8(bytes.count - 20), 0x21, 0x12, 0xA4, 0x42])
                }
            } else {
                for _ in 0...Int(random.next() % 4) {
                    bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
                }
                if random.next() % 4 == 0 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
            }
            _ = STUNUsername.localFragment(of: bytes.span.bytes)
            if let message = try? STUNMessage(parsing: bytes.span.bytes) {
                parsed += 1
                _ = isAuthentic(message, bytes, Self.password)
            }
        }
        #expect(parsed > 100)
    }
}

@Suite struct STUNCredentialsTests {
    private static let credentials = STUNLongTermCredentials(username: "マトリックス", password: "TheMatrIX")
    private static let realm = Array("example.org".utf8)

    @Test func theKeyOfTheLongTermSampleOfRFC5769IsDerivedFromUserRealmAndPassword() throws {
        let key = try #require(Self.credentials.key(realm: Self.realm, algorithm: .md5))
        #expect(key == STUNTests.bytes("e8ca7ad59d5eb0518e312911d2dab2a9"))
    }

    @Test func theLongTermSampleOfRFC5769IsWrittenByteForByte() throws {
        let sample = STUNTests.longTermRequest
        let key = try #require(Self.credentials.key(realm: Self.realm, algorithm: .md5))
        var buffer = [UInt8](repeating: 0xAA, count: 256)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        var builder = try STUNMessageBuilder(
            &raw, type: STUNMessageType(.request),
            transactionID: STUNTransactionID(high: 0x78AD_3433, low: 0xC6AD_72C0_29DA_412E))
        try builder.add(username: Array(Self.credentials.username.utf8))
        try builder.add(attribute: STUNAttribute.nonce, value: Array("f//499k954d6OL34oL9FSTvy64sA".utf8))
        try builder.add(attribute: STUNAttribute.realm, value: Self.realm)
        let byteCount = try builder.finish(integrity: .sha1(HMACSHA1Key(key.span.bytes)))
        // The sample ends before the FINGERPRINT, which the length in our header counts.
        #expect(byteCount == sample.count + 8)
        #expect(Array(buffer[4..<sample.count]) == Array(sample[4...]))
    }

    @Test func aTagOfSHA256IsReadBackAndNothingChangedIsBelieved() throws {
        let key = try #require(Self.credentials.key(realm: Self.realm, algorithm: .sha256))
        let integrity = STUNIntegrity.sha256(HMACSHA256Key(key.span.bytes))
        var buffer = [UInt8](repeating: 0xAA, count: 256)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        var builder = try STUNMessageBuilder(
            &raw, type: STUNMessageType(.request, .refresh), transactionID: STUNTests.transactionID)
        try builder.add(attribute: STUNAttribute.lifetime, word: 600)
        let byteCount = try builder.finish(integrity: integrity)
        let bytes = Array(buffer[..<byteCount])
        func isAuthentic(_ bytes: [UInt8]) -> Bool {
            (try? parse(bytes))?.isAuthentic(in: bytes.span.bytes, integrity) == true
        }
        #expect(isAuthentic(bytes))
        #expect(try parse(bytes).turn.lifetime == 600)
        for bit in 0..<(byteCount - 8) * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!isAuthentic(damaged), "bit \(bit)")
        }
        // The other kind of tag is none.
        #expect(try !parse(bytes).isAuthentic(in: bytes.span.bytes, .sha1(HMACSHA1Key(key.span.bytes))))
    }

    @Test func hashesAreThoseOfRFC1321AndFIPS180() throws {
        let abc = STUNLongTermCredentials(username: "a", password: "c")
        // SHA-256 and MD5 of "a:b:c", as md5sum and sha256sum give them.
        #expect(
            abc.key(realm: [UInt8(ascii: "b")], algorithm: .md5)
                == STUNTests.bytes("02cc8f08398a4f3113b554e8105ebe4c"))
        #expect(
            abc.key(realm: [UInt8(ascii: "b")], algorithm: .sha256)
                == STUNTests.bytes("b0ee04f880c4ff4261479e2e7822b7410aee4c7159f4185ad5b0d88a312b495e"))
    }

    @Test func turnAttributesOfAnICECheckAreUnknownAndRefused() throws {
        var buffer = [UInt8](repeating: 0, count: 64)
        for method in [STUNMessageType.Method.binding, .refresh] {
            var span = buffer.mutableSpan
            var raw = span.mutableBytes
            var builder = try STUNMessageBuilder(
                &raw, type: STUNMessageType(.request, method), transactionID: STUNTests.transactionID)
            try builder.add(attribute: STUNAttribute.lifetime, word: 600)
            let byteCount = try builder.finish(key: nil)
            let message = try parse(Array(buffer[..<byteCount]))
            #expect(message.unknownRequired == (method == .binding ? [STUNAttribute.lifetime] : []))
            #expect(message.turn.lifetime == (method == .binding ? nil : 600))
        }
    }
}
