import Foundation
import Synchronization
import Testing

@testable import EmisoraOperations

private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func log(_ format: Log.Format, _ level: Log.Level = .debug, at time: Double = 0) -> Log {
        Log(format: format, level: level, unixTime: { time }) { line in self.lines.withLock { $0.append(line) } }
    }
}

@Suite struct LogTests {
    @Test("a record in JSON is one line with time, level, event, message and fields")
    func json() throws {
        let lines = Lines()
        lines.log(.json, at: 1_700_000_000.25).record(
            .warning, "a.b", "He said \"no\",\nand left.\u{1}",
            [
                "room": .text("x\ny"), "count": .integer(3), "ratio": .number(0.5), "nothing": .number(.nan),
                "ok": .flag(true),
            ])
        let line = try #require(lines.all.first)
        #expect(lines.all.count == 1 && !line.contains("\n"))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["time"] as? String == "2023-11-14T22:13:20.250Z")
        #expect(object["level"] as? String == "warning")
        #expect(object["event"] as? String == "a.b")
        #expect(object["message"] as? String == "He said \"no\",\nand left.\u{1}")
        #expect(object["room"] as? String == "x\ny")
        #expect(object["count"] as? Int == 3)
        #expect(object["ratio"] as? Double == 0.5)
        #expect(object["nothing"] is NSNull)
        #expect(object["ok"] as? Bool == true)
    }

    @Test("fields do not take the places of time, level, event and message")
    func reservedNames() throws {
        let lines = Lines()
        lines.log(.json).record(.info, "e", "m", ["event": .text("x"), "level": .text("x"), "time": .text("x")])
        let line = try #require(lines.all.first)
        #expect(line == #"{"event":"e","level":"info","message":"m","time":"1970-01-01T00:00:00.000Z"}"#)
    }

    @Test("less than the level is not told, and its sentence is not made")
    func levels() {
        let lines = Lines()
        let log = lines.log(.text, .warning)
        func sentence() -> String {
            Issue.record("made for nobody")
            return ""
        }
        log.record(.info, "e", sentence())
        for level in Log.Level.allCases where level >= .warning { log.record(level, "e", "\(level)") }
        #expect(lines.all == ["warning", "error"])
    }

    @Test("text is the sentence alone, but for the debug level, which tells whom it is about")
    func text() {
        let lines = Lines()
        let log = lines.log(.text)
        log.record(.info, "e", "Hello.", ["a": .integer(1)])
        log.record(.debug, "e", "Hello.", ["b": .text("x\ny"), "a": .integer(1)])
        #expect(lines.all == ["Hello.", "Hello. (a 1, b x y)"])
    }
}
