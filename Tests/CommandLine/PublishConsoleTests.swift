import Emisora
import Testing

@testable import emisora_cli

@Suite struct PublishConsoleTests {
    @Test(arguments: [
        ("mute audio", PublishConsole.Command.mute(.audio)), ("  unmute\tvideo ", .unmute(.video)),
        ("mute video\r", .mute(.video)), ("unmute audio", .unmute(.audio)),
    ])
    func aLineIsACommand(_ line: String, _ command: PublishConsole.Command) {
        #expect(PublishConsole.Command(line) == command)
    }

    @Test(arguments: ["", "mute", "mute everything", "MUTE audio", "mute audio video", "stop"])
    func anythingElseIsNone(_ line: String) {
        #expect(PublishConsole.Command(line) == nil)
    }
}
