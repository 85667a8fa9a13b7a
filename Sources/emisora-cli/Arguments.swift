import Emisora

/// The command line, read by a declarative table of options.
struct Arguments {
    /// One option: its name, what its value may be, and where it goes.
    struct Option {
        let name: String
        /// For people: `N`, `WxH`, `noise|pattern|file:PATH|none`; empty for an option without a value.
        let values: String
        let help: String
        /// Takes the value; `false` when it is not allowed.
        let accept: (String) -> Bool
    }

    /// What is wrong, in one line that names the argument and what is allowed.
    struct Usage: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads `arguments`; gives those that are no options.
    static func parse(_ arguments: [String], options: [Option]) throws -> [String] {
        var positional: [String] = []
        var index = 0
        while index < arguments.count {
            let argument = arguments[index]
            index += 1
            guard argument.hasPrefix("-"), argument != "-" else {
                positional.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let option = options.first(where: { "--\($0.name)" == parts[0] }) else {
                let known = options.map { "--\($0.name)" }.joined(separator: ", ")
                throw Usage(description: "\(parts[0]): unknown option; allowed: \(known)")
            }
            let value: String
            if option.values.isEmpty {
                guard parts.count == 1 else { throw Usage(description: "--\(option.name): takes no value") }
                value = ""
            } else if parts.count > 1 {
                value = String(parts[1])
            } else if index < arguments.count {
                value = arguments[index]
                index += 1
            } else {
                throw Usage(description: "--\(option.name): a value is missing; allowed: \(option.values)")
            }
            guard option.accept(value) else {
                throw Usage(description: "--\(option.name): \(value) is not allowed; allowed: \(option.values)")
            }
        }
        return positional
    }

    static func help(_ options: [Option]) -> String {
        let width = options.map { $0.name.count + $0.values.count + 3 }.max() ?? 0
        return options.map { option in
            let left = option.values.isEmpty ? "--\(option.name)" : "--\(option.name) \(option.values)"
            return "  " + left + String(repeating: " ", count: max(1, width + 2 - left.count)) + option.help
        }.joined(separator: "\n")
    }

    // MARK: Values

    /// What names of rooms and streams are made of.
    static let name = "1 to 64 of A-Z a-z 0-9 _ -, not reserved"

    /// The one line for a URL that is none of a room.
    static func invalidURL(_ url: String) -> String {
        // What stands behind a room may be a secret in the wrong place.
        let shown = url.prefix { $0 != "?" && $0 != "#" }
        return "URL: \(shown) is not allowed; allowed: ws://HOST:PORT/ROOM or wss://HOST/ROOM, with a ROOM of \(name); "
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
