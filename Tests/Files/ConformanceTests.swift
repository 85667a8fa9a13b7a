import EmisoraCapture
import EmisoraFiles
import EmisoraTesting
import Glibc
import Testing

/// The capturers of files keep the rules of all capturers.
@Suite(.serialized) struct ConformanceTests {
    /// Time is not judged under sanitizers.
    private let options = ConformanceOptions(
        checks: Set(ConformanceCheck.allCases).subtracting(
            getenv("EMISORA_NO_TIMING") == nil ? [] : ConformanceCheck.timed), mustObeyWants: true)

    @Test func picturesOfAFilmConform() async throws {
        let studio = try Studio()
        let path = try studio.make("film.webm", pattern, "-c:v libvpx -g 5 -b:v 300k -an")
        let report = try await CaptureConformance.check(options: options) { try MediaFile(path: path).video! }
        expectConforming(report)
    }

    @Test func soundOfAFilmConforms() async throws {
        let studio = try Studio()
        let path = try studio.make("sound.webm", tone, "-c:a libopus")
        let report = try await CaptureConformance.check(audio: { try MediaFile(path: path).audio! }, options: options)
        expectConforming(report)
    }

    @Test func stillPictureConforms() async throws {
        let studio = try Studio()
        let path = try studio.make("still.png", "-f lavfi -i testsrc2=s=160x120", "-frames:v 1")
        let report = try await CaptureConformance.check(options: options) {
            try ImageCapture(path: path, frameRate: 10)
        }
        expectConforming(report)
    }

    private func expectConforming(_ report: ConformanceReport) {
        #expect(report.findings.isEmpty && report.skipped.isEmpty, "\(report)")
        #expect(!report.description.contains("not judged"), "\(report)")
    }
}
