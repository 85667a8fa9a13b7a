import CEmisoraRedis
import Glibc

/// One connection to a Redis server; used by one thread. Owns hiredis' handle.
final class RedisConnection {
    enum Reply: Equatable {
        case text([UInt8])
        case number(Int)
        case list([Reply])
        case error(String)
        case nothing
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Of a reply that has not come whole: what nodes say is far shorter.
    private static let maximumUnread = 4 * 1024 * 1024

    private let context: UnsafeMutablePointer<redisContext>

    /// Connects, and says who it is; everything that would block ends after two seconds.
    init(_ url: RedisURL) throws(Failure) {
        let limit = timeval(tv_sec: 2, tv_usec: 0)
        let made =
            switch url.place {
            case .host(let host, let port): redisConnectWithTimeout(host, Int32(port), limit)
            case .path(let path): redisConnectUnixWithTimeout(path, limit)
            }
        guard let made else { throw Failure(description: "there is no memory for a connection") }
        context = made
        try check()
        redisSetTimeout(context, limit)
        if let password = url.password { try authenticate(["AUTH"] + (url.user.map { [$0] } ?? []) + [password]) }
        if url.database != 0 { try demand(["SELECT", String(url.database)]) }
    }

    deinit { redisFree(context) }

    var descriptor: Int32 { emisora_redis_fd(context) }

    /// A server that does not know the command repeats its words, and what it says is logged.
    private func authenticate(_ words: [String]) throws(Failure) {
        do throws(Failure) {
            try demand(words)
        } catch {
            try check()
            let word = error.description.prefix { $0.isASCII && $0.isLetter }
            throw Failure(description: "it does not take the password (\(word))")
        }
    }

    /// Sends a command and waits for its reply.
    @discardableResult
    func demand(_ words: [String]) throws(Failure) -> Reply {
        try send(words.map { Array($0.utf8) })
        var raw: UnsafeMutableRawPointer?
        guard redisGetReply(context, &raw) == REDIS_OK else {
            try check()
            throw Failure(description: "it does not answer")
        }
        let reply = Self.take(raw)
        if case .error(let why) = reply { throw Failure(description: why) }
        return reply
    }

    /// Sends a command, whose reply comes by `replies()`.
    func send(_ words: [[UInt8]]) throws(Failure) {
        let joined = words.flatMap(\.self) + [0]
        let lengths = words.map(\.count)
        let status = joined.withUnsafeBufferPointer { bytes in
            var pointers: [UnsafePointer<CChar>?] = []
            var offset = 0
            for length in lengths {
                pointers.append(
                    bytes.baseAddress.map { UnsafeRawPointer($0 + offset).assumingMemoryBound(to: CChar.self) })
                offset += length
            }
            return redisAppendCommandArgv(context, Int32(words.count), &pointers, lengths)
        }
        guard status == REDIS_OK else { throw Failure(description: "a command could not be kept") }
    }

    /// Hands everything to the system; waits for at most two seconds.
    func flush() throws(Failure) {
        var isDone: Int32 = 0
        while isDone == 0 {
            guard redisBufferWrite(context, &isDone) == REDIS_OK else {
                try check()
                throw Failure(description: "it takes nothing")
            }
        }
    }

    /// What has come, when the descriptor is readable.
    func replies() throws(Failure) -> [Reply] {
        guard redisBufferRead(context) == REDIS_OK else {
            try check()
            throw Failure(description: "the connection broke")
        }
        var all: [Reply] = []
        while true {
            var raw: UnsafeMutableRawPointer?
            guard redisGetReplyFromReader(context, &raw) == REDIS_OK else {
                try check()
                throw Failure(description: "it does not speak as Redis does")
            }
            guard raw != nil else { break }
            all.append(Self.take(raw))
        }
        guard emisora_redis_unread(context) <= Self.maximumUnread else {
            throw Failure(description: "it sends more than any node says")
        }
        return all
    }

    private func check() throws(Failure) {
        guard emisora_redis_has_failed(context) == 0 else {
            throw Failure(description: String(cString: emisora_redis_error(context)))
        }
    }

    private static func take(_ raw: UnsafeMutableRawPointer?) -> Reply {
        defer { freeReplyObject(raw) }
        return copy(raw?.assumingMemoryBound(to: redisReply.self))
    }

    private static func copy(_ reply: UnsafeMutablePointer<redisReply>?) -> Reply {
        guard let reply = reply?.pointee else { return .nothing }
        switch reply.type {
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS:
            return .text(Array(UnsafeRawBufferPointer(start: reply.str, count: Int(reply.len))))
        case REDIS_REPLY_ERROR:
            let bytes = UnsafeRawBufferPointer(start: reply.str, count: Int(reply.len))
            return .error(String(decoding: bytes.prefix(200), as: UTF8.self))
        case REDIS_REPLY_INTEGER: return .number(Int(reply.integer))
        case REDIS_REPLY_ARRAY: return .list((0..<Int(reply.elements)).map { copy(reply.element[$0]) })
        default: return .nothing
        }
    }
}
