import Emisora
import EmisoraOperations
import EmisoraSignalingServer

/// The command line, read by a declarative table of options.
struct Arguments {
    typealias Option = ProgramOption
    typealias Usage = OptionError

    /// Reads `arguments`; gives those that are no options.
    static func parse(_ arguments: [String], options: [Option]) throws -> [String] {
        try OptionTable(options).read(arguments)
    }

    /// Reads `arguments`, and what they leave open from the environment and the file of `--config`.
    static func configured(_ arguments: [String], options: [Option]) throws -> [String] {
        try ProcessOptions.read(arguments, options: options)
    }

    /// As ``configured(_:options:)``, for commands of one session, whose URL is the one argument besides.
    static func session(_ arguments: [String], options: [Option]) throws -> String {
        let rest = try configured(arguments, options: options)
        guard let url = rest.first else {
            throw Usage(
                description:
                    "URL: one is needed; allowed: ws(s)://HOST:PORT/ROOM, http(s)://ENDPOINT or janus(s)://HOST:PORT/ROOM"
            )
        }
        guard rest.count == 1, isSession(url) else {
            throw Usage(description: invalidURL(rest.joined(separator: " ")))
        }
        return url
    }

    // MARK: Values

    /// What names of rooms and streams are made of.
    static let name = "1 to 64 of A-Z a-z 0-9 _ -, not reserved"

    /// A URL as it may be told: what stands behind a room, or before a host, may be a secret.
    static func shown(_ url: String) -> String {
        let plain = url.prefix { $0 != "?" && $0 != "#" }
        guard let scheme = plain.firstRange(of: "://"),
            let end = plain[scheme.upperBound...].prefix(while: { $0 != "/" }).lastIndex(of: "@")
        else { return String(plain) }
        return String(plain[..<scheme.upperBound] + plain[plain.index(after: end)...])
    }

    /// The one line for a URL that is none of a room.
    static func invalidURL(_ url: String) -> String {
        "URL: \(shown(url)) is not allowed; allowed: ws://HOST:PORT/ROOM or wss://HOST/ROOM, with a ROOM of \(name); "
            + "or http(s)://HOST/… of a WHIP or WHEP endpoint, or janus(s)://HOST:PORT/ROOM"
    }

    /// A room's, also of a Janus, or an HTTP endpoint's.
    static func isSession(_ url: String) -> Bool {
        ["ws://", "wss://", "http://", "https://", "janus://", "januss://"].contains { url.hasPrefix($0) }
    }

    /// `640x480`.
    static func size(_ text: String) -> (width: Int, height: Int)? {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { whole($0) }
        guard parts.count == 2, let width = parts[0], let height = parts[1], (16...16_383).contains(width),
            (16...16_383).contains(height)
        else { return nil }
        return (width, height)
    }

    /// Exactly: `30`, `30000/1001`, and `29.97` as 2997/100.
    static func frameRate(_ text: String) -> FrameRate? {
        let sides = text.split(separator: "/", omittingEmptySubsequences: false).map { whole($0) }
        if sides.count == 2, let numerator = sides[0], let denominator = sides[1] {
            return FrameRate(numerator, denominator)
        }
        let halves = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(halves.count), let units = whole(halves[0]) else { return nil }
        guard halves.count == 2 else { return FrameRate(units) }
        // As many digits as a fraction of 31-bit numbers has room for.
        guard halves[1].count <= 6, let decimals = whole(halves[1]), units <= Int(Int32.max) else { return nil }
        let scale = halves[1].reduce(1) { scale, _ in scale * 10 }
        let (a, b) = (units * scale + decimals, scale)
        var (x, y) = (a, b)
        while y != 0 { (x, y) = (y, x % y) }
        return x > 0 ? FrameRate(a / x, b / x) : nil
    }

    /// Digits and nothing else.
    private static func whole(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    /// `1500k`, `2M` or plain bits a second.
    static func bitrate(_ text: String) -> Int? {
        let multiplier = text.hasSuffix("k") ? 1_000 : text.hasSuffix("M") ? 1_000_000 : 1
        let digits = multiplier == 1 ? Substring(text) : text.dropLast()
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let value = Double(digits),
            value.isFinite, value > 0
        else { return nil }
        let bits = value * Double(multiplier)
        return (10_000...100_000_000).contains(bits) ? Int(bits) : nil
    }

    /// `0-500`: milliseconds, as `playout-delay` can carry them.
    static func delays(_ text: String) -> ClosedRange<Duration>? {
        let bounds = text.split(separator: "-", omittingEmptySubsequences: false).map { whole($0) }
        guard bounds.count == 2, let least = bounds[0], let most = bounds[1], least <= most, most <= 40_950 else {
            return nil
        }
        return .milliseconds(Int64(least)) ... .milliseconds(Int64(most))
    }

    static func seconds(_ text: String) -> Double? {
        guard let value = Double(text), value.isFinite, value > 0, value <= 1_000_000 else { return nil }
        return value
    }
}
