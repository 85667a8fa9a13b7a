import EmisoraSignalingProtocol
import Glibc

/// The program `emisora token`: makes an access token and prints it alone.
package enum TokenCommand {
    package static let usage = """
        emisora token --secret-file FILE --room ROOM --role publisher|subscriber|moderator [options]
          --stream STREAM   the one stream that may be published (any)
          --expires TIME    how long it lets in: seconds, or with m, h or d for minutes, hours or days (1h)
          --data TEXT       told to others in the room, 1024 bytes at the most
          --capacity N      lets in only where the room has fewer than N participants (the server's limit)
        """

    struct Request: Equatable {
        var secretFile = ""
        var room = ""
        var role: AccessRole?
        var stream: String?
        var lifetime = 3600.0
        var data: String?
        var capacity: Int?
    }

    enum Parsed: Equatable {
        case make(Request)
        /// One line that names the argument and what it may be.
        case wrong(String)
    }

    /// Answers with the exit code: 0, 2 for wrong arguments, 1 when the secret cannot be read.
    ///
    /// - Parameters:
    ///   - output: Gets the token.
    ///   - complaint: Gets a line that says what is wrong.
    package static func run(
        _ arguments: [String], output: (String) -> Void, complaint: (String) -> Void
    ) -> Int32 {
        switch parse(arguments) {
        case .wrong(let line):
            complaint("emisora token: \(line)")
            return 2
        case .make(let request):
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            do throws(SignalingServerError) {
                let key = TokenKey(try SecretFile(path: request.secretFile, atLeast: TokenKey.minimumByteCount))
                guard let token = token(for: request, key: key, at: Double(now.tv_sec)) else {
                    throw .failed("no signature could be made")
                }
                output(token.text)
                return 0
            } catch {
                complaint("emisora token: \(error)")
                return 1
            }
        }
    }

    static func token(for request: Request, key: TokenKey, at time: Double) -> BearerToken? {
        key.sign(
            AccessClaims(
                room: request.room, role: request.role ?? .subscriber, stream: request.stream,
                exp: (time + request.lifetime).rounded(), data: request.data,
                capacity: request.capacity))
    }

    private static let expected = [
        "--secret-file": "the path of a file",
        "--room": "1 to 64 of A-Z a-z 0-9 _ -, not reserved",
        "--role": "publisher, subscriber or moderator",
        "--stream": "1 to 64 of A-Z a-z 0-9 _ -, not reserved",
        "--expires": "a time of at least a second, such as 90, 15m, 1h or 30d",
        "--capacity": "a number from 1 to 1000000",
        "--data": "a text of \(AccessClaims.maximumDataByteCount) bytes at the most without control characters",
    ]

    static func parse(_ arguments: [String]) -> Parsed {
        var request = Request()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts.first ?? "")
            guard let allowed = expected[name] else {
                return .wrong(
                    "\(name): unknown argument; allowed are \(expected.keys.sorted().joined(separator: ", ")).")
            }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst(), take(value, for: name, &request)
            else { return .wrong("\(name): it must be \(allowed).") }
        }
        for (name, isMissing) in [
            ("--secret-file", request.secretFile.isEmpty), ("--room", request.room.isEmpty),
            ("--role", request.role == nil),
        ] where isMissing {
            return .wrong("\(name) is missing: \(expected[name] ?? "").")
        }
        return .make(request)
    }

    private static func take(_ value: String, for name: String, _ request: inout Request) -> Bool {
        switch name {
        case "--secret-file":
            request.secretFile = value
            return !value.isEmpty
        case "--room":
            request.room = value
            return SignalingProtocol.isValid(name: value)
        case "--role":
            request.role = AccessRole(rawValue: value)
            return AccessRole.all.contains(AccessRole(rawValue: value))
        case "--stream":
            request.stream = value
            return SignalingProtocol.isValid(name: value)
        case "--expires":
            guard let seconds = seconds(value) else { return false }
            request.lifetime = seconds
            return true
        case "--capacity":
            request.capacity = Int(value)
            return request.capacity.map { (1...1_000_000).contains($0) } ?? false
        default:
            request.data = value
            return AccessClaims.isAllowed(data: value)
        }
    }

    private static func seconds(_ text: String) -> Double? {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        let digits = unit == nil ? Substring(text) : text.dropLast()
        guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let count = Double(String(digits)), count >= 1
        else { return nil }
        return count * (unit ?? 1)
    }
}
