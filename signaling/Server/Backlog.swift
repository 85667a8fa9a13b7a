/// What waits until one connection reads it, in its order, and by whom it was sent.
///
/// What others send leaves room for what the server itself has to say, and what one of them sends leaves room for what
/// the rest do: so that nobody can have a participant taken for a slow reader by what it says to it. What the whole room is
/// told of streams and participants counts as the server's own.
struct Backlog<Sender: Hashable & Sendable>: Sendable {
    private let limit: Int
    private var waiting: [(sender: Sender?, count: Int)] = []
    private var first = 0
    private var bytesOfSender: [Sender: Int] = [:]
    private var relayedBytes = 0
    private(set) var byteCount = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether a message of the server's own still fits; where not, the reader is too slow.
    func hasRoom(for count: Int) -> Bool { byteCount + count <= limit }

    /// Whether a message of another participant's does: three quarters for all of them, one for each, which is the longest
    /// message; one that is alone always fits its sender's share.
    func hasRoom(for count: Int, of sender: Sender) -> Bool {
        let own = bytesOfSender[sender, default: 0]
        return relayedBytes + count <= limit / 4 * 3 && (own == 0 || own + count <= limit / 4)
    }

    mutating func append(_ count: Int, of sender: Sender? = nil) {
        waiting.append((sender, count))
        byteCount += count
        guard let sender else { return }
        bytesOfSender[sender, default: 0] += count
        relayedBytes += count
    }

    /// The oldest message has gone out.
    mutating func removeFirst() {
        guard first < waiting.count else { return }
        let (sender, count) = waiting[first]
        first += 1
        if first * 2 > waiting.count {
            waiting.removeFirst(first)
            first = 0
        }
        byteCount -= count
        guard let sender else { return }
        relayedBytes -= count
        let left = bytesOfSender[sender, default: 0] - count
        bytesOfSender[sender] = left > 0 ? left : nil
    }
}
