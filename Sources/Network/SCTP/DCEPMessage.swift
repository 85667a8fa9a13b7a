import EmisoraCore

/// What the two sides of a data channel say to each other about it (RFC 8832 §5).
package enum DCEPMessage: Equatable, Sendable {
    case open(DataChannelParameters)
    case acknowledge

    static let ppid: UInt32 = 50
    private static let openType: UInt8 = 3
    private static let acknowledgeType: UInt8 = 2
    private static let unorderedBit: UInt8 = 0x80
    /// Of what W3C applications may choose, "low".
    private static let priority: UInt16 = 256

    /// `nil` for what is neither: of another type, cut short, with more behind it, or not UTF-8.
    package init?(parsing bytes: RawSpan) {
        var reader = ByteReader(bytes)
        guard let type = try? reader.readInteger(UInt8.self) else { return nil }
        switch type {
        case Self.acknowledgeType where reader.isAtEnd: self = .acknowledge
        case Self.openType:
            guard let channelType = try? reader.readInteger(UInt8.self), (try? reader.skip(2)) != nil,
                let value = try? reader.readInteger(UInt32.self),
                let labelByteCount = try? reader.readInteger(UInt16.self),
                let protocolByteCount = try? reader.readInteger(UInt16.self),
                let label = Self.readText(&reader, Int(labelByteCount)),
                let subprotocol = Self.readText(&reader, Int(protocolByteCount)), reader.isAtEnd
            else { return nil }
            var parameters = DataChannelParameters(label: label)
            parameters.subprotocol = subprotocol
            parameters.isOrdered = channelType & Self.unorderedBit == 0
            switch channelType & ~Self.unorderedBit {
            case 0: parameters.reliability = .reliable
            case 1: parameters.reliability = .maxRetransmits(UInt16(clamping: value))
            case 2: parameters.reliability = .maxPacketLifeTime(UInt16(clamping: value))
            default: return nil
            }
            self = .open(parameters)
        default: return nil
        }
    }

    package var bytes: [UInt8] {
        switch self {
        case .acknowledge: return [Self.acknowledgeType]
        case .open(let parameters):
            let (type, value): (UInt8, UInt32) =
                switch parameters.reliability {
                case .reliable: (0, 0)
                case .maxRetransmits(let count): (1, UInt32(count))
                case .maxPacketLifeTime(let milliseconds): (2, UInt32(milliseconds))
                }
            let (label, subprotocol) = (Array(parameters.label.utf8), Array(parameters.subprotocol.utf8))
            var bytes = [Self.openType, parameters.isOrdered ? type : type | Self.unorderedBit]
            func append(_ number: some FixedWidthInteger) {
                withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
            }
            append(Self.priority)
            append(value)
            append(UInt16(clamping: label.count))
            append(UInt16(clamping: subprotocol.count))
            return bytes + label + subprotocol
        }
    }

    private static func readText(_ reader: inout ByteReader, _ byteCount: Int) -> String? {
        guard let bytes = try? reader.readBytes(byteCount) else { return nil }
        return bytes.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    }
}
