import EmisoraCore
import EmisoraJanusProtocol

/// What Janus says of the media that it gets, as sentences for a person, no more of them than one reads.
struct JanusReports {
    private static let slowLinkInterval: Duration = .seconds(10)

    private var missing: Set<String> = []
    private var slowLinkAt: Instant?

    /// - Returns: `nil` where there is nothing new.
    mutating func sentence(for message: JanusMessage, now: Instant) -> String? {
        let what = message.media == "audio" ? "sound" : "pictures"
        switch message.kind {
        case .media where message.isReceiving == false:
            return missing.insert(what).inserted ? "Janus receives no \(what) of ours any more." : nil
        case .media where message.isReceiving == true:
            return missing.remove(what) == nil ? nil : "Janus receives \(what) again."
        case .slowLink where message.isUplink == true:
            if let slowLinkAt, now - slowLinkAt < Self.slowLinkInterval { return nil }
            slowLinkAt = now
            return "Janus has lost \(message.lost ?? 0) packets of ours within a second (\(what))."
        default: return nil
        }
    }
}
