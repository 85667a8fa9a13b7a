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
    private let byteLimit: Int
    private var entries: [Entry] = []

    /// - Parameter byteLimit: of what others send, all together; a sender has a third of it.
    init(byteLimit: Int) {
        self.byteLimit = byteLimit
    }

    var messages: [SignalingMessage] { entries.map(\.message) }

    /// Keeps a message that another participant sent; `false`: it has used up its share.
    mutating func hold(_ message: SignalingMessage, from sender: Sender) -> Bool {
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

    /// Keeps what the server says. What `welcome` says anyway is not kept, nor who came and went meanwhile.
    mutating func hold(_ message: SignalingMessage) {
        switch message {
        case .participantJoined, .participantLeft: return
        case .streamPublished(let stream):
            forgetEnd(of: stream.stream)
            return
        case .streamUnpublished(let stream):
            forgetEnd(of: stream.stream)
            let notices = entries.indices.filter {
                if case .streamUnpublished = entries[$0].message { true } else { false }
            }
            // Of what is left out `welcome` says no more that it is there.
            if notices.count >= Self.streamNotices, let oldest = notices.first { entries.remove(at: oldest) }
        case .subscriptionEnded(let id, _):
            let isUnheardOf = entries.contains { $0.message.begunSubscription == id }
            entries.removeAll { $0.message.subscription == id }
            if isUnheardOf { return }
        default: break
        }
        entries.append(Entry(message: message))
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
