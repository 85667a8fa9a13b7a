import Emisora
import EmisoraScreen
import EmisoraTestSupport
import EmisoraTesting
import Testing

/// The screen keeps the rules of all capturers, with and without anything that moves on it. Its rate is the most either
/// way, since it follows what changes.
@Suite(.serialized) struct ConformanceTests {
    private let options = ConformanceOptions(
        checks: Set(ConformanceCheck.allCases).subtracting(isTimingJudged ? [] : ConformanceCheck.timed),
        isSourceStatic: true, highestLoad: 1)

    @Test func screenThatDoesNotChangeConforms() async throws {
        let server = try XServer(screen: "160x120x24")
        let display = server.display
        let report = try await CaptureConformance.check(options: options) { try ScreenCapture(display: display) }
        #expect(report.findings.isEmpty && report.skipped.isEmpty, "\(report)")
        withExtendedLifetime(server) {}
    }

    @Test func screenWithARunningTextConforms() async throws {
        let server = try XServer(screen: "320x240x24")
        let display = server.display
        let terminal = try Child(
            "/usr/bin/xterm", ["-fn", "fixed", "-e", "sh", "-c", "while :; do date +%N; done"], display: display)
        let report = try await CaptureConformance.check(options: options) {
            try ScreenCapture(display: display, frameRate: 20)
        }
        #expect(report.findings.isEmpty && report.skipped.isEmpty, "\(report)")
        if isTimingJudged {
            // This source never stands still.
            let options = ConformanceOptions(checks: [.wants], cycles: 1, mustObeyWants: true)
            let report = try await CaptureConformance.check(options: options) {
                try ScreenCapture(display: display, frameRate: 20)
            }
            #expect(report.findings.isEmpty && report.skipped.isEmpty, "\(report)")
            #expect(!report.description.contains("not judged"), "\(report)")
        }
        withExtendedLifetime((server, terminal)) {}
    }
}
