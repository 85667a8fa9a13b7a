import FoundationEssentials

/// What a program tells whoever runs it: sentences for a person, or a JSON object a line for a machine.
///
/// ```swift
/// log.record(.info, "server.listening", "Signaling server at \(url)", ["url": .text(url)])
/// ```
///
/// From any thread. Secrets, tokens and ids by which somebody could act for another have no place in it, at no level.
package struct Log: Sendable {
    package enum Level: String, CaseIterable, Comparable, Sendable {
        case debug, info, warning, error

        package static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }
    }

    package enum Format: String, CaseIterable, Sendable {
        case text, json
    }

    package enum Value: Equatable, Sendable {
        case text(String)
        case integer(Int)
        case number(Double)
        case flag(Bool)
    }

    package let format: Format
    package let level: Level
    private let unixTime: @Sendable () -> Double
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - level: Less than this is not told.
    ///   - unixTime: Seconds since 1970.
    ///   - write: Takes a line without its end.
    package init(
        format: Format = .text, level: Level = .info, unixTime: @escaping @Sendable () -> Double,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.format = format
        self.level = level
        self.unixTime = unixTime
        self.write = write
    }

    /// Tells nothing to nobody.
    package static let discarding = Log(level: .error, unixTime: { 0 }, write: { _ in })

    /// - Parameters:
    ///   - event: What happened, for machines: `server.listening`; the same for all of its kind.
    ///   - message: A sentence, for people.
    ///   - fields: Beside these a JSON object has `time`, `level`, `event` and `message`.
    package func record(
        _ level: Level, _ event: String, _ message: @autoclosure () -> String,
        _ fields: @autoclosure () -> [String: Value] = [:]
    ) {
        guard level >= self.level else { return }
        switch format {
        case .text: write(Self.text(level, message(), fields()))
        case .json: write(Self.json(level, event, message(), fields(), unixTime: unixTime()))
        }
    }

    /// At the debug level the sentence alone would not say whom it is about.
    private static func text(_ level: Level, _ message: String, _ fields: [String: Value]) -> String {
        guard level == .debug, !fields.isEmpty else { return message }
        return message + " ("
            + fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.plain)" }.joined(separator: ", ") + ")"
    }

    private static func json(
        _ level: Level, _ event: String, _ message: String, _ fields: [String: Value], unixTime: Double
    ) -> String {
        var object = fields
        object["time"] = .text(timestamp(unixTime))
        object["level"] = .text(level.rawValue)
        object["event"] = .text(event)
        object["message"] = .text(message)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Numbers that JSON has none for have become null before.
        guard let data = try? encoder.encode(object) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    /// RFC 3339 in UTC with milliseconds.
    package static func timestamp(_ unixTime: Double) -> String {
        Date(timeIntervalSince1970: unixTime).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

extension Log.Value: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .integer(let value): try container.encode(value)
        case .number(let value) where value.isFinite: try container.encode(value)
        case .number: try container.encodeNil()
        case .flag(let value): try container.encode(value)
        }
    }

    fileprivate var plain: String {
        switch self {
        // A name from outside must not begin a line of its own.
        case .text(let text): String(text.map { ($0.unicodeScalars.first?.value ?? 0) < 0x20 ? " " : $0 })
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .flag(let value): "\(value)"
        }
    }
}
