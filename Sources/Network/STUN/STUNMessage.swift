import EmisoraCore
import EmisoraCrypto

/// Why bytes are no STUN message.
package enum STUNError: Error, Equatable, Sendable {
    case notSTUN
    case malformedAttribute(type: UInt16)
    case truncated
    /// The buffer that a message is written into is too small.
    case noRoom
}

/// A parsed STUN message (RFC 8489 §5): its values are copied out, its bytes are not kept.
///
/// Parsing checks the form alone. `integrityOffset` is where MESSAGE-INTEGRITY begins; whether it is right is
/// `isAuthentic(in:key:)`'s to say, with the same bytes. What follows MESSAGE-INTEGRITY, except FINGERPRINT, is ignored
/// (RFC 8489 §14.5), so an attacker can append nothing that counts.
package struct STUNMessage: Sendable {
    package static let magicCookie: UInt32 = 0x2112_A442
    package static let headerByteCount = 20
    /// RFC 8489 §14.3: fewer than 509 bytes.
    package static let maximumUsernameByteCount = 508
    /// RFC 8489 §14.9, §14.10: fewer than 128 characters, which are at most 763 bytes.
    package static let maximumRealmByteCount = 763
    private static let maximumAttributeCount = 64

    package let type: STUNMessageType
    package let transactionID: STUNTransactionID
    package private(set) var username: [UInt8]?
    package private(set) var priority: UInt32?
    package private(set) var useCandidate = false
    package private(set) var iceControlling: UInt64?
    package private(set) var iceControlled: UInt64?
    package private(set) var mappedAddress: SocketAddress?
    package private(set) var errorCode: UInt16?
    package private(set) var realm: [UInt8]?
    package private(set) var nonce: [UInt8]?
    /// PASSWORD-ALGORITHMS as it stands, since it is repeated to the server.
    package private(set) var passwordAlgorithms: [UInt8]?
    package private(set) var alternateServer: SocketAddress?
    package private(set) var turn = TURNAttributes()
    /// Comprehension-required attributes that we do not know; at most eight are kept.
    package private(set) var unknownRequired: [UInt16] = []
    package private(set) var integrityOffset: Int?
    package private(set) var integritySHA256Offset: Int?
    package private(set) var hasFingerprint = false

    /// Whether the first bytes look like STUN at all (RFC 8489 §6.3): cheap, for telling datagrams apart.
    package static func looksLikeSTUN(_ datagram: RawSpan) -> Bool {
        datagram.byteCount >= headerByteCount
            && datagram.unsafeLoad(fromByteOffset: 0, as: UInt8.self) < 4
            && UInt32(bigEndian: datagram.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self)) == magicCookie
    }

    package init(parsing datagram: RawSpan) throws(STUNError) {
        guard Self.looksLikeSTUN(datagram) else { throw .notSTUN }
        do throws(ByteError) {
            var reader = ByteReader(datagram)
            let rawType: UInt16 = try reader.readInteger()
            let length = Int(try reader.readInteger(UInt16.self))
            try reader.skip(4)
            type = STUNMessageType(rawValue: rawType)
            transactionID = STUNTransactionID(high: try reader.readInteger(), low: try reader.readInteger())
            guard length % 4 == 0, length == datagram.byteCount - Self.headerByteCount else {
                throw ByteError.truncated(needed: length, available: datagram.byteCount - Self.headerByteCount)
            }
        } catch {
            throw .truncated
        }
        try readAttributes(datagram)
    }

    private mutating func readAttributes(_ datagram: RawSpan) throws(STUNError) {
        var offset = Self.headerByteCount
        var count = 0
        while offset < datagram.byteCount {
            count += 1
            guard count <= Self.maximumAttributeCount, datagram.byteCount - offset >= 4 else { throw .truncated }
            let attribute = UInt16(bigEndian: datagram.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
            let length = Int(
                UInt16(bigEndian: datagram.unsafeLoadUnaligned(fromByteOffset: offset + 2, as: UInt16.self)))
            let padded = (length + 3) & ~3
            guard datagram.byteCount - offset - 4 >= padded else { throw .truncated }
            guard !hasFingerprint else { throw .malformedAttribute(type: attribute) }
            let value = datagram.extracting(offset + 4..<offset + 4 + length)
            if attribute == STUNAttribute.fingerprint {
                try checkFingerprint(value, offset: offset, in: datagram)
            } else if integritySHA256Offset == nil,
                integrityOffset == nil || attribute == STUNAttribute.messageIntegritySHA256
            {
                try read(attribute, value, offset: offset)
            }
            offset += 4 + padded
        }
    }

    private mutating func checkFingerprint(_ value: RawSpan, offset: Int, in datagram: RawSpan) throws(STUNError) {
        guard value.byteCount == 4 else { throw .malformedAttribute(type: STUNAttribute.fingerprint) }
        let given = UInt32(bigEndian: value.unsafeLoadUnaligned(as: UInt32.self))
        guard given == CRC32.checksum(datagram.extracting(0..<offset)) ^ 0x5354_554E else {
            throw .malformedAttribute(type: STUNAttribute.fingerprint)
        }
        hasFingerprint = true
    }

    private mutating func read(_ attribute: UInt16, _ value: RawSpan, offset: Int) throws(STUNError) {
        func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(STUNError) -> T {
            guard value.byteCount == MemoryLayout<T>.size else { throw .malformedAttribute(type: attribute) }
            return T(bigEndian: value.unsafeLoadUnaligned(as: T.self))
        }
        switch attribute {
        case STUNAttribute.messageIntegrity:
            guard value.byteCount == HMACSHA1Tag.byteCount else { throw .malformedAttribute(type: attribute) }
            integrityOffset = offset
        case STUNAttribute.messageIntegritySHA256:
            // RFC 8489 §14.6 allows shorter tags; they are not asked for here and would only be easier to guess.
            guard value.byteCount == HMACSHA256Key.tagByteCount else { throw .malformedAttribute(type: attribute) }
            integritySHA256Offset = offset
        case STUNAttribute.username:
            guard value.byteCount <= Self.maximumUsernameByteCount else { throw .malformedAttribute(type: attribute) }
            username = value.withUnsafeBytes { Array($0) }
        case STUNAttribute.priority: priority = try integer(UInt32.self)
        case STUNAttribute.useCandidate: useCandidate = true
        case STUNAttribute.iceControlling: iceControlling = try integer(UInt64.self)
        case STUNAttribute.iceControlled: iceControlled = try integer(UInt64.self)
        case STUNAttribute.xorMappedAddress: mappedAddress = try xorAddress(value, attribute)
        case STUNAttribute.realm: realm = try text(value, attribute)
        case STUNAttribute.nonce: nonce = try text(value, attribute)
        case STUNAttribute.passwordAlgorithms: passwordAlgorithms = try text(value, attribute)
        case STUNAttribute.alternateServer: alternateServer = try address(value, attribute, isXORed: false)
        case STUNAttribute.errorCode:
            guard value.byteCount >= 4 else { throw .malformedAttribute(type: attribute) }
            let hundreds = UInt16(value.unsafeLoad(fromByteOffset: 2, as: UInt8.self) & 7)
            let rest = UInt16(value.unsafeLoad(fromByteOffset: 3, as: UInt8.self))
            guard (3...6).contains(hundreds), rest < 100 else { throw .malformedAttribute(type: attribute) }
            errorCode = hundreds * 100 + rest
        default:
            if !type.isBinding { try readTURN(attribute, value, offset: offset) }
            if !STUNAttribute.isUnderstood(attribute, in: type), unknownRequired.count < 8 {
                unknownRequired.append(attribute)
            }
        }
    }

    private mutating func readTURN(_ attribute: UInt16, _ value: RawSpan, offset: Int) throws(STUNError) {
        func word() throws(STUNError) -> UInt32 {
            guard value.byteCount == 4 else { throw .malformedAttribute(type: attribute) }
            return UInt32(bigEndian: value.unsafeLoadUnaligned(as: UInt32.self))
        }
        switch attribute {
        case STUNAttribute.channelNumber: turn.channelNumber = UInt16(truncatingIfNeeded: try word() >> 16)
        case STUNAttribute.lifetime: turn.lifetime = try word()
        case STUNAttribute.requestedTransport: turn.requestedTransport = UInt8(truncatingIfNeeded: try word() >> 24)
        case STUNAttribute.requestedAddressFamily:
            switch try word() >> 24 {
            case 1: turn.requestedFamily = .v4
            case 2: turn.requestedFamily = .v6
            default: throw .malformedAttribute(type: attribute)
            }
        case STUNAttribute.xorRelayedAddress: turn.relayedAddress = try xorAddress(value, attribute)
        case STUNAttribute.xorPeerAddress:
            let address = try xorAddress(value, attribute)
            if turn.peerAddresses.count < TURNAttributes.maximumPeerAddresses { turn.peerAddresses.append(address) }
        case STUNAttribute.data: turn.data = offset + 4..<offset + 4 + value.byteCount
        default: break
        }
    }

    private func text(_ value: RawSpan, _ attribute: UInt16) throws(STUNError) -> [UInt8] {
        guard value.byteCount <= Self.maximumRealmByteCount else { throw .malformedAttribute(type: attribute) }
        return value.withUnsafeBytes { Array($0) }
    }

    private func xorAddress(_ value: RawSpan, _ attribute: UInt16) throws(STUNError) -> SocketAddress {
        try address(value, attribute, isXORed: true)
    }

    /// RFC 8489 §14.1, §14.2.
    private func address(_ value: RawSpan, _ attribute: UInt16, isXORed: Bool) throws(STUNError) -> SocketAddress {
        let cookie = isXORed ? Self.magicCookie : 0
        let (high, low) = isXORed ? (UInt64(cookie) << 32 | UInt64(transactionID.high), transactionID.low) : (0, 0)
        do throws(ByteError) {
            var reader = ByteReader(value)
            let family: UInt16 = try reader.readInteger()
            let port: UInt16 = try reader.readInteger() ^ UInt16(truncatingIfNeeded: cookie >> 16)
            switch (family & 0xFF, reader.remaining) {
            case (1, 4): return SocketAddress(ip: IPAddress(v4: try reader.readInteger() ^ cookie), port: port)
            case (2, 16):
                return SocketAddress(
                    ip: IPAddress(v6High: try reader.readInteger() ^ high, low: try reader.readInteger() ^ low),
                    port: port)
            default: break
            }
        } catch {}
        throw .malformedAttribute(type: attribute)
    }

    /// Whether MESSAGE-INTEGRITY is there and right under `key`; `datagram` is what the message was parsed from.
    package func isAuthentic(in datagram: RawSpan, key: HMACSHA1Key) -> Bool {
        guard let integrityOffset, datagram.byteCount >= integrityOffset + 4 + HMACSHA1Tag.byteCount else {
            return false
        }
        let covered = self.covered(by: integrityOffset, tagByteCount: HMACSHA1Tag.byteCount, in: datagram)
        let tag = datagram.extracting(integrityOffset + 4..<integrityOffset + 4 + HMACSHA1Tag.byteCount)
        return key.tag(of: covered.span.bytes).matches(tag)
    }

    /// Whether the kind of integrity that is asked for is there and right.
    package func isAuthentic(in datagram: RawSpan, _ integrity: STUNIntegrity) -> Bool {
        switch integrity {
        case .sha1(let key): return isAuthentic(in: datagram, key: key)
        case .sha256(let key):
            let tagByteCount = HMACSHA256Key.tagByteCount
            guard let offset = integritySHA256Offset, datagram.byteCount >= offset + 4 + tagByteCount,
                let tag = key.tag(of: covered(by: offset, tagByteCount: tagByteCount, in: datagram).span.bytes)
            else { return false }
            return constantTimeEqual(
                tag.span.bytes, datagram.extracting(offset + 4..<offset + 4 + tagByteCount))
        }
    }

    /// Whether it carries integrity of either kind, right or not.
    package var hasIntegrity: Bool { integrityOffset != nil || integritySHA256Offset != nil }

    /// What a tag is made over: all before it, the header's length counting up to and including the tag (RFC 8489
    /// §14.5).
    private func covered(by offset: Int, tagByteCount: Int, in datagram: RawSpan) -> [UInt8] {
        var covered = datagram.extracting(0..<offset).withUnsafeBytes { Array($0) }
        let length = UInt16(truncatingIfNeeded: offset + 4 + tagByteCount - Self.headerByteCount)
        covered[2] = UInt8(truncatingIfNeeded: length >> 8)
        covered[3] = UInt8(truncatingIfNeeded: length)
        return covered
    }
}
