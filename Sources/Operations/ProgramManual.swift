/// What a program says of itself: `--help` and its man page, from the same table that its arguments are read by.
package struct ProgramManual {
    /// As it is called: `emisora publish`.
    package var program: String
    /// A line without a full stop.
    package var purpose: String
    /// What stands behind the program's name, one for each way to call it.
    package var synopses: [String]
    package var options: [ProgramOption]
    /// Paragraphs.
    package var notes: [String] = []
    /// Whether options come from the environment and a file, too.
    package var isConfigurable = false
    package var environment: [(name: String, meaning: String)] = []
    package var exitCodes: [(code: Int, meaning: String)] = []
    package var examples: [String] = []
    package var seeAlso: [String] = []

    package init(program: String, purpose: String, synopses: [String], options: [ProgramOption]) {
        self.program = program
        self.purpose = purpose
        self.synopses = synopses
        let help = ProgramOption(name: "help", values: "", help: "shows this, and does nothing else") { _ in true }
        self.options = options.isEmpty ? [] : options.filter { !$0.isHidden } + [help]
    }

    /// Of the man page, without its section: `emisora-publish`.
    package var pageName: String { program.map { $0 == " " ? "-" : String($0) }.joined() }

    private var allNotes: [String] {
        guard isConfigurable else { return notes }
        return notes + [
            "Each option may stand in the environment or in the file of --\(OptionTable.fileOption), too: --log-level as "
                + "EMISORA_LOG_LEVEL, one without a value as yes or no, several values with blanks between. Arguments count "
                + "before the environment, and that before the file, which has lines NAME=value as systemd's EnvironmentFile."
        ]
    }

    // MARK: Help

    package var help: String {
        let width = min(30, options.map { Self.left($0).count }.max() ?? 0)
        var text = synopses.map { "Usage: \(program) \($0)" }.joined(separator: "\n") + "\n"
        for option in options {
            let left = Self.left(option)
            let indent = String(repeating: " ", count: width + 4)
            var lines = Self.wrapped(option.help, width: 118 - indent.count)
            if left.count <= width, !lines.isEmpty {
                let first = lines.removeFirst()
                text += "  " + left + String(repeating: " ", count: width + 2 - left.count) + first + "\n"
            } else {
                text += "  \(left)\n"
            }
            for line in lines { text += indent + line + "\n" }
        }
        for note in allNotes {
            text += "\n" + Self.wrapped(note, width: 118).joined(separator: "\n") + "\n"
        }
        return String(text.dropLast())
    }

    private static func left(_ option: ProgramOption) -> String {
        option.values.isEmpty ? "--\(option.name)" : "--\(option.name) \(option.values)"
    }

    private static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty ? lines : lines + [line]
    }

    // MARK: Man page

    /// In man(7).
    package var manPage: String {
        var roff = Roff()
        roff.title(pageName)
        roff.section("NAME")
        roff.text("\(pageName) - \(purpose)")
        roff.section("SYNOPSIS")
        for (index, synopsis) in synopses.enumerated() {
            if index > 0 { roff.lineBreak() }
            roff.command(program, synopsis)
        }
        roff.section("DESCRIPTION")
        for (index, note) in ([purpose + "."] + allNotes).enumerated() {
            if index > 0 { roff.paragraph() }
            roff.text(note)
        }
        if !options.isEmpty {
            roff.section("OPTIONS")
            for option in options { roff.entry(bold: "--\(option.name)", italic: option.values, option.help) }
        }
        if isConfigurable || !environment.isEmpty {
            roff.section("ENVIRONMENT")
            for variable in environment { roff.entry(bold: variable.name, italic: "", variable.meaning) }
            guard isConfigurable else { return finished(roff) }
            for option in options where option.name != "help" {
                let others = option.otherVariables.map { ", or \($0)" }.joined()
                roff.entry(bold: option.variable, italic: "", "The same as --\(option.name)\(others).")
            }
        }
        return finished(roff)
    }

    private func finished(_ page: Roff) -> String {
        var roff = page
        if !exitCodes.isEmpty {
            roff.section("EXIT STATUS")
            for exit in exitCodes { roff.entry(bold: "\(exit.code)", italic: "", exit.meaning) }
        }
        if !examples.isEmpty {
            roff.section("EXAMPLES")
            for (index, example) in examples.enumerated() {
                if index > 0 { roff.paragraph() }
                roff.verbatim(example)
            }
        }
        if !seeAlso.isEmpty {
            roff.section("SEE ALSO")
            roff.text(seeAlso.map { "\($0)(1)" }.joined(separator: ", "))
        }
        return roff.source
    }
}
