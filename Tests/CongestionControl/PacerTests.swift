import EmisoraCore
import Testing

@testable import EmisoraCongestionControl

@Suite struct PacerTests {
    private let start = Instant.zero + .seconds(1)

    /// Sends `packets` media packets as soon as the pacer lets them, and gives when each left.
    private func departures(
        _ pacer: inout Pacer, packets: Int, byteCount: Int, from: Instant
    ) -> (times: [Instant], wakeUps: Int) {
        var now = from
        var times: [Instant] = []
        var wakeUps = 0
        while times.count < packets, wakeUps < 10_000 {
            while times.count < packets, pacer.next(of: .media, inFlightByteCount: 0, now: now) == .media {
                pacer.didSend(byteCount: byteCount, now: now)
                times.append(now)
            }
            guard times.count < packets, let deadline = pacer.nextDeadline(for: .media, inFlightByteCount: 0, now: now)
            else { break }
            #expect(deadline > now)
            now = max(now, deadline)
            wakeUps += 1
        }
        return (times, wakeUps)
    }

    @Test(arguments: [200, 1_000, 5_000, 20_000]) func burstsTakeAtMost5MillisecondsOfThePath(kilobits: Int) {
        var pacer = Pacer(rate: .kilobitsPerSecond(kilobits))
        let byteCount = 1_200
        let (times, wakeUps) = departures(&pacer, packets: 200, byteCount: byteCount, from: start)
        #expect(times.count == 200)
        #expect(times == times.sorted())
        let bursts = Dictionary(grouping: times, by: \.self).values.map(\.count)
        let perBurst = max(1, kilobits * 5 / 8 / byteCount)
        #expect(bursts.max() == perBurst)
        #expect(wakeUps <= 200 / perBurst)
        // Over all, the rate.
        let seconds = (times[199] - times[0]).inSeconds
        let expected = Double(200 * byteCount * 8) / Double(kilobits * 1_000)
        #expect(abs(seconds - expected) <= max(0.006, 0.02 * expected))
    }

    @Test func soundGoesFirstAndAtOnceThenRetransmissionsThenMedia() {
        var pacer = Pacer(rate: .kilobitsPerSecond(100))
        let all: Pacer.Waiting = [.audio, .retransmission, .media]
        #expect(pacer.next(of: all, inFlightByteCount: 0, now: start) == .audio)
        #expect(pacer.next(of: [.media, .retransmission], inFlightByteCount: 0, now: start) == .retransmission)
        pacer.didSend(byteCount: 1_200, now: start)
        // 96 ms of the path are taken.
        #expect(pacer.next(of: [.media, .retransmission], inFlightByteCount: 0, now: start) == nil)
        #expect(pacer.next(of: all, inFlightByteCount: 0, now: start) == .audio)
        #expect(pacer.nextDeadline(for: all, inFlightByteCount: 0, now: start) == start)
        #expect(pacer.nextDeadline(for: .media, inFlightByteCount: 0, now: start) == start + .milliseconds(96))
        // Sound takes its part of the rate.
        pacer.didSend(byteCount: 125, now: start)
        #expect(pacer.nextDeadline(for: .media, inFlightByteCount: 0, now: start) == start + .milliseconds(106))
        #expect(pacer.next(of: .media, inFlightByteCount: 0, now: start + .milliseconds(106)) == .media)
        #expect(pacer.nextDeadline(for: [], inFlightByteCount: 0, now: start) == nil)
    }

    @Test func aFullWindowHoldsMediaBackButNotSound() {
        var pacer = Pacer(rate: .kilobitsPerSecond(1_000))
        pacer.update(rate: .kilobitsPerSecond(1_000), congestionWindow: 10_000)
        #expect(pacer.next(of: .media, inFlightByteCount: 9_999, now: start) == .media)
        #expect(pacer.next(of: .media, inFlightByteCount: 10_000, now: start) == nil)
        #expect(pacer.nextDeadline(for: .media, inFlightByteCount: 10_000, now: start) == nil)
        #expect(pacer.next(of: [.media, .audio], inFlightByteCount: 10_000, now: start) == .audio)
    }

    @Test func aPauseIsNotSavedUpForALaterBurst() {
        var pacer = Pacer(rate: .kilobitsPerSecond(1_000))
        _ = departures(&pacer, packets: 5, byteCount: 600, from: start)
        let (times, _) = departures(&pacer, packets: 5, byteCount: 600, from: start + .seconds(60))
        #expect(times.count { $0 == times[0] } == 1)
    }

    @Test func aRateOfZeroStillEndsItsWaits() {
        var pacer = Pacer(rate: .bitsPerSecond(0))
        pacer.didSend(byteCount: .max / 16, now: start)
        #expect(pacer.nextDeadline(for: .media, inFlightByteCount: 0, now: start) == start + .seconds(10))
    }
}
