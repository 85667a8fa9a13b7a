import EmisoraCore
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// The rate after the path was gone for a while.
@Suite struct RecoveryTests {
    struct Outage: Sendable, CustomTestStringConvertible {
        var seconds: Int
        /// What the path carries before and after, in kbit/s; `nil`: without limit.
        var before: Int?
        var after: Int?

        var testDescription: String { "\(seconds) s, \(before ?? 0) → \(after ?? 0) kbit/s" }
    }

    @Test(
        "Two seconds after an outage half of the rate is back, and less than 5 % is lost on the way there",
        arguments: [
            Outage(seconds: 2, before: 500, after: 500), Outage(seconds: 2, before: 2_000, after: 2_000),
            Outage(seconds: 5, before: 500, after: 500), Outage(seconds: 5, before: 2_000, after: 2_000),
            Outage(seconds: 5, before: nil, after: nil),
        ], UInt64(1)...4)
    func theRateComesBack(outage: Outage, seed: UInt64) throws {
        let call = try Self.call(outage, seed: seed)
        let back = 15 + outage.seconds
        let before = call.figures(8..<15)
        let after = call.figures(back + 1..<back + 3)
        #expect(after.bitsPerSecond > 0.5 * before.bitsPerSecond, "\(before), then \(after)")
        #expect(call.figures(back..<back + 5).loss < 0.05, "\(call.figures(back..<back + 5))")
        let first = try #require(call.frames.first { $0.at > call.start + .seconds(back) })
        #expect(first.at - call.start - .seconds(back) < .milliseconds(700))
    }

    /// Pictures that come back at half of their rate overfill it for a second, since a queue hides from both sides what it
    /// cannot carry; then it is followed, and taken up again with care.
    @Test(
        "A path that is a quarter as wide after an outage loses nothing from three seconds on and is in use after ten",
        arguments: [2, 5], UInt64(1)...4)
    func aNarrowerPathIsFollowed(seconds: Int, seed: UInt64) throws {
        let call = try Self.call(Outage(seconds: seconds, before: 2_000, after: 500), seed: seed, watched: 13)
        let back = 15 + seconds
        let after = call.figures(back + 3..<back + 6)
        #expect(after.loss < 0.05, "\(after)")
        #expect(after.framesPerSecond > 25, "\(after)")
        let later = call.figures(back + 10..<back + 13)
        #expect(later.loss < 0.05 && later.bitsPerSecond > 0.4 * 500_000 && later.framesPerSecond > 25, "\(later)")
        #expect(call.figures(back..<back + 5).loss < 0.15, "\(call.figures(back..<back + 5))")
        let first = try #require(call.frames.first { $0.at > call.start + .seconds(back) })
        #expect(first.at - call.start - .seconds(back) < .milliseconds(700))
    }

    private static func call(_ outage: Outage, seed: UInt64, watched: Int = 6) throws -> PublishedCall {
        let call = try PublishedCall(seed: seed, kilobits: outage.before)
        call.run(until: 15)
        let back = call.simulation.now + .seconds(outage.seconds)
        call.simulation.filter = { [simulation = call.simulation] _, _ in simulation.now >= back }
        call.setRate(outage.after, at: 15)
        call.run(until: 15 + outage.seconds + watched)
        return call
    }
}
