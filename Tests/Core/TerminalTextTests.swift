import Testing

@testable import EmisoraCore

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("a\u{1B}[2Jb", "a [2Jb"), ("a\u{9B}31mb", "a 31mb"), ("a\u{7}\u{8}\u{7F}b", "a   b"),
        ("a\rb\nc\r\nd", "a b c  d"),
        ("a\u{2028}b\u{2029}c\u{85}d", "a b c d"), ("a\u{202E}b\u{2066}c\u{200E}d\u{FEFF}e", "a b c d e"),
    ])
    func nothingSteersTheTerminal(_ text: String, _ shown: String) {
        #expect(text.terminalLine == shown)
    }

    @Test(arguments: ["", "Plain, with spaces.", "José – „Übung“ 漢字 العربية", "👩\u{200D}🔧", "می\u{200C}خواهم"])
    func textStaysText(_ text: String) {
        #expect(text.terminalLine == text)
        #expect(text.terminalLines == text)
    }

    @Test func severalLinesStayLines() {
        #expect("a\nb\u{1B}c\r\nd".terminalLines == "a\nb c \nd")
    }
}
