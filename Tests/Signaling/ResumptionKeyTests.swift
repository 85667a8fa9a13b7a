import EmisoraSignalingProtocol
import Glibc
import Testing

@testable import EmisoraSignalingServer

/// Where the key comes from by which sessions are resumed, and for what it is good.
@Suite struct ResumptionKeyTests {
    private static func withFolder(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/emisora-resumption-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer {
            for name in ["key", "secret"] { unlink("\(folder)/\(name)") }
            rmdir(folder)
        }
        try body(folder)
    }

    /// What one start of a server hands out, and whether the next one takes it.
    private static func survives(
        _ first: SignalingServer.Configuration, _ second: SignalingServer.Configuration
    ) throws -> Bool {
        let issuer = try ServerSetup(first, log: .discarding).settings.access
        let grant = Grant(role: .publisher, expires: 9e9)
        let secret = try #require(issuer.resumptionSecret(for: "me", in: "demo", grant))
        let judge = try ServerSetup(second, log: .discarding).settings.access
        return judge.grant(resuming: SessionResumption(id: "me", secret: secret), with: nil, in: "demo") == grant
    }

    @Test func theKeyFileIsMadeOnceForItsOwnerAlone() throws {
        try Self.withFolder { folder in
            var configuration = SignalingServer.Configuration(port: 0)
            let answer1 = try Self.survives(configuration, configuration)
            #expect(!answer1)
            configuration.resumeKeyFile = folder + "/key"
            let answer2 = try Self.survives(configuration, configuration)
            #expect(answer2)
            var status = stat()
            #expect(stat(folder + "/key", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            configuration.resumeKeyFile = folder + "/missing/key"
            #expect(throws: SignalingServerError.self) { _ = try Self.survives(configuration, configuration) }
        }
    }

    @Test func theSecretOfTheTokensIsEnoughAndNoOpenServersSecretCounts() throws {
        try Self.withFolder { folder in
            var open = SignalingServer.Configuration(port: 0)
            open.resumeKeyFile = folder + "/key"
            let answer3 = try Self.survives(open, open)
            #expect(answer3)
            // The same bytes for both: whoever had every right while nobody asked for tokens has none now.
            var closed = SignalingServer.Configuration(port: 0)
            closed.secretFile = folder + "/key"
            let answer4 = try Self.survives(closed, closed)
            #expect(answer4)
            let answer5 = try Self.survives(open, closed)
            #expect(!answer5)
            closed.resumeKeyFile = folder + "/key"
            #expect(throws: SignalingServerError.self) { _ = try Self.survives(closed, closed) }
        }
    }

    @Test func theOptionsSayWhatTheyTake() {
        guard
            case .serve(let configuration, _) = SignalingServerCommand.parse(
                ["--grace", "2.5", "--resume-key-file=key"], environment: [:])
        else {
            Issue.record("refused")
            return
        }
        #expect(configuration.limits.resumeGrace == .milliseconds(2_500))
        #expect(configuration.resumeKeyFile == "key")
        for value in ["-1", "nan", "3601", "soon"] {
            guard case .wrong(let line) = SignalingServerCommand.parse(["--grace", value], environment: [:]) else {
                Issue.record("\(value) was taken")
                continue
            }
            #expect(line.contains("--grace") && line.contains("0-3600"))
        }
    }
}
