import Emisora
import EmisoraOperations
import Glibc
import Testing

@testable import emisora_cli

@Suite struct ArgumentsTests {
    @Test(
        "a frame rate is read as the exact fraction that was written",
        arguments: [
            ("30", 30, 1), ("29.97", 2997, 100), ("30000/1001", 30_000, 1001), ("12.5", 25, 2), ("7.50", 15, 2),
            ("0.5", 1, 2), ("60/2", 30, 1), ("25.", 0, 0), ("", 0, 0), ("0", 0, 0), ("-1", 0, 0), ("1/0", 0, 0),
            ("0/1", 0, 0), ("1/2/3", 0, 0), ("1.2.3", 0, 0), ("1e3", 0, 0), ("+5", 0, 0), (" 5", 0, 0), ("abc", 0, 0),
            ("0.0000001", 0, 0), ("99999999999", 0, 0), ("99999999999999999999", 0, 0), ("2147483647.999999", 0, 0),
            ("2147483647", 2_147_483_647, 1), (".5", 0, 0), ("/", 0, 0), (".", 0, 0),
        ])
    func frameRates(text: String, numerator: Int, denominator: Int) {
        #expect(Arguments.frameRate(text) == FrameRate(numerator, denominator))
    }

    @Test(
        "bounds of a delay are two times in milliseconds",
        arguments: [
            ("0-0", 0, 0), ("10-400", 10, 400), ("0-40950", 0, 40_950), ("0-40951", -1, 0), ("5-4", -1, 0),
            ("5", -1, 0), ("-5", -1, 0), ("5-", -1, 0), ("1-2-3", -1, 0), ("a-b", -1, 0), ("", -1, 0),
            ("0-99999999999999999999", -1, 0),
        ] as [(String, Int64, Int64)])
    func delays(text: String, least: Int64, most: Int64) {
        let expected = least < 0 ? nil : Duration.milliseconds(least)...Duration.milliseconds(most)
        #expect(Arguments.delays(text) == expected)
    }

    @Test("an option without a value takes none, and the next argument is its own")
    func flags() throws {
        var seen: [String] = []
        let options = [
            Arguments.Option(name: "flag", values: "", help: "") {
                seen.append("flag" + $0)
                return true
            }
        ]
        #expect(try Arguments.parse(["--flag", "next"], options: options) == ["next"])
        #expect(seen == ["flag"])
        #expect(throws: Arguments.Usage.self) { try Arguments.parse(["--flag=1"], options: options) }
    }

    @Test("microphones and WAV files are named with what stands behind the colon")
    func soundSources() {
        if case .microphone(nil) = AudioSource("mic") {} else { Issue.record("mic") }
        if case .microphone("hw:1,0") = AudioSource("mic:hw:1,0") {} else { Issue.record("mic:hw:1,0") }
        if case .wav("a:b.wav") = AudioSource("wav:a:b.wav") {} else { Issue.record("wav:a:b.wav") }
        for text in ["mic:", "wav:", "wav", "microphone"] {
            if let source = AudioSource(text) { Issue.record("\(text): \(source)") }
        }
    }

    private static func network(
        _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> Session.Options {
        var network = NetworkArguments()
        let table = OptionTable(NetworkArguments.options { change in change(&network) })
        _ = try table.read(arguments, environment: environment) { path throws(OptionError) in
            throw OptionError(description: path)
        }
        return try network.sessionOptions(for: "ws://127.0.0.1:1/demo")
    }

    @Test("ICE servers, ports, interfaces and NAT addresses become a session's options")
    func networkOptions() throws {
        let options = try Self.network([
            "--ice-server", "turn:a.test?transport=tcp", "--ice-server", "stun:b.test", "--ice-user", "u",
            "--ice-credential", "c", "--relay-only", "--interface", "eth7", "--ports", "5000-5009", "--nat-address",
            "203.0.113.7", "--ice-ca", "ca.pem",
        ])
        #expect(
            options.iceServers == [
                ICEServer(urls: ["turn:a.test?transport=tcp", "stun:b.test"], username: "u", credential: "c")
            ])
        #expect(options.iceTransportPolicy == .relay)
        #expect(options.ports == 5_000...5_009)
        #expect(options.natAddresses == [IPAddress("203.0.113.7")])
        #expect(options.certificateAuthorities == "ca.pem")
        if case .interfaces(["eth7"]) = options.addresses {} else { Issue.record("\(options.addresses)") }
    }

    @Test("a token comes from its option, from a file, and else from the environment")
    func tokens() throws {
        let path = "/tmp/emisora-token-\(getpid())"
        let file = try #require(fopen(path, "w"))
        fputs("from.a.file\n", file)
        fclose(file)
        defer { unlink(path) }
        #expect(try Self.network(["--token", "a.b.c", "--token-file", path]).token == "a.b.c")
        #expect(try Self.network(["--token-file", path]).token == "from.a.file")
        #expect(try Self.network(["--ca", "ca.pem"]).certificateAuthorities == "ca.pem")
        // The environment's token counts only where no argument gives one in either way.
        for (arguments, environment, token) in [
            ([], ["EMISORA_TOKEN": "e.n.v"], "e.n.v"),
            (["--token-file", path], ["EMISORA_TOKEN": "e.n.v"], "from.a.file"),
            ([], ["EMISORA_TOKEN_FILE": path], "from.a.file"),
            (["--token", "a.b.c"], ["EMISORA_TOKEN_FILE": path], "a.b.c"), ([], [:], nil),
        ] as [([String], [String: String], String?)] {
            #expect(try Self.network(arguments, environment).token == token, "\(arguments) \(environment)")
        }
        #expect(throws: Arguments.Usage.self) { try Self.network(["--token-file", path + "-nowhere"]) }
    }

    @Test("several values of an option stand in one variable, with blanks between")
    func severalValues() throws {
        let options = try Self.network(
            [],
            [
                "EMISORA_ICE_SERVER": "stun:a.test stun:b.test", "EMISORA_INTERFACE": "eth0 eth1",
                "EMISORA_NAT_ADDRESS": "203.0.113.7 2001:db8::7", "EMISORA_RELAY_ONLY": "yes", "EMISORA_NO_TCP": "no",
            ])
        #expect(options.iceServers == [ICEServer(urls: ["stun:a.test", "stun:b.test"])])
        if case .interfaces(["eth0", "eth1"]) = options.addresses {} else { Issue.record("\(options.addresses)") }
        #expect(options.natAddresses == [IPAddress("203.0.113.7"), IPAddress("2001:db8::7")])
        #expect(options.iceTransportPolicy == .relay && options.usesTCPCandidates)
    }

    @Test("what stands behind a room in a URL is not repeated", arguments: ["?token=secret", "#token=secret"])
    func secretsInURLs(end: String) {
        #expect(!Arguments.invalidURL("ws://a.test/demo" + end).contains("secret"))
    }

    @Test(
        "network options that cannot be are refused",
        arguments: [
            ["--ice-server", "http://a"], ["--ice-server", "turn:a.test"], ["--ports", "9-1"], ["--ports", "0-5"],
            ["--ports", "5"], ["--ports", "1-70000"], ["--nat-address", "host"], ["--interface", ""],
            ["--token", ""], ["--token", "a b"], ["--token", "é"],
        ])
    func wrongNetworkOptions(arguments: [String]) {
        #expect(throws: Arguments.Usage.self) { try Self.network(arguments) }
    }
}
