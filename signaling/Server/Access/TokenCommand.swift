import EmisoraOperations
import EmisoraSignalingProtocol
import Glibc

/// The program `emisora token`: makes an access token and prints it alone.
package enum TokenCommand {
    package static var manual: ProgramManual {
        var manual = ProgramManual(
            program: "emisora token", purpose: "makes an access token for a room",
            synopses: ["--secret-file FILE --room ROOM --role publisher|subscriber|moderator [options]"],
            options: options(Box()))
        manual.notes = [
            "The token, a JWT with HS256, is all that it prints. Any JWT library makes the same, from the same secret."
        ]
        manual.exitCodes = [
            (0, "the token was printed"), (1, "the secret cannot be read"), (2, "wrong arguments; the line says which"),
        ]
        manual.examples = [
            "emisora token --secret-file secret --room demo --role publisher --stream main --expires 12h > token"
        ]
        manual.seeAlso = ["emisora", "emisora-serve", "emisora-publish"]
        return manual
    }

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

    static func parse(_ arguments: [String]) -> Parsed {
        let box = Box()
        let table = options(box)
        do throws(OptionError) {
            let rest = try OptionTable(table).read(arguments)
            guard rest.isEmpty else { throw OptionError(description: "\(rest[0]): options alone are taken here") }
        } catch {
            return .wrong(error.description)
        }
        let request = box.request
        for (name, isMissing) in [
            ("secret-file", request.secretFile.isEmpty), ("room", request.room.isEmpty), ("role", request.role == nil),
        ] where isMissing {
            return .wrong("--\(name) is missing: \(table.first { $0.name == name }?.values ?? "").")
        }
        return .make(request)
    }

    private final class Box {
        var request = Request()
    }

    private static let name = "1 to 64 of A-Z a-z 0-9 _ -, not reserved"

    private static func options(_ box: Box) -> [ProgramOption] {
        func set<Value>(_ path: WritableKeyPath<Request, Value>, _ value: Value, if isAllowed: Bool) -> Bool {
            if isAllowed { box.request[keyPath: path] = value }
            return isAllowed
        }
        return [
            ProgramOption(name: "secret-file", values: "FILE", help: "the server's secret") {
                set(\.secretFile, $0, if: !$0.isEmpty)
            },
            ProgramOption(name: "room", values: name, help: "the one room that it opens") {
                set(\.room, $0, if: SignalingProtocol.isValid(name: $0))
            },
            ProgramOption(name: "role", values: "publisher|subscriber|moderator", help: "what it lets do there") {
                let role = AccessRole(rawValue: $0)
                return set(\.role, role, if: AccessRole.all.contains(role))
            },
            ProgramOption(name: "stream", values: name, help: "the one stream that may be published (any)") {
                set(\.stream, $0, if: SignalingProtocol.isValid(name: $0))
            },
            ProgramOption(
                name: "expires", values: "TIME, such as 90, 15m, 1h or 30d",
                help: "how long it lets in: seconds, or with m, h or d for minutes, hours or days (1h)"
            ) {
                let time = seconds($0)
                return set(\.lifetime, time ?? 0, if: time != nil)
            },
            ProgramOption(
                name: "data",
                values: "TEXT of \(AccessClaims.maximumDataByteCount) bytes at the most, no control characters",
                help: "told to others in the room"
            ) { set(\.data, $0, if: AccessClaims.isAllowed(data: $0)) },
            ProgramOption(
                name: "capacity", values: "1-1000000",
                help: "lets in only where the room has fewer than that many participants (the server's limit)"
            ) {
                let capacity = Int($0)
                return set(\.capacity, capacity, if: capacity.map { (1...1_000_000).contains($0) } ?? false)
            },
        ]
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
