import Emisora
import EmisoraOperations
import EmisoraSignalingServer
import Testing

@testable import emisora_cli

@Suite struct ManualsTests {
    @Test("each option of each command is in its help and on its page")
    func options() throws {
        #expect(Manuals.all.count == 5)
        for manual in Manuals.all + [SignalingServerCommand.manual()] {
            #expect(!manual.options.isEmpty, "\(manual.program)")
            for option in manual.options {
                let dashed = option.name.split(separator: "-").joined(separator: "\\-")
                #expect(manual.help.contains("  --\(option.name)"), "\(manual.program)")
                #expect(manual.manPage.contains("\n\\fB\\-\\-\(dashed)\\fR"), "\(manual.program)")
                #expect(!option.help.isEmpty && !option.help.hasSuffix("."), "\(option.name)")
            }
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"] {
                #expect(manual.manPage.contains(".SH \(section)\n"), "\(manual.program): \(section)")
            }
        }
    }

    @Test("commands are found by their names, programs by theirs")
    func names() {
        for name in ["publish", "watch", "devices", "serve", "token"] {
            #expect(Manuals.manual(of: name)?.program == "emisora \(name)")
        }
        #expect(Manuals.manual(of: "signaling-server")?.pageName == "signaling-server")
        #expect(Manuals.manual(of: "emisora")?.manPage.contains("emisora\\-publish(1)") == true)
        #expect(Manuals.manual(of: "wat") == nil)
    }

    @Test(
        "a URL is told without what may be secret in it",
        arguments: [
            ("ws://a.test/demo?x=1#y", "ws://a.test/demo"), ("https://user:pass@a.test/whip", "https://a.test/whip"),
            ("https://a.test/a@b", "https://a.test/a@b"),
            ("https://a@b@c.test", "https://c.test"), ("no URL", "no URL"),
        ])
    func shown(url: String, expected: String) {
        #expect(Arguments.shown(url) == expected)
    }
}
