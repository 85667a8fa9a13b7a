/// A STUN message's class and method (RFC 8489 §5). Only Binding is used by ICE; the others are TURN's (RFC 8656 §17).
package struct STUNMessageType: Hashable, Sendable {
    package enum Class: UInt16, Hashable, Sendable {
        case request = 0x0000
        case indication = 0x0010
        case success = 0x0100
        case error = 0x0110
    }

    package enum Method: UInt16, Hashable, Sendable, CaseIterable {
        case binding = 0x001
        case allocate = 0x003
        case refresh = 0x004
        case send = 0x006
        case data = 0x007
        case createPermission = 0x008
        case channelBind = 0x009
    }

    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    package init(_ class: Class, _ method: Method = .binding) {
        // The methods in use fit below the class bits, so that nothing has to be spread around them.
        rawValue = `class`.rawValue | method.rawValue
    }

    /// The two class bits lie between the method's bits.
    package var messageClass: Class { Class(rawValue: rawValue & 0x0110) ?? .indication }
    package var method: UInt16 { rawValue & 0x000F | (rawValue & 0x00E0) >> 1 | (rawValue & 0x3E00) >> 2 }
    package var isBinding: Bool { method == Method.binding.rawValue }
}

/// The 96 bits that tie a response to its request.
package struct STUNTransactionID: Hashable, Sendable {
    package let high: UInt32
    package let low: UInt64

    package init(high: UInt32, low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(using random: inout some RandomNumberGenerator) {
        high = UInt32(truncatingIfNeeded: random.next())
        low = random.next()
    }
}
