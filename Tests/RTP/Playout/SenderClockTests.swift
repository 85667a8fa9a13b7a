import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct SenderClockTests {
    private static let wallClock = WallClock(unixNanosecondsAtZero: 1_700_000_000_000_000_000)

    /// A report of a sender whose clocks run as they should, but for a wrong wall clock.
    private func report(_ milliseconds: Int, wrongBy error: Int = 0) -> SenderReport {
        SenderReport(
            ssrc: 1, ntpTimestamp: Self.wallClock.ntp(at: at(milliseconds + error)),
            rtpTimestamp: UInt32(truncatingIfNeeded: milliseconds * 90), packetCount: 0, octetCount: 0)
    }

    /// By how much what a timestamp maps to is wrong, in milliseconds.
    private func error(_ clock: SenderClock, at milliseconds: Int) -> Double? {
        clock.ntpTimestamp(of: UInt32(truncatingIfNeeded: milliseconds * 90))
            .map { $0.duration(since: Self.wallClock.ntp(at: at(milliseconds))).inMilliseconds }
    }

    @Test func withoutAReportNothingIsKnownAndAfterOneAllIs() throws {
        var clock = SenderClock(clockRate: 90_000)
        #expect(error(clock, at: 0) == nil)
        clock.handle(report(1_000), now: at(1_020))
        for time in [0, 999, 1_000, 30_000] { #expect(abs(try #require(error(clock, at: time))) < 0.1) }
    }

    @Test func aReportThatContradictsIsNotBelievedUntilOthersAgree() throws {
        var clock = SenderClock(clockRate: 90_000)
        clock.handle(report(1_000), now: at(1_000))
        clock.handle(report(2_000, wrongBy: 5_000), now: at(2_000))
        #expect(abs(try #require(error(clock, at: 2_000))) < 0.1)
        // The answer that measures the round trip is about the newest one all the same.
        #expect(clock.lastSenderReport == report(2_000, wrongBy: 5_000).ntpTimestamp.middle32)
        // Each lies differently: none overrules.
        for second in 3..<20 { clock.handle(report(second * 1_000, wrongBy: second * 700), now: at(second * 1_000)) }
        #expect(abs(try #require(error(clock, at: 20_000))) < 0.1)
        // A wall clock that was set.
        for second in 20..<23 { clock.handle(report(second * 1_000, wrongBy: 9_000), now: at(second * 1_000)) }
        #expect(abs(try #require(error(clock, at: 23_000)) - 9_000) < 0.1)
    }

    @Test func aFirstReportThatLiesIsOverruled() throws {
        var clock = SenderClock(clockRate: 90_000)
        clock.handle(report(0, wrongBy: -70_000), now: at(0))
        for second in 1...3 { clock.handle(report(second * 1_000), now: at(second * 1_000)) }
        #expect(abs(try #require(error(clock, at: 3_000))) < 0.1)
    }

    @Test func aSenderWithoutWallClockTellsNothing() {
        var clock = SenderClock(clockRate: 90_000)
        clock.handle(
            SenderReport(
                ssrc: 1, ntpTimestamp: NTPTimestamp(rawValue: 0), rtpTimestamp: 7, packetCount: 0, octetCount: 0),
            now: at(0))
        #expect(clock.ntpTimestamp(of: 7) == nil)
    }

    @Test func clocksThatDriftAreFollowedForAnHour() throws {
        var clock = SenderClock(clockRate: 90_000)
        for second in 0...3_600 {
            // The RTP clock is slow by 500 millionths, and reads a little late now and then.
            let report = SenderReport(
                ssrc: 1, ntpTimestamp: Self.wallClock.ntp(at: at(second * 1_000 + second % 7)),
                rtpTimestamp: UInt32(truncatingIfNeeded: Int64(Double(second) * 90_000 * 0.9995)), packetCount: 0,
                octetCount: 0)
            clock.handle(report, now: at(second * 1_000))
        }
        let last = UInt32(truncatingIfNeeded: Int64(3_600 * 90_000 * 0.9995))
        let mapped = try #require(clock.ntpTimestamp(of: last))
        #expect(abs(mapped.duration(since: Self.wallClock.ntp(at: at(3_600_000))).inMilliseconds) < 10)
    }

    @Test func timesOfCaptureComeFirstWhileTheyAreRecentAndReportsAfterThem() throws {
        var clock = SenderClock(clockRate: 90_000)
        clock.handle(report(0), now: at(0))
        // A packet says that it was captured 40 ms before what the report says.
        clock.handle(.init(timestamp: Self.wallClock.ntp(at: at(4_960))), of: 5_000 * 90)
        #expect(abs(try #require(error(clock, at: 5_000)) + 40) < 0.1)
        // Packets without one are reckoned from it.
        #expect(abs(try #require(error(clock, at: 6_000)) + 40) < 0.1)
        #expect(abs(try #require(error(clock, at: 30_000))) < 0.1)
    }

    @Test func behindAMixerTimesOfCaptureAreBroughtToItsClock() throws {
        var clock = SenderClock(clockRate: 90_000)
        // The capturer's clock is three seconds ahead of the mixer's.
        clock.handle(.init(timestamp: Self.wallClock.ntp(at: at(4_000)), clockOffset: 3 << 32), of: 1_000 * 90)
        #expect(abs(try #require(error(clock, at: 1_000))) < 0.1)
    }

    @Test func durationsOfNTPTimestampsCrossTheEra() {
        let before = NTPTimestamp(rawValue: .max - (1 << 32) + 1)
        let after = NTPTimestamp(rawValue: 1 << 32)
        #expect(after.duration(since: before) == .seconds(2) && before.duration(since: after) == .seconds(-2))
        #expect(before.advanced(by: .seconds(2)) == after && after.advanced(by: .seconds(-2)) == before)
    }
}
