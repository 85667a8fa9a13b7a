import EmisoraCapture
import EmisoraTesting
import EmisoraVideo
import Testing

/// Capturers with one fault are found by the check for it, and by no other.
@Suite struct FaultTests {
    private var options: ConformanceOptions {
        ConformanceOptions(
            checks: judgedChecks, cycles: 12, watchDuration: .milliseconds(900), patience: .milliseconds(1500))
    }

    @Test(arguments: CaptureFault.judged)
    func faultOfACapturerOfPicturesIsFoundByItsCheckAlone(_ fault: CaptureFault) async throws {
        let options = options
        let report = try await Gate.shared.pass {
            try await reportOnAMachineWithRoom(finding: Set([fault.check].compactMap { $0 })) {
                try await CaptureConformance.check(options: options) { FaultyCapture(fault) }
            }
        }
        #expect(Set(report.findings.map(\.check)) == Set([fault.check].compactMap { $0 }), "\(fault): \(report)")
        #expect(report.findings.allSatisfy { $0.sentence.count > 40 && !$0.sentence.contains("\n") })
        if fault.check != .startAndStop { #expect(report.skipped.isEmpty, "\(fault): \(report)") }
        let made = report.passed + report.findings.map(\.check) + report.skipped.map(\.check)
        #expect(Set(made) == judgedChecks && made.count == Set(made).count, "\(report)")
    }

    @Test func everyCheckHasACapturerThatFailsIt() {
        let found = Set(CaptureFault.allCases.compactMap(\.check))
        #expect(found == Set(ConformanceCheck.allCases))
    }
}
