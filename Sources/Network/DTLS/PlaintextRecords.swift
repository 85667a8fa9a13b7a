import EmisoraCore

/// The records that stand at the beginning of a datagram before the peer has changed to its keys.
///
/// OpenSSL puts encrypted records that come early by and decrypts them when the keys are there; since 3.0.19 one that
/// fails to decrypt ends the association with a fatal alert, so that anybody who can send a datagram could break a
/// handshake. It is therefore shown no encrypted record before it has itself accepted the peer's ChangeCipherSpec. A
/// genuine one that overtook that is sent again with the flight it belongs to (RFC 6347 §4.2.4).
enum PlaintextRecords {
    /// RFC 6347 §4.1: type, version, epoch, sequence number, length.
    private static let headerByteCount = 13
    private static let changeCipherSpec: UInt8 = 20

    /// How many bytes they take: up to the first record of a later epoch, and at most to the first ChangeCipherSpec,
    /// after which OpenSSL has to be asked what it made of it. What cannot be read as records counts as such.
    static func leadingByteCount(of datagram: RawSpan) -> Int {
        var reader = ByteReader(datagram)
        while reader.remaining >= headerByteCount {
            let start = reader.offset
            guard let type = try? reader.readInteger(UInt8.self), (try? reader.skip(2)) != nil,
                let epoch = try? reader.readInteger(UInt16.self), (try? reader.skip(6)) != nil,
                let length = try? reader.readInteger(UInt16.self)
            else { break }
            guard epoch == 0 else { return start }
            guard (try? reader.skip(Int(length))) != nil else { break }
            if type == changeCipherSpec { return reader.offset }
        }
        return datagram.byteCount
    }
}
