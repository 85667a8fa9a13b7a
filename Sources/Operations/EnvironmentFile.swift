/// A file of `NAME=value` lines as systemd reads it for `EnvironmentFile=` (systemd.exec(5)), so that one file serves both.
///
/// Empty lines and those that begin with `#` or `;` say nothing. A value may stand in single or double quotes; in double
/// quotes and outside of quotes `\` takes the next character as it is. There are no values over several lines.
package enum EnvironmentFile {
    package struct Entry: Equatable {
        package var name: String
        package var value: String
        package var line: Int
    }

    /// More than any such file needs.
    package static let maximumByteCount = 65_536

    /// - Parameter path: For the sentence that says what is wrong.
    package static func entries(of text: String, path: String) throws(OptionError) -> [Entry] {
        var entries: [Entry] = []
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let line = trimmed(line)
            guard let first = line.first, first != "#", first != ";" else { continue }
            guard let equals = line.firstIndex(of: "="), isName(trimmed(line[..<equals])),
                let value = unquoted(trimmed(line[line.index(after: equals)...]))
            else {
                // What stands there may be a secret in the wrong place: it is not repeated.
                throw OptionError(description: "\(path), line \(index + 1): it is not NAME=value")
            }
            entries.append(Entry(name: String(trimmed(line[..<equals])), value: value, line: index + 1))
        }
        return entries
    }

    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
            }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }

    /// `nil` where a quote is never closed or something follows it.
    private static func unquoted(_ text: Substring) -> String? {
        var result = ""
        var rest = text
        let quote: Character? = rest.first == "\"" || rest.first == "'" ? rest.removeFirst() : nil
        while let character = rest.popFirst() {
            if character == quote { return rest.isEmpty ? result : nil }
            if character == "\\", quote != "'" {
                guard let next = rest.popFirst() else { return nil }
                result.append(next)
            } else {
                result.append(character)
            }
        }
        return quote == nil ? result : nil
    }
}
