import EmisoraSignalingProtocol

/// What somebody who is away will be told once it is back, in its order.
///
/// Nobody can use up what others need: each sender has a share of the messages and bytes. What the server itself says is
/// bounded by what there is to say: of each subscription its end, of each stream its last state.
struct HeldMessages<Sender: Hashable & Sendable>: Sendable {
    private struct Entry {
        var message: SignalingMessage
        var sender: Sender?
        /// Of what others send; what the server says is bounded otherwise.
        var byteCount = 0
    }

    private static var messagesOfSender: Int { 128 }
    private static var messagesOfSenders: Int { 2_048 }
    private static var streamNotices: Int { 64 }
    private static var departures: Int { 256 }
    private let byteLimit: Int
    private var entries: [Entry] = []

    /// - Parameter byteLimit: of what others send, all together; a sender has a third of it.
    init(byteLimit: Int) {
        self.byteLimit = byteLimit
    }

    var messages: [SignalingMessage] { entries.map(\.message) }

    /// Keeps a message that another participant sent; `false`: it has used up its share.
    mutating func hold(_ message: SignalingMessage, from sender: Sender) -> Bool {
        // `welcome` says how streams are.
        if case .streamPropertyChanged = message { return true }
        let byteCount = message.json().count
        let sent = entries.filter { $0.sender != nil }
        let own = sent.filter { $0.sender == sender }
        let ownBytes = own.reduce(0) { $0 + $1.byteCount }
        guard sent.count < Self.messagesOfSenders, own.count < Self.messagesOfSender,
            sent.reduce(0, { $0 + $1.byteCount }) + byteCount <= byteLimit,
            ownBytes == 0 || ownBytes + byteCount <= byteLimit / 3
        else { return false }
        entries.append(Entry(message: message, sender: sender, byteCount: byteCount))
        return true
    }

    /// Keeps what the server says, but for what is told anyway to who comes back: what streams and participants there are.
    mutating func hold(_ message: SignalingMessage) {
        switch message {
        case .participantJoined: return
        case .participantLeft:
            makePlace(Self.departures) { if case .participantLeft = $0 { true } else { false } }
        case .streamPublished(let stream):
            forgetEnd(of: stream.stream)
            return
        case .streamUnpublished(let stream):
            forgetEnd(of: stream.stream)
            // Of what is left out `welcome` says no more that it is there.
            makePlace(Self.streamNotices) { if case .streamUnpublished = $0 { true } else { false } }
        case .subscriptionEnded(let id, _):
            let isUnheardOf = entries.contains { $0.message.begunSubscription == id }
            entries.removeAll { $0.message.subscription == id }
            if isUnheardOf { return }
        default: break
        }
        entries.append(Entry(message: message))
    }

    /// Drops the oldest of a kind where there are that many.
    private mutating func makePlace(_ limit: Int, among isOne: (SignalingMessage) -> Bool) {
        let notices = entries.indices.filter { isOne(entries[$0].message) }
        if notices.count >= limit, let oldest = notices.first { entries.remove(at: oldest) }
    }

    private mutating func forgetEnd(of stream: String) {
        entries.removeAll {
            if case .streamUnpublished(let ended) = $0.message { ended.stream == stream } else { false }
        }
    }
}

extension SignalingMessage {
    /// The subscription that this message tells somebody of for the first time.
    var begunSubscription: String? {
        switch self {
        case .subscribe(let id, _, _), .ingest(let id, _, _): id
        default: nil
        }
    }
}
