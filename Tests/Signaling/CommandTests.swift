import Testing

@testable import EmisoraSignalingServer

@Suite struct CommandTests {
    @Test func optionsWinOverTheEnvironment() {
        let parsed = SignalingServerCommand.parse(
            ["--port", "9000", "--host=::"], environment: ["PORT": "1", "HOST": "0.0.0.0"])
        #expect(parsed == .serve(.init(host: "::", port: 9000)))
        #expect(SignalingServerCommand.parse([], environment: ["PORT": "81"]) == .serve(.init(port: 81)))
        #expect(SignalingServerCommand.parse([], environment: [:]) == .serve(.init()))
    }

    @Test(arguments: [["--port"], ["--port", "x"], ["--port=65536"], ["--port=-1"], ["--host="], ["--wat"], ["stray"]])
    func wrongArgumentsAreNamed(_ arguments: [String]) {
        guard case .wrong(let line) = SignalingServerCommand.parse(arguments, environment: [:]) else {
            Issue.record("accepted \(arguments)")
            return
        }
        #expect(line.contains(arguments[0].prefix { $0 != "=" }))
    }

    @Test func aWrongPortInTheEnvironmentIsNamed() {
        #expect(
            SignalingServerCommand.parse([], environment: ["PORT": "abc"])
                == .wrong("PORT=abc in the environment: it must be 0 to 65535."))
    }

    @Test func iceServersAreTakenWithTheirCredentials() {
        let parsed = SignalingServerCommand.parse(
            ["--ice-server", "stun:a.test", "--ice-server=turn:b.test", "--ice-user", "u", "--ice-credential", "c"],
            environment: [:])
        #expect(
            parsed
                == .serve(
                    .init(iceServers: [.init(urls: ["stun:a.test", "turn:b.test"], username: "u", credential: "c")])))
    }

    @Test(arguments: [
        ["--ice-server", "http://a.test"], ["--ice-server", "turn:"], ["--ice-server", "turn:a\r\nSet-Cookie: x"],
        ["--ice-server", "turn:a.test"], ["--ice-server", "stun:<a>"], ["--ice-user", ""],
    ])
    func wrongIceServersAreNamed(_ arguments: [String]) {
        guard case .wrong(let line) = SignalingServerCommand.parse(arguments, environment: [:]) else {
            Issue.record("accepted \(arguments)")
            return
        }
        #expect(line.contains(arguments[0]))
    }
}
