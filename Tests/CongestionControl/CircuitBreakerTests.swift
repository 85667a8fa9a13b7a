import EmisoraCore
import EmisoraRTP
import Testing

@testable import EmisoraCongestionControl

@Suite struct CircuitBreakerTests {
    private let start = Instant.zero + .seconds(1)

    /// Sends 100 packets a second of 1250 bytes, 1 Mbit/s, and hands in a report each second.
    private func run(
        seconds: Int, roundTripTime: Duration = .milliseconds(300),
        report: (Int) -> (loss: Double, arrives: Bool)?
    ) -> (trip: CircuitBreaker.Trip?, after: Int) {
        var breaker = CircuitBreaker()
        var highest: UInt32 = 0
        for second in 1...seconds {
            for packet in 0..<100 {
                let now = start + .seconds(second - 1) + .milliseconds(packet * 10)
                breaker.packetSent(byteCount: 1_250, now: now)
                if let trip = breaker.poll(now: now) { return (trip, second) }
            }
            let now = start + .seconds(second)
            if let (loss, arrives) = report(second) {
                highest += arrives ? 100 : 0
                breaker.handle(
                    ReportBlock(
                        ssrc: 1, fractionLost: UInt8(min(255, loss * 256)), extendedHighestSequenceNumber: highest),
                    roundTripTime: roundTripTime, now: now)
            }
            if let trip = breaker.poll(now: now) { return (trip, second) }
        }
        return (nil, seconds)
    }

    @Test("RFC 8083 §4.1: without reports sending stops") func withoutReportsItTripsAfter15Seconds() {
        let (trip, after) = run(seconds: 30) { _ in nil }
        #expect(trip == .reportTimeout(.seconds(15)))
        #expect(after == 15)
    }

    @Test func reportsThatStopTripItTooAndARareOneDoesNot() {
        let (trip, after) = run(seconds: 40) { $0 <= 10 ? (0, true) : nil }
        #expect(trip != nil && after == 25)
        #expect(run(seconds: 120) { $0 % 5 == 0 ? (0, true) : nil }.trip == nil)
    }

    @Test("RFC 8083 §4.2: reports of nothing received stop it") func reportsThatTellOfNothingNewTripIt() {
        let (trip, after) = run(seconds: 30) { (0, $0 <= 10) }
        #expect(trip == .mediaTimeout(reports: 5))
        #expect(after == 15)
    }

    @Test func anOverloadThatLastsTripsItAndAShortOneDoesNot() {
        let (trip, after) = run(seconds: 30) { ($0 > 10 ? 0.9 : 0, true) }
        guard case .congestion(let sent, let tcp)? = trip else {
            Issue.record("\(String(describing: trip))")
            return
        }
        #expect(after == 13)
        #expect(sent.bitsPerSecond > 10 * tcp.bitsPerSecond)
        #expect((900_000...1_100_000).contains(sent.bitsPerSecond))
        #expect(run(seconds: 60) { ($0 % 10 < 2 ? 0.9 : 0, true) }.trip == nil)
        // A long round trip gives it longer to end.
        #expect(run(seconds: 60, roundTripTime: .seconds(1)) { ($0 > 10 ? 0.9 : 0, true) }.after == 20)
    }

    @Test func reportsInFrontOfEachPieceOfFeedbackAreNotManyReports() {
        var breaker = CircuitBreaker()
        for second in 0..<20 {
            for packet in 0..<100 {
                breaker.packetSent(byteCount: 1_250, now: start + .milliseconds(second * 1_000 + packet * 10))
                // Compound packets, a dozen in a row that tell of the same last packet.
                guard packet < 12 else { continue }
                breaker.handle(
                    ReportBlock(ssrc: 1, extendedHighestSequenceNumber: UInt32(100 * (second + 1))),
                    roundTripTime: .milliseconds(50), now: start + .milliseconds(second * 1_000 + packet * 10 + 5))
            }
            #expect(breaker.poll(now: start + .seconds(second + 1)) == nil)
        }
    }

    @Test func moderateLossAndNoMediaAtAllNeverTripIt() {
        #expect(run(seconds: 60) { _ in (0.1, true) }.trip == nil)
        var breaker = CircuitBreaker()
        #expect(breaker.nextDeadline == nil)
        breaker.packetSent(byteCount: 100, now: start)
        // One packet, then silence of our own: nothing to report on.
        #expect(breaker.poll(now: start + .seconds(100)) == nil)
        // Sending again, the peer has its time from then on.
        breaker.packetSent(byteCount: 100, now: start + .seconds(100))
        breaker.packetSent(byteCount: 100, now: start + .seconds(104))
        #expect(breaker.poll(now: start + .seconds(105)) == nil)
    }

    @Test func aTripTellsWhatToDo() {
        for trip in [
            CircuitBreaker.Trip.reportTimeout(.seconds(15)), .mediaTimeout(reports: 5),
            .congestion(sent: .kilobitsPerSecond(1), tcp: .kilobitsPerSecond(0)),
        ] {
            #expect(trip.description.contains("."))
            #expect(trip.description.count > 60)
        }
    }
}
