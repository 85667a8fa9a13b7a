import EmisoraCore

/// A parity packet of ULPFEC (RFC 5109 §7.3, §7.4) with its first level, which is all that is in use.
///
///     |E|L|P|X|  CC   |M| PT recovery |            SN base            |
///     |                          TS recovery                          |
///     |        length recovery        |       protection length       |
///     |             mask              |   mask, 32 bits more if L     |
package struct ULPFECPacket: Equatable, Sendable {
    /// The lowest protected sequence number.
    package var baseSequenceNumber: UInt16
    /// Which are protected, as distances from the lowest, ascending.
    package var distances: [UInt16]
    var parity: ProtectedBits

    /// Reads the payload of a parity packet; `nil` where it is none, or has an extension nobody knows (`E`).
    package init?(parsing payload: RawSpan) {
        do throws(ByteError) {
            var reader = ByteReader(payload)
            let flags: UInt16 = try reader.readInteger()
            guard flags & 0x8000 == 0 else { return nil }
            let hasLongMask = flags & 0x4000 != 0
            baseSequenceNumber = try reader.readInteger()
            parity = ProtectedBits()
            parity.flags = flags
            parity.timestamp = try reader.readInteger()
            parity.length = try reader.readInteger()
            let protectedByteCount: UInt16 = try reader.readInteger()
            // The mask's first bit is the highest one here.
            var mask = UInt64(try reader.readInteger(UInt16.self)) << 48
            if hasLongMask { mask |= UInt64(try reader.readInteger(UInt32.self)) << 16 }
            distances = (0..<48).filter { mask & (1 << (63 - UInt64($0))) != 0 }.map { UInt16($0) }
            parity.body = [UInt8](copying: try reader.readBytes(Int(protectedByteCount)))
        } catch {
            return nil
        }
        guard !distances.isEmpty else { return nil }
    }
}
