import EmisoraSignalingProtocol

/// Those whom moderators put out, so that nobody comes back as who it was: the secret of its session holds on.
///
/// The newest ten thousand; a secret that has run out, or is of a server's life before this one's key, needs no memory.
struct Expulsions: Sendable {
    static let capacity = 10_000

    private var words: [String: ForcedDisconnect] = [:]
    private var ids: [String] = []
    private var oldest = 0

    mutating func add(_ word: ForcedDisconnect) {
        guard words.updateValue(word, forKey: word.id) == nil else { return }
        guard ids.count == Self.capacity else { return ids.append(word.id) }
        words[ids[oldest]] = nil
        ids[oldest] = word.id
        oldest = (oldest + 1) % Self.capacity
    }

    /// What the participant with that id was told, if it was put out.
    func word(for id: String) -> ForcedDisconnect? { words[id] }
}
