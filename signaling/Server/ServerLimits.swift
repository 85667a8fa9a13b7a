/// What one server takes, and what one client may take of it. Each has its figure in PROTOCOL.md and its test.
package struct ServerLimits: Equatable, Sendable {
    package var rooms = 1_000
    package var participantsPerRoom = 1_000
    package var streamsPerParticipant = 16
    package var streamsPerRoom = 64
    package var subscriptionsPerParticipant = 64
    /// WHIP and WHEP sessions: in all, of one room, and of one address (one /64 of IPv6).
    package var httpSessions = 1_000
    package var httpSessionsPerRoom = 500
    package var httpSessionsPerAddress = 250

    /// Messages that a client may send at once, and a second in the long run. A viewer sends about ten. It is the same
    /// for a websocket, for the changes to a WHIP or WHEP session, where each candidate counts, and for the sessions
    /// that an address begins.
    package var messageBurst = 500
    package var messagesPerSecond = 100
    /// The same in bytes. A viewer sends about 10 kB, and a publisher as much to each of its viewers.
    package var byteBurst = 4 << 20
    package var bytesPerSecond = 512 << 10
    /// Bytes that one client's signals to all may become for all of them together, at once and a second in the long run.
    package var signalByteBurst = 4 << 20
    package var signalBytesPerSecond = 1 << 20
    /// Of one message; without a bound a message of empty fragments would never end.
    package var fragmentsPerMessage = 16_384
    /// Bytes of one message after which an oversized one is not worth reading to its end.
    package var discardedBytes = 1 << 20
    /// Bytes that may wait for a slow reader before its connection is closed. What others send it gets three quarters of
    /// that, each of them one: beyond it the subscription ends that the message is about.
    package var backlogBytes = 256 * 1024

    /// TCP connections from one address (one /64 of IPv6), and from all; the latter is less where the system gives the
    /// process fewer descriptors.
    package var connectionsPerAddress = 512
    package var connections = 10_000
    /// Connections that are neither in a room nor have a whole request of theirs in work: how many of one address, how
    /// many in all, and for how long.
    package var strangersPerAddress = 8
    package var strangers = 200
    package var strangerTimeout: Duration = .seconds(5)
    /// A stranger younger than this does not count against its address, so that a crowd behind one NAT may come at once.
    package var strangerGrace: Duration = .milliseconds(250)

    /// How long somebody who lost its connection is taken for being there; zero: nobody is waited for.
    package var resumeGrace: Duration = .seconds(10)

    package init() {}

    /// Those that an operator may set, by their names on the command line.
    static let adjustable: [(name: String, path: WritableKeyPath<ServerLimits, Int> & Sendable)] = [
        ("rooms", \.rooms), ("participants", \.participantsPerRoom), ("connections", \.connections),
        ("connections-per-address", \.connectionsPerAddress), ("strangers", \.strangers),
        ("strangers-per-address", \.strangersPerAddress), ("messages-per-second", \.messagesPerSecond),
        ("sessions", \.httpSessions), ("sessions-per-room", \.httpSessionsPerRoom),
        ("sessions-per-address", \.httpSessionsPerAddress),
    ]

    /// Takes `NAME=N`, with N from 1 to a million; `false` for anything else.
    mutating func take(_ text: String) -> Bool {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        guard parts.count == 2, let limit = Self.adjustable.first(where: { $0.name == parts[0] }),
            let count = Int(parts[1]), (1...1_000_000).contains(count)
        else { return false }
        self[keyPath: limit.path] = count
        return true
    }

    /// These, but for no more connections than a process with that many descriptors can have; some are for other things.
    func within(descriptors: Int) -> Self {
        var limits = self
        limits.connections = min(connections, max(8, descriptors - 32))
        limits.strangers = min(strangers, max(4, limits.connections / 2))
        return limits
    }
}
