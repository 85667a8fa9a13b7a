import EmisoraCore

/// TMMBR and TMMBN: the most that a receiver wants to be sent for a while, and the sender's answer (RFC 5104 §4.2).
///
/// ```swift
/// // What a sender answers to a request that now binds it:
/// try writer.write(TemporaryMaximumBitrate(.notification, senderSSRC: ours, entries: bounds))
/// ```
package struct TemporaryMaximumBitrate: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case request = 3
        case notification = 4
    }

    package struct Entry: Equatable, Sendable {
        /// In a request the media sender that is asked, in a notification the receiver that asked.
        package var ssrc: UInt32
        /// With the headers of all layers below (`overhead`). The message holds 17 significant bits; writing rounds
        /// down.
        package var bitrate: DataRate
        /// Bytes of headers on each packet as the receiver measures them, 0…511.
        package var overhead: UInt16

        package init(ssrc: UInt32, bitrate: DataRate, overhead: UInt16) {
            self.ssrc = ssrc
            self.bitrate = bitrate
            self.overhead = overhead
        }

        /// With as much of the bitrate as the message can hold.
        package var asWritten: Entry {
            let (mantissa, exponent) = bitrate.mantissaAndExponent(mantissaBits: 17)
            return Entry(ssrc: ssrc, bitrate: DataRate(mantissa: mantissa, exponent: exponent), overhead: overhead)
        }
    }

    /// A message that has more is read up to it.
    package static let entryLimit = 64

    package var kind: Kind
    package var senderSSRC: UInt32
    package var entries: [Entry]

    package init(_ kind: Kind, senderSSRC: UInt32, entries: [Entry]) {
        self.kind = kind
        self.senderSSRC = senderSSRC
        self.entries = entries
    }

    @_lifetime(reader: copy reader)
    static func parse(_ kind: Kind, _ reader: inout ByteReader) throws(ByteError) -> TemporaryMaximumBitrate {
        var message = TemporaryMaximumBitrate(kind, senderSSRC: try reader.readInteger(), entries: [])
        // The media source's SSRC is unused (§4.2.1.2).
        try reader.skip(4)
        while reader.remaining >= 8, message.entries.count < entryLimit {
            let ssrc: UInt32 = try reader.readInteger()
            let field: UInt32 = try reader.readInteger()
            message.entries.append(
                Entry(
                    ssrc: ssrc,
                    bitrate: .init(mantissa: Int(field >> 9 & 0x1_FFFF), exponent: Int(field >> 26)),
                    overhead: UInt16(field & 0x1FF)))
        }
        return message
    }
}

extension TemporaryMaximumBitrate: RTCPMessage {
    package var packetType: RTCPPacketType { .transportFeedback }
    package var format: UInt8 { kind.rawValue }

    package func bodyWordCount() throws(RTPError) -> Int {
        guard entries.allSatisfy({ $0.overhead <= 0x1FF && $0.bitrate.bitsPerSecond >= 0 }) else {
            throw .valueOutOfRange(field: "TMMBR bitrate or overhead")
        }
        return 2 + 2 * entries.count
    }

    @_lifetime(writer: copy writer)
    package func writeBody(to writer: inout ByteWriter) throws(ByteError) {
        try writer.writeInteger(senderSSRC)
        try writer.writeInteger(UInt32(0))
        for entry in entries {
            let (mantissa, exponent) = entry.bitrate.mantissaAndExponent(mantissaBits: 17)
            try writer.writeInteger(entry.ssrc)
            try writer.writeInteger(UInt32(exponent) << 26 | UInt32(mantissa) << 9 | UInt32(entry.overhead))
        }
    }
}

extension DataRate {
    /// `mantissa` · 2^`exponent`, held at the largest rate there is.
    init(mantissa: Int, exponent: Int) {
        self = .bitsPerSecond(mantissa == 0 ? 0 : mantissa.leadingZeroBitCount > exponent ? mantissa << exponent : .max)
    }

    /// The rate with that many significant bits, rounded down.
    func mantissaAndExponent(mantissaBits: Int) -> (mantissa: Int, exponent: Int) {
        let bits = max(0, bitsPerSecond)
        let exponent = max(0, Int.bitWidth - bits.leadingZeroBitCount - mantissaBits)
        return (bits >> exponent, exponent)
    }
}
