/// What has happened in the rooms beside their ordinary course. Keys are from fixed lists.
struct RoomCounters: Equatable, Sendable {
    /// What was known of a session that came back.
    enum Return: String, CaseIterable, Sendable {
        /// It was waited for.
        case away
        /// Its old connection was still open.
        case connected
        /// Nothing: it comes from before a restart, or later than it was waited for.
        case unknown
    }

    /// Why a message did not get to whom it was for.
    enum Loss: String, CaseIterable, Sendable {
        /// Too much of its sender's waits for the reader already.
        case backlog
        /// Too much of its sender's is kept for somebody who is away already.
        case away
    }

    private(set) var resumed = Self.zeros(Return.self)
    /// Those that nobody came back for in time.
    private(set) var expired: UInt64 = 0
    private(set) var lost = Self.zeros(Loss.self)

    mutating func count(_ kind: Return) { resumed[kind.rawValue, default: 0] &+= 1 }

    mutating func count(_ loss: Loss) { lost[loss.rawValue, default: 0] &+= 1 }

    mutating func countExpired() { expired &+= 1 }

    /// A counter that begins where it is first seen hides its first increase.
    static func zeros<Key: CaseIterable & RawRepresentable<String>>(_: Key.Type) -> [String: UInt64] {
        var zeros: [String: UInt64] = [:]
        for key in Key.allCases { zeros[key.rawValue] = 0 }
        return zeros
    }
}
