import EmisoraCore
import EmisoraCrypto

/// Writes one STUN message into memory of the caller, attribute by attribute.
///
/// ```swift
/// var builder = try STUNMessageBuilder(&buffer, type: STUNMessageType(.request), transactionID: id)
/// try builder.add(priority: priority)
/// let byteCount = try builder.finish(key: key)
/// ```
package struct STUNMessageBuilder: ~Copyable, ~Escapable {
    private var bytes: MutableRawSpan
    private var count = STUNMessage.headerByteCount
    private let transactionID: STUNTransactionID

    @_lifetime(&buffer)
    package init(
        _ buffer: inout MutableRawSpan, type: STUNMessageType, transactionID: STUNTransactionID
    ) throws(STUNError) {
        guard buffer.byteCount >= STUNMessage.headerByteCount else { throw .noRoom }
        bytes = buffer._mutatingExtracting(0..<buffer.byteCount)
        self.transactionID = transactionID
        store(type.rawValue, at: 0)
        store(UInt16(0), at: 2)
        store(STUNMessage.magicCookie, at: 4)
        store(transactionID.high, at: 8)
        store(transactionID.low, at: 12)
    }

    @_lifetime(self: copy self)
    package mutating func add(username: [UInt8]) throws(STUNError) {
        try add(STUNAttribute.username, username.span.bytes)
    }

    @_lifetime(self: copy self)
    package mutating func add(priority: UInt32) throws(STUNError) {
        let offset = try open(STUNAttribute.priority, byteCount: 4)
        store(priority, at: offset)
    }

    @_lifetime(self: copy self)
    package mutating func addUseCandidate() throws(STUNError) {
        _ = try open(STUNAttribute.useCandidate, byteCount: 0)
    }

    @_lifetime(self: copy self)
    package mutating func add(tieBreaker: UInt64, isControlling: Bool) throws(STUNError) {
        let offset = try open(isControlling ? STUNAttribute.iceControlling : STUNAttribute.iceControlled, byteCount: 8)
        store(tieBreaker, at: offset)
    }

    @_lifetime(self: copy self)
    package mutating func add(xorMappedAddress address: SocketAddress) throws(STUNError) {
        try add(STUNAttribute.xorMappedAddress, xorAddress: address)
    }

    /// XOR-PEER-ADDRESS or XOR-RELAYED-ADDRESS, which are written like XOR-MAPPED-ADDRESS (RFC 8656 §18.3, §18.5).
    @_lifetime(self: copy self)
    package mutating func add(_ attribute: UInt16, xorAddress address: SocketAddress) throws(STUNError) {
        let isV4 = address.ip.family == .v4
        let offset = try open(attribute, byteCount: isV4 ? 8 : 20)
        store(UInt16(isV4 ? 1 : 2), at: offset)
        store(address.port ^ UInt16(truncatingIfNeeded: STUNMessage.magicCookie >> 16), at: offset + 2)
        if isV4 {
            store(address.ip.v4Bits ^ STUNMessage.magicCookie, at: offset + 4)
        } else {
            let high = UInt64(STUNMessage.magicCookie) << 32 | UInt64(transactionID.high)
            store(address.ip.high ^ high, at: offset + 4)
            store(address.ip.low ^ transactionID.low, at: offset + 12)
        }
    }

    /// LIFETIME, CHANNEL-NUMBER and others whose value is one word.
    @_lifetime(self: copy self)
    package mutating func add(attribute: UInt16, word: UInt32) throws(STUNError) {
        let offset = try open(attribute, byteCount: 4)
        store(word, at: offset)
    }

    @_lifetime(self: copy self)
    package mutating func add(errorCode: UInt16, reason: StaticString) throws(STUNError) {
        let offset = try open(STUNAttribute.errorCode, byteCount: 4 + reason.utf8CodeUnitCount)
        store(UInt16(0), at: offset)
        store((errorCode / 100) << 8 | errorCode % 100, at: offset + 2)
        for index in 0..<reason.utf8CodeUnitCount {
            store(reason.utf8Start[index], at: offset + 4 + index)
        }
    }

    @_lifetime(self: copy self)
    package mutating func add(unknownAttributes: [UInt16]) throws(STUNError) {
        let offset = try open(STUNAttribute.unknownAttributes, byteCount: 2 * unknownAttributes.count)
        for (index, attribute) in unknownAttributes.enumerated() { store(attribute, at: offset + 2 * index) }
    }

    /// An attribute of another protocol, such as SOFTWARE.
    @_lifetime(self: copy self)
    package mutating func add(attribute: UInt16, value: [UInt8]) throws(STUNError) {
        try add(attribute, value.span.bytes)
    }

    /// DATA, or another attribute whose value is not to be copied into an array first.
    @_lifetime(self: copy self)
    package mutating func add(attribute: UInt16, bytes: RawSpan) throws(STUNError) {
        try add(attribute, bytes)
    }

    /// Adds MESSAGE-INTEGRITY under `key` (none: left out) and FINGERPRINT; gives the message's size.
    package consuming func finish(key: HMACSHA1Key?) throws(STUNError) -> Int {
        try finish(integrity: key.map(STUNIntegrity.sha1))
    }

    /// Adds the integrity of that kind (none: left out) and FINGERPRINT; gives the message's size.
    package consuming func finish(integrity: STUNIntegrity?) throws(STUNError) -> Int {
        switch integrity {
        case nil: break
        case .sha1(let key):
            let covered = count
            let offset = try open(STUNAttribute.messageIntegrity, byteCount: HMACSHA1Tag.byteCount)
            let tag = key.tag(of: bytes.bytes.extracting(0..<covered))
            var target = bytes._mutatingExtracting(offset..<offset + HMACSHA1Tag.byteCount)
            guard tag.write(into: &target) != nil else { throw .noRoom }
        case .sha256(let key):
            let covered = count
            let offset = try open(STUNAttribute.messageIntegritySHA256, byteCount: HMACSHA256Key.tagByteCount)
            guard let tag = key.tag(of: bytes.bytes.extracting(0..<covered)) else { throw .noRoom }
            for (index, byte) in tag.enumerated() { store(byte, at: offset + index) }
        }
        let covered = count
        let offset = try open(STUNAttribute.fingerprint, byteCount: 4)
        store(CRC32.checksum(bytes.bytes.extracting(0..<covered)) ^ 0x5354_554E, at: offset)
        return count
    }

    // MARK: Inside

    @_lifetime(self: copy self)
    private mutating func add(_ attribute: UInt16, _ value: RawSpan) throws(STUNError) {
        let offset = try open(attribute, byteCount: value.byteCount)
        var target = bytes._mutatingExtracting(offset..<offset + value.byteCount)
        value.withUnsafeBytes { from in target.withUnsafeMutableBytes { $0.copyMemory(from: from) } }
    }

    /// Writes an attribute's header, zero padding and the new message length; gives where the value goes.
    @_lifetime(self: copy self)
    private mutating func open(_ attribute: UInt16, byteCount: Int) throws(STUNError) -> Int {
        let padded = (byteCount + 3) & ~3
        guard byteCount <= Int(UInt16.max) - 3, bytes.byteCount - count >= 4 + padded else { throw .noRoom }
        store(attribute, at: count)
        store(UInt16(byteCount), at: count + 2)
        let offset = count + 4
        for padding in offset + byteCount..<offset + padded { store(UInt8(0), at: padding) }
        count = offset + padded
        store(UInt16(truncatingIfNeeded: count - STUNMessage.headerByteCount), at: 2)
        return offset
    }

    @_lifetime(self: copy self)
    private mutating func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
        bytes.storeBytes(of: value.bigEndian, toByteOffset: offset, as: T.self)
    }
}
