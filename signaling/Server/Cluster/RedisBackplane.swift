import EmisoraCore
import EmisoraOperations
import Glibc
import Synchronization

/// Carries what nodes say to each other through a Redis server, on a thread of its own, so that the server's loop never
/// waits for it.
///
/// Two connections, since one that subscribes can do nothing else: messages go by PUBLISH to `emisora:all` or
/// `emisora:node:ID`, names are claimed by a script at `emisora:stream:ROOM/NAME`. When either breaks, both are made
/// anew; the rooms then say everything again.
///
/// `@unchecked Sendable`: `queue` is a mutex, `stopping` atomic, the pipe's descriptors are fixed; all else is touched by
/// the thread only.
final class RedisBackplane: ThreadBody, @unchecked Sendable {
    private struct Queue {
        var commands: [BackplaneCommand] = []
        var bytes = 0
        var isOpen = false
        var overflowed = false
    }

    private enum Expected {
        case nothing
        case claim(ticket: UInt64)
    }

    private static let maximumQueuedBytes = 16 * 1024 * 1024
    private static let maximumQueuedCommands = 200_000
    /// What ours say comes back at least every second; silence for longer is a broken connection.
    private static let silence = Duration.seconds(5)
    /// The holder of a name, or nobody, or who gives way: then it is the asker's, for a time.
    private static let claimScript = """
        local holder = redis.call('GET', KEYS[1])
        if holder and holder ~= ARGV[1] and (ARGV[2] == '' or holder ~= ARGV[2]) then return 0 end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
        return 1
        """
    private static let releaseScript =
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

    private let url: RedisURL
    private let node: String
    /// `false`: it does not keep up.
    private let onEvent: @Sendable (BackplaneEvent) -> Bool
    private let log: Log
    private let queue = Mutex(Queue())
    private let stopping = Atomic(false)
    private let wakeRead: Int32
    private let wakeWrite: Int32
    private var lastNotice = ""

    init(
        url: RedisURL, node: String, log: Log, onEvent: @escaping @Sendable (BackplaneEvent) -> Bool
    ) throws(SignalingServerError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .failed("no pipe could be made: \(String(cString: strerror(errno)))") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (wakeRead, wakeWrite) = (ends[0], ends[1])
        self.url = url
        self.node = node
        self.onEvent = onEvent
        self.log = log
    }

    deinit {
        close(wakeRead)
        close(wakeWrite)
    }

    /// From any thread; never blocks. What comes while Redis is gone is dropped: all is said again afterwards.
    func send(_ command: BackplaneCommand) {
        queue.withLock { queue in
            guard queue.isOpen else { return }
            if case .publish(let bytes, _) = command { queue.bytes += bytes.count }
            guard queue.bytes <= Self.maximumQueuedBytes, queue.commands.count < Self.maximumQueuedCommands else {
                queue.overflowed = true
                return
            }
            queue.commands.append(command)
        }
        wake()
    }

    /// Ends `run()`, once what was sent has gone out.
    func requestStop() {
        stopping.store(true, ordering: .releasing)
        wake()
    }

    private func wake() {
        _ = write(wakeWrite, [1], 1)
    }

    // MARK: The thread

    func run() {
        var delay: Int32 = 250
        while !stopping.load(ordering: .acquiring) {
            var wasConnected = false
            do throws(RedisConnection.Failure) {
                let commands = try RedisConnection(url)
                let subscription = try RedisConnection(url)
                try subscription.demand(["SUBSCRIBE", "emisora:all"])
                try subscription.demand(["SUBSCRIBE", "emisora:node:\(node)"])
                try commands.demand(["PING"])
                notice(.info, "redis.connected", "Rooms are shared through Redis at \(url).")
                queue.withLock { $0 = Queue(isOpen: true) }
                wasConnected = true
                delay = 250
                _ = onEvent(.connected)
                try serve(commands, subscription)
            } catch {
                notice(
                    .warning, "redis.lost",
                    "Redis at \(url) is not reached: \(error). Rooms go on here; they are shared again when it is back."
                )
            }
            queue.withLock { $0 = Queue() }
            if wasConnected { _ = onEvent(.disconnected) }
            let end = Instant.monotonic + .nanoseconds(Int64(delay) * 1_000_000)
            while !stopping.load(ordering: .acquiring), Instant.monotonic < end {
                var descriptor = pollfd(fd: wakeRead, events: Int16(POLLIN), revents: 0)
                _ = poll(&descriptor, 1, delay)
                drainWakes()
            }
            delay = min(delay * 2, 2000)
        }
    }

    /// No address has user or password in it.
    private func notice(_ level: Log.Level, _ event: String, _ text: String) {
        guard text != lastNotice else { return }
        lastNotice = text
        log.record(level, event, text, ["server": .text(url.description)])
    }

    private func drainWakes() {
        var bytes = [UInt8](repeating: 0, count: 256)
        while read(wakeRead, &bytes, bytes.count) > 0 {}
    }

    private func serve(
        _ commands: RedisConnection, _ subscription: RedisConnection
    ) throws(RedisConnection.Failure) {
        // In the order of their commands.
        var expected: [Expected] = []
        var nextExpected = 0
        var heard = Instant.monotonic
        var answered = heard
        while true {
            // Read before the queue, so that what was sent before the stop is in it.
            let isLast = stopping.load(ordering: .acquiring)
            try send(to: commands, &expected)
            if isLast { return }
            var descriptors = [wakeRead, subscription.descriptor, commands.descriptor].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            _ = poll(&descriptors, 3, 500)
            drainWakes()
            if descriptors[1].revents != 0 {
                heard = .monotonic
                for reply in try subscription.replies() {
                    guard case .list(let parts) = reply, parts.count == 3, parts[0] == .text(Array("message".utf8)),
                        case .text(let bytes) = parts[2]
                    else { continue }
                    try tell(.received(bytes))
                }
            }
            if descriptors[2].revents != 0 {
                for reply in try commands.replies() {
                    guard nextExpected < expected.count else { throw .init(description: "a reply to nothing came") }
                    if case .claim(let ticket) = expected[nextExpected] {
                        if case .error(let why) = reply { throw .init(description: why) }
                        guard case .number(let answer) = reply else {
                            throw .init(description: "a claim got no number")
                        }
                        try tell(.claimed(ticket: ticket, isOurs: answer == 1))
                    } else if case .error(let why) = reply {
                        throw .init(description: why)
                    }
                    nextExpected += 1
                    // Also while there is always more to be answered.
                    answered = .monotonic
                }
            }
            if nextExpected == expected.count {
                expected.removeAll(keepingCapacity: true)
                nextExpected = 0
                answered = .monotonic
            } else if nextExpected > 1024 {
                expected.removeFirst(nextExpected)
                nextExpected = 0
            }
            let now = Instant.monotonic
            guard now - heard < Self.silence, now - answered < Self.silence else {
                throw .init(description: "it says nothing")
            }
        }
    }

    private func tell(_ event: BackplaneEvent) throws(RedisConnection.Failure) {
        guard onEvent(event) else { throw .init(description: "more comes from it than this server can take") }
    }

    private func send(
        to connection: RedisConnection, _ expected: inout [Expected]
    ) throws(RedisConnection.Failure) {
        let (batch, overflowed) = queue.withLock { queue in
            defer { (queue.commands, queue.bytes) = ([], 0) }
            return (queue.commands, queue.overflowed)
        }
        guard !overflowed else { throw .init(description: "it takes less than there is to say") }
        guard !batch.isEmpty else { return }
        for command in batch {
            switch command {
            case .publish(let bytes, let node):
                let channel = node.map { "emisora:node:\($0)" } ?? "emisora:all"
                try connection.send([Array("PUBLISH".utf8), Array(channel.utf8), bytes])
                expected.append(.nothing)
            case .claim(let claim, let ticket):
                let lifetime = String(StreamClaim.lifetime.nanoseconds / 1_000_000)
                let words = ["EVAL", Self.claimScript, "1", Self.key(claim), claim.holder, claim.over ?? "", lifetime]
                try connection.send(words.map { Array($0.utf8) })
                expected.append(.claim(ticket: ticket))
            case .release(let claim):
                let words = ["EVAL", Self.releaseScript, "1", Self.key(claim), claim.holder]
                try connection.send(words.map { Array($0.utf8) })
                expected.append(.nothing)
            }
        }
        try connection.flush()
    }

    private static func key(_ claim: StreamClaim) -> String { "emisora:stream:\(claim.room)/\(claim.stream)" }
}
