import Testing

@testable import EmisoraOperations

@Suite struct ManualTests {
    private static var manual: ProgramManual {
        var manual = ProgramManual(
            program: "tool run", purpose: "does it", synopses: ["[options]", "FILE"],
            options: [
                ProgramOption(name: "log-level", values: "a|b", help: "how 'much' \\ it ~ tells… - .") { _ in true },
                ProgramOption(name: "quiet", values: "", help: String(repeating: "word ", count: 60)) { _ in true },
            ])
        manual.notes = [".TH is a note", "'another"]
        manual.exitCodes = [(0, "well")]
        return manual
    }

    @Test("text of a page is no request of roff's, whatever it holds")
    func roff() {
        let page = Self.manual.manPage
        #expect(page.contains("\n\\&.TH is a note\n"))
        #expect(page.contains("\n\\&\\(aqanother\n"))
        #expect(page.contains("how \\(aqmuch\\(aq \\(rs it \\(ti tells\\[u2026] \\- ."))
        #expect(page.contains(".TP\n\\fB\\-\\-log\\-level\\fR \\fIa|\\:b\\fR\n"))
        #expect(page.hasPrefix(".TH TOOL\\-RUN 1 "))
        #expect(page.utf8.allSatisfy { $0 < 0x80 })
    }

    @Test("help has a line for each option, none too long for a screen")
    func help() {
        let help = Self.manual.help
        #expect(help.hasPrefix("Usage: tool run [options]\nUsage: tool run FILE\n"))
        #expect(help.contains("  --log-level a|b  how"))
        #expect(help.contains("  --quiet          word"))
        for line in help.split(separator: "\n") { #expect(line.count <= 120) }
    }

    @Test("where options have variables, help and page say how, and the page names each")
    func configuration() {
        var manual = Self.manual
        #expect(!manual.manPage.contains("EMISORA_"))
        manual.isConfigurable = true
        #expect(manual.help.contains("EMISORA_LOG_LEVEL"))
        #expect(
            manual.manPage.contains("\\fBEMISORA_LOG_LEVEL\\fR") && manual.manPage.contains("\\fBEMISORA_QUIET\\fR"))
    }
}
