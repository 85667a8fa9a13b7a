import EmisoraSCTP

extension DataChannel {
    /// How the messages of a channel go (W3C `RTCDataChannelInit`).
    ///
    /// ```swift
    /// // The newest position counts: nothing is repeated, and nothing waits for what was lost.
    /// let position = try subscriber.makeDataChannel(label: "position", options: .init(isOrdered: false, maxRetransmits: 0))
    /// ```
    public struct Options: Hashable, Sendable {
        /// Messages arrive in the order in which they were sent.
        public var isOrdered: Bool
        /// How often a message is repeated at the most; `nil`: until it arrives.
        public var maxRetransmits: UInt16?
        /// For how long a message is tried at the most, 0 to 65.535 s; `nil`: until it arrives. Where `maxRetransmits` is
        /// given, too, that counts.
        public var maxPacketLifeTime: Duration?
        /// A name for what is spoken on the channel, at most 65 535 bytes of UTF-8 (W3C `protocol`).
        public var subprotocol: String

        public init(
            isOrdered: Bool = true, maxRetransmits: UInt16? = nil, maxPacketLifeTime: Duration? = nil,
            subprotocol: String = ""
        ) {
            self.isOrdered = isOrdered
            self.maxRetransmits = maxRetransmits
            self.maxPacketLifeTime = maxPacketLifeTime
            self.subprotocol = subprotocol
        }
    }

    /// One message. Of text both sides get the same string, of binary the same bytes; either may be empty.
    public enum Message: Hashable, Sendable {
        case text(String)
        case binary([UInt8])
    }

    /// W3C `RTCDataChannelState`.
    public enum ReadyState: String, Hashable, Sendable {
        /// There is no connection yet.
        case connecting
        case open
        /// What was sent before still goes, nothing more.
        case closing
        case closed
    }
}

extension DataChannelParameters {
    init(label: String, _ options: DataChannel.Options) {
        self.init(label: label)
        subprotocol = options.subprotocol
        isOrdered = options.isOrdered
        if let count = options.maxRetransmits {
            reliability = .maxRetransmits(count)
        } else if let time = options.maxPacketLifeTime {
            reliability = .maxPacketLifeTime(UInt16(clamping: time.nanoseconds / 1_000_000))
        }
    }

    var options: DataChannel.Options {
        var options = DataChannel.Options(isOrdered: isOrdered, subprotocol: subprotocol)
        switch reliability {
        case .reliable: break
        case .maxRetransmits(let count): options.maxRetransmits = count
        case .maxPacketLifeTime(let milliseconds): options.maxPacketLifeTime = .milliseconds(Int(milliseconds))
        }
        return options
    }
}

extension DataChannel.Message {
    init(_ payload: DataChannelPayload) {
        switch payload {
        case .text(let text): self = .text(text)
        case .binary(let bytes): self = .binary(bytes)
        }
    }

    var payload: DataChannelPayload {
        switch self {
        case .text(let text): .text(text)
        case .binary(let bytes): .binary(bytes)
        }
    }

    /// Its bytes, and what keeping it takes beside them.
    var cost: Int { payload.byteCount + 64 }
}
