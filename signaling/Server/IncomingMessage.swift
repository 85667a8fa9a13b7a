import EmisoraSignalingProtocol

/// A websocket message as its fragments come, kept as far as it may be long.
struct IncomingMessage {
    private static let limit = SignalingProtocol.maximumMessageSize

    private var kept: [UInt8] = []
    /// All that came, kept or not.
    private(set) var byteCount = 0
    private var fragmentCount = 0

    /// `nil`: it was too long.
    var bytes: [UInt8]? { byteCount <= Self.limit ? kept : nil }

    /// What libwebsockets leaves to us: a character that the last of several fragments does not complete, where that one
    /// is empty.
    var isBrokenText: Bool {
        fragmentCount > 1 && byteCount <= Self.limit && String(validating: kept, as: UTF8.self) == nil
    }

    mutating func append(_ fragment: UnsafeRawBufferPointer) {
        byteCount += fragment.count
        fragmentCount += 1
        if byteCount <= Self.limit {
            kept.append(contentsOf: fragment)
        } else {
            kept = []
        }
    }

    /// Whether its end is not worth waiting for.
    func isEndless(_ limits: ServerLimits) -> Bool {
        byteCount > limits.discardedBytes || fragmentCount > limits.fragmentsPerMessage
    }
}
