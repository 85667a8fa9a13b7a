import EmisoraCore

/// What one sender may still send, in messages and in bytes: two buckets that fill again with the time.
///
/// What does not fit costs nothing, so that who is refused once is not refused for ever.
struct Allowance: Sendable {
    private var messages: Double
    private var bytes: Double
    private var refilled: Instant

    init(_ limits: ServerLimits, now: Instant) {
        messages = Double(limits.messageBurst)
        bytes = Double(limits.byteBurst)
        refilled = now
    }

    /// Takes what is sent from what is allowed; `false`, and nothing taken, where it is more.
    mutating func spend(messages count: Int = 1, bytes byteCount: Int, _ limits: ServerLimits, now: Instant) -> Bool {
        let elapsed = max(0, (now - refilled).inSeconds)
        messages = min(Double(limits.messageBurst), messages + elapsed * Double(limits.messagesPerSecond))
        bytes = min(Double(limits.byteBurst), bytes + elapsed * Double(limits.bytesPerSecond))
        refilled = now
        guard messages >= Double(count), bytes >= Double(byteCount) else { return false }
        messages -= Double(count)
        bytes -= Double(byteCount)
        return true
    }

    /// Whether it would be full by now, like that of somebody never seen.
    func isUntouched(_ limits: ServerLimits, now: Instant) -> Bool {
        let elapsed = max(0, (now - refilled).inSeconds)
        return messages + elapsed * Double(limits.messagesPerSecond) >= Double(limits.messageBurst)
            && bytes + elapsed * Double(limits.bytesPerSecond) >= Double(limits.byteBurst)
    }

    /// Before those that waited longest count as never seen.
    fileprivate var lastUse: Instant { refilled }
}

/// The allowances of senders that no connection stands for, by the site that their requests come from. Bounded, whatever
/// addresses are invented.
struct SiteAllowances: Sendable {
    private static let maximumCount = 8_192

    private var allowances: [IPAddress: Allowance] = [:]

    var count: Int { allowances.count }

    mutating func spend(from address: IPAddress, bytes: Int, _ limits: ServerLimits, now: Instant) -> Bool {
        if allowances.count >= Self.maximumCount { makeRoom(limits, now: now) }
        return allowances[address.site, default: Allowance(limits, now: now)].spend(bytes: bytes, limits, now: now)
    }

    private mutating func makeRoom(_ limits: ServerLimits, now: Instant) {
        allowances = allowances.filter { !$0.value.isUntouched(limits, now: now) }
        guard allowances.count > Self.maximumCount / 2 else { return }
        let youngest = allowances.sorted { $0.value.lastUse > $1.value.lastUse }.prefix(Self.maximumCount / 2)
        allowances = Dictionary(uniqueKeysWithValues: youngest.map { ($0.key, $0.value) })
    }
}
