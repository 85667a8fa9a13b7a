/// Writes a page in the man(7) macros of roff.
struct Roff {
    private(set) var source = ""

    mutating func title(_ name: String) {
        // No date: the same sources make the same page.
        source += ".TH \(Self.escaped(name.uppercased())) 1 \"\" Emisora \"User Commands\"\n"
        // Left-aligned and without hyphens, which would get into options.
        source += ".ad l\n.nh\n"
    }

    mutating func section(_ name: String) { source += ".SH \(name)\n" }

    mutating func paragraph() { source += ".PP\n" }

    mutating func lineBreak() { source += ".br\n" }

    mutating func text(_ text: String) { source += Self.line(text) }

    mutating func command(_ program: String, _ arguments: String) {
        source += "\\fB\(Self.escaped(program))\\fR \(Self.escaped(arguments))\n"
    }

    mutating func entry(bold: String, italic: String, _ text: String) {
        source += ".TP\n\\fB\(Self.escaped(bold))\\fR"
        if !italic.isEmpty {
            // Long lists of values may break after each.
            let values = italic.split(separator: "|", omittingEmptySubsequences: false).map { Self.escaped(String($0)) }
            source += " \\fI\(values.joined(separator: "|\\:"))\\fR"
        }
        source += "\n" + Self.line(text)
    }

    mutating func verbatim(_ text: String) {
        source += ".EX\n"
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { source += Self.line(String(line)) }
        source += ".EE\n"
    }

    /// A line of text that is no request, whatever it begins with.
    private static func line(_ text: String) -> String {
        let isControl = text.first == "." || text.first == "'"
        return (isControl ? "\\&" : "") + escaped(text) + "\n"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\(rs"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "\n": result += " "
            case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
            }
        }
        return result
    }
}
