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
                == .wrong("PORT in the environment: abc is not allowed; allowed: 0-65535"))
    }

    @Test func whatAServerOnTheInternetNeedsIsTaken() {
        var expected = SignalingServer.Configuration()
        expected.secretFile = "s"
        expected.turnSecretFile = "t"
        expected.certificateFile = "c.pem"
        expected.keyFile = "k.pem"
        expected.allowedOrigins = ["https://a.test", "http://b.test:8080"]
        expected.isInsecurelyOpen = true
        expected.limits.rooms = 7
        expected.limits.connectionsPerAddress = 9_000
        expected.iceServers = [.init(urls: ["turn:t.test"])]
        let parsed = SignalingServerCommand.parse(
            [
                "--secret-file", "s", "--turn-secret-file=t", "--certificate", "c.pem", "--key", "k.pem",
                "--allow-origin",
                "https://a.test", "--allow-origin", "http://b.test:8080", "--insecure-open", "--limit", "rooms=7",
                "--limit=connections-per-address=9000", "--ice-server", "turn:t.test",
            ], environment: [:])
        #expect(parsed == .serve(expected))
    }

    @Test(arguments: [
        ["--certificate", "c.pem"], ["--key", "k.pem"], ["--secret-file", ""], ["--insecure-open=1"],
        ["--allow-origin", "portal.test"], ["--allow-origin", "https://a.test/path"], ["--allow-origin", "https://"],
        ["--limit", "rooms"], ["--limit", "rooms=0"], ["--limit", "rooms=x"], ["--limit", "wat=1"],
        ["--limit", "rooms=1=2"], ["--limit", "connections=1000001"],
    ])
    func wrongOptionsOfAServerOnTheInternetAreNamed(_ arguments: [String]) {
        guard case .wrong(let line) = SignalingServerCommand.parse(arguments, environment: [:]) else {
            Issue.record("accepted \(arguments)")
            return
        }
        #expect(line.contains(arguments[0].prefix { $0 != "=" }))
    }

    @Test func eachOptionIsTakenFromArgumentsEnvironmentAndFileAlike() {
        let values = [
            "--host": "::1", "--port": "9", "--certificate": "c", "--key": "k", "--secret-file": "s",
            "--insecure-open": "", "--allow-origin": "https://a.test", "--limit": "rooms=3",
            "--ice-server": "stun:a.test", "--ice-user": "u", "--ice-credential": "c", "--turn-secret-file": "t",
            "--metrics": "[::1]:9464", "--drain": "7", "--log": "json", "--log-level": "debug", "--grace": "2.5",
            "--resume-key-file": "r", "--redis": "unix:/r",
        ]
        let options = ServerOptions().table.filter { $0.name != "config" && !$0.isHidden }
        #expect(Set(values.keys) == Set(options.map { "--\($0.name)" }))
        let arguments = options.flatMap { option -> [String] in
            let name = "--\(option.name)"
            return option.values.isEmpty ? [name] : [name, values[name] ?? ""]
        }
        var environment: [String: String] = [:]
        for option in options {
            environment[option.variable] = option.values.isEmpty ? "yes" : values["--\(option.name)"]
        }
        let file = environment.map { "\($0)=\($1)\n" }.joined()
        let parsed = SignalingServerCommand.parse(arguments, environment: [:])
        guard case .serve(let configuration, let log) = parsed else {
            Issue.record("\(parsed)")
            return
        }
        #expect(configuration.metrics == .at(MetricsAddress("[::1]:9464")!) && configuration.drainTime == .seconds(7))
        #expect(configuration.limits.resumeGrace == .milliseconds(2_500) && configuration.resumeKeyFile == "r")
        #expect(configuration.redis?.description == "/r")
        #expect(log.format == .json && log.level == .debug)
        #expect(SignalingServerCommand.parse([], environment: environment) == parsed)
        #expect(
            SignalingServerCommand.parse(["--config", "f"], environment: [:]) { path in path == "f" ? file : "" }
                == parsed)
    }

    @Test(arguments: [
        ["--metrics", "9464"], ["--metrics", "a:"], ["--metrics", ":9"], ["--metrics", "::1:9"],
        ["--metrics", "a:65536"], ["--metrics", "on"], ["--drain", "-1"], ["--drain", "3601"], ["--drain", "1.5"],
        ["--drain", ""], ["--log", "xml"], ["--log-level", "trace"], ["--config", "nowhere"],
    ])
    func wrongOptionsOfOperationsAreNamed(_ arguments: [String]) {
        guard case .wrong(let line) = SignalingServerCommand.parse(arguments, environment: [:]) else {
            Issue.record("accepted \(arguments)")
            return
        }
        #expect(line.contains(arguments[0]) || line.contains("nowhere"))
    }

    @Test func everyOptionIsInTheHelp() {
        let manual = SignalingServerCommand.manual()
        let options = ServerOptions().table.filter { !$0.isHidden }
        #expect(ServerOptions().table.filter(\.isHidden).map(\.name) == ["test-echo"])
        for limit in ServerLimits.adjustable { #expect(manual.help.contains(limit.name)) }
        for option in options {
            #expect(manual.help.contains("  --\(option.name) "))
            #expect(
                manual.manPage.contains("\\fB\(option.variable.split(separator: "-").joined(separator: "\\-"))\\fR"))
        }
    }

    @Test func aPasswordIsNotRepeated() {
        guard
            case .wrong(let line) = SignalingServerCommand.parse(
                ["--ice-credential", "pass\u{7}word"], environment: [:])
        else {
            Issue.record("accepted")
            return
        }
        #expect(!line.contains("word"))
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
