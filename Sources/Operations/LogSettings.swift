/// How a program tells what happens: the options `--log` and `--log-level`.
package struct LogSettings: Equatable, Sendable {
    package var format = Log.Format.text
    package var level = Log.Level.info

    package init() {}

    /// The options' table; each value goes through `change`.
    package static func options(_ change: @escaping ((inout LogSettings) -> Void) -> Void) -> [ProgramOption] {
        [
            ProgramOption(
                name: "log", values: names(Log.Format.allCases),
                help: "how to tell what happens: sentences, or a JSON object a line with time, level and event (text)"
            ) { text in
                guard let format = Log.Format(rawValue: text) else { return false }
                change { $0.format = format }
                return true
            },
            ProgramOption(name: "log-level", values: names(Log.Level.allCases), help: "the least that is told (info)") {
                text in
                guard let level = Log.Level(rawValue: text) else { return false }
                change { $0.level = level }
                return true
            },
        ]
    }

    private static func names<Name: RawRepresentable<String>>(_ all: [Name]) -> String {
        all.map(\.rawValue).joined(separator: "|")
    }
}
