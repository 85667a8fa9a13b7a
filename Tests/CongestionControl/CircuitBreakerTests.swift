import EmisoraCore
import EmisoraRTP
import Testing

@testable import EmisoraCongestionControl

@Suite struct CircuitBreakerTests {
    private let start = Instant.zero + .seconds(1)

    /// What a run of a breaker came to.
    private struct Outcome {
        /// Seconds after the start.
        var pausedAfter: Int?
        var resumedAfter: Int?
        var endedAfter: Int?
        var trip: CircuitBreaker.Trip?
        /// Second by second; `nil`: not bounded.
        var ceilings: [Int?] = []
    }

    /// Sends 100 packets of 1250 bytes a second, 1 Mbit/s, or fewer as the breaker lets it, and hands in a report each
    /// second, or an empty one (`nil` as its loss).
    private func run(
        seconds: Int, roundTripTime: Duration = .milliseconds(300), options: CircuitBreaker.Options = .init(),
        heedsCeiling: Bool = true, report: (Int) -> (loss: Double?, arrives: Bool)?
    ) -> Outcome {
        var breaker = CircuitBreaker(options)
        var outcome = Outcome()
        var highest: UInt32 = 0
        var lost: Int32 = 0
        for second in 1...seconds {
            let begin = start + .seconds(second - 1)
            let most = heedsCeiling ? breaker.ceiling.map { $0.bitsPerSecond / 10_000 } ?? 100 : 100
            let packets = min(100, most)
            var sent: UInt32 = 0
            for packet in 0..<packets {
                let now = begin + .milliseconds(packet * 1_000 / max(1, packets))
                guard breaker.poll(now: now) == .send else { continue }
                breaker.packetSent(byteCount: 1_250, now: now)
                sent += 1
            }
            let now = start + .seconds(second)
            if let (loss, arrives) = report(second) {
                if let loss {
                    highest += arrives ? sent : 0
                    lost += Int32((Double(arrives ? sent : 0) * loss).rounded())
                    breaker.handle(
                        ReportBlock(
                            ssrc: 1, fractionLost: UInt8(min(255, loss * 256)), cumulativeLost: lost,
                            extendedHighestSequenceNumber: highest),
                        roundTripTime: roundTripTime, now: now)
                } else {
                    breaker.heard(now: now)
                }
            }
            outcome.ceilings.append(breaker.ceiling?.bitsPerSecond)
            switch breaker.poll(now: now) {
            case .send:
                if outcome.pausedAfter != nil { outcome.resumedAfter = outcome.resumedAfter ?? second }
            case .pause: outcome.pausedAfter = outcome.pausedAfter ?? second
            case .end(let trip):
                outcome.trip = trip
                outcome.endedAfter = second
                return outcome
            }
        }
        return outcome
    }

    // MARK: §4.1

    @Test("RFC 8083 §4.1: without reports sending stops after three intervals of 5 s")
    func withoutReportsItPausesAfter15Seconds() {
        let outcome = run(seconds: 60) { _ in nil }
        #expect(outcome.pausedAfter == 15)
        #expect(outcome.endedAfter == 27)
        #expect(outcome.trip == .reportTimeout(.seconds(27)))
    }

    @Test func reportsThatStopTripItTooAndRareOnesDoNot() {
        let outcome = run(seconds: 40) { $0 <= 10 ? (0, true) : nil }
        #expect(outcome.pausedAfter == 25 && outcome.endedAfter == 37)
        #expect(run(seconds: 120) { $0 % 5 == 0 ? (0, true) : nil }.pausedAfter == nil)
    }

    @Test("RFC 8083 §4.5: sending is taken up again when the peer is heard, and not by itself")
    func anyWordOfThePeerLetsItGoOn() {
        // While nothing comes a receiver has nothing to report: its reports are empty.
        let outcome = run(seconds: 60) { $0 <= 10 || $0 > 30 ? ($0 == 31 ? nil : 0, true) : nil }
        #expect(outcome.pausedAfter == 25 && outcome.resumedAfter == 31 && outcome.endedAfter == nil)
        // Empty reports alone do not keep it going for ever.
        let silent = run(seconds: 60) { $0 <= 10 ? (0, true) : $0 == 31 ? (nil, true) : nil }
        #expect(silent.resumedAfter == 31 && silent.endedAfter == 31 + 1 + 27 - 1)
    }

    @Test func whatIsNotSentIsNotMissed() {
        var breaker = CircuitBreaker()
        #expect(breaker.nextDeadline == nil)
        breaker.packetSent(byteCount: 100, now: start)
        // One packet, then silence of our own: nothing to report on.
        #expect(breaker.poll(now: start + .seconds(100)) == .send)
        // Sending again, the peer has its time from then on.
        breaker.packetSent(byteCount: 100, now: start + .seconds(100))
        breaker.packetSent(byteCount: 100, now: start + .seconds(104))
        #expect(breaker.poll(now: start + .seconds(105)) == .send)
    }

    @Test func reportsOnAnotherStreamCountAndAnotherPathBeginsAnew() {
        var breaker = CircuitBreaker()
        for second in 0..<60 {
            breaker.packetSent(byteCount: 100, now: start + .seconds(second))
            if second % 10 == 9 { breaker.reported(now: start + .seconds(second)) }
            #expect(breaker.poll(now: start + .seconds(second)) == .send)
        }
        for second in 60..<90 { breaker.packetSent(byteCount: 100, now: start + .seconds(second)) }
        guard case .end = breaker.poll(now: start + .seconds(90)) else {
            Issue.record("a reporter that fell silent is not noticed")
            return
        }
        breaker.pathChanged()
        #expect(breaker.poll(now: start + .seconds(91)) == .send && breaker.nextDeadline == nil)
    }

    // MARK: §4.2

    @Test("RFC 8083 §4.2: five reports of nothing received stop it")
    func reportsThatTellOfNothingNewTripIt() {
        let outcome = run(seconds: 30) { (0, $0 <= 10) }
        #expect(outcome.trip == .mediaTimeout(reports: 5))
        #expect(outcome.endedAfter == 15)
    }

    @Test("RFC 8083 §4.2: a round trip longer than the interval makes it more reports")
    func aLongRoundTripGivesMediaLongerToArrive() {
        let outcome = run(seconds: 40, roundTripTime: .milliseconds(2_300)) { (0, $0 <= 10) }
        #expect(outcome.trip == .mediaTimeout(reports: 12))
        #expect(outcome.endedAfter == 22)
    }

    @Test("RFC 8083 §4.2: a highest number that goes back is no progress, and one that advances after a wrap is")
    func progressIsCountedRoundTheWrap() {
        func trips(_ highest: (Int) -> UInt32) -> Bool {
            var breaker = CircuitBreaker()
            for second in 1...20 {
                for packet in 0..<10 {
                    breaker.packetSent(byteCount: 100, now: start + .milliseconds(second * 1_000 + packet * 100))
                }
                breaker.handle(
                    ReportBlock(ssrc: 1, extendedHighestSequenceNumber: highest(second)), roundTripTime: .zero,
                    now: start + .seconds(second + 1))
            }
            return breaker.poll(now: start + .seconds(21)) != .send
        }
        #expect(trips { UInt32(1_000_000 - $0) })
        #expect(!trips { UInt32.max - 50 &+ UInt32($0 * 10) })
    }

    // MARK: §4.3

    @Test("RFC 8083 §4.3: an overload has the rate cut to a tenth, and ends the sending when that does not help")
    func anOverloadIsCutToATenth() throws {
        // It heeds nothing: the overload goes on.
        let outcome = run(seconds: 60, heedsCeiling: false) { ($0 > 10 ? 0.9 : 0, true) }
        let cutAt = try #require(outcome.ceilings.firstIndex { $0 != nil }) + 1
        #expect(outcome.ceilings[cutAt - 1] == 100_000)
        #expect((11...13).contains(cutAt))
        #expect(outcome.endedAfter == cutAt + 2)
        guard case .congestion(let sent, let tcp)? = outcome.trip else {
            Issue.record("\(String(describing: outcome.trip))")
            return
        }
        #expect(sent.bitsPerSecond > 10 * tcp.bitsPerSecond)
        #expect((900_000...1_100_000).contains(sent.bitsPerSecond))
    }

    @Test("RFC 8083 §4.3: where the cut helps the rate grows again, without overloading the path")
    func aCutThatHelpsIsUndoneByAndBy() throws {
        let narrow = run(seconds: 200) { ($0 > 10 && $0 <= 14 ? 0.7 : 0, true) }
        #expect(narrow.endedAfter == nil)
        let cutAt = try #require(narrow.ceilings.firstIndex { $0 != nil })
        #expect(narrow.ceilings[cutAt] == 100_000)
        // A quarter more each second, ten times as much after 11 s, and then no bound at all.
        let freedAt = try #require(narrow.ceilings[cutAt...].firstIndex { $0 == nil })
        #expect((12...20).contains(freedAt - cutAt))
        for (before, after) in zip(narrow.ceilings[cutAt..<freedAt], narrow.ceilings[(cutAt + 1)..<freedAt]) {
            #expect(Double(after ?? 0) <= Double(before ?? 0) * 1.251)
        }
        // Loss that stays keeps it at half of what would trip it again.
        let lossy = run(seconds: 200, roundTripTime: .milliseconds(600)) { ($0 > 10 ? 0.2 : 0, true) }
        #expect(lossy.endedAfter == nil)
        let last = try #require(lossy.ceilings.last ?? nil)
        let tcp = 10_000 / (0.6 * (2 * 0.2 / 3).squareRoot())
        #expect((0.9...1.1).contains(Double(last) / (5 * tcp)))
    }

    @Test("RFC 8083 §4.3: the average over CB_INTERVAL decides, which a long round trip makes longer")
    func theAverageDecides() {
        // An overload at the start is over when there are enough reports for an average.
        let early = run(seconds: 60, roundTripTime: .seconds(1)) { ($0 <= 4 ? 0.9 : 0, true) }
        #expect(early.ceilings.allSatisfy { $0 == nil } && early.endedAfter == nil)
        // Ten round trips of 1 s: ten reports, of which nine tell of nothing.
        let long = run(seconds: 60, roundTripTime: .seconds(1)) { ($0 == 30 ? 0.1 : 0, true) }
        #expect(long.ceilings.allSatisfy { $0 == nil })
        // The same loss in all of them is twice the share of TCP's rate that is allowed.
        let lasting = run(seconds: 60, roundTripTime: .seconds(1)) { ($0 > 10 ? 0.1 : 0, true) }
        #expect(lasting.ceilings.contains { $0 != nil })
        // No longer than 15 s, whatever the round trip.
        let longest = run(seconds: 60, roundTripTime: .seconds(5), heedsCeiling: false) { ($0 > 1 ? 0.9 : 0, true) }
        #expect(longest.endedAfter ?? .max <= 1 + 15 + 2)
    }

    @Test("RFC 8083 §4.3: what cannot do with a tenth of its rate ends at once")
    func whatCannotDoWithATenthEndsAtOnce() {
        var options = CircuitBreaker.Options()
        options.leastRate = .kilobitsPerSecond(200)
        let outcome = run(seconds: 60, options: options) { ($0 > 10 ? 0.9 : 0, true) }
        #expect(outcome.ceilings.allSatisfy { $0 == nil })
        #expect((11...13).contains(outcome.endedAfter ?? 0))
    }

    @Test func moderateLossNeverTripsIt() {
        let outcome = run(seconds: 60, roundTripTime: .milliseconds(100)) { _ in (0.1, true) }
        #expect(outcome.endedAfter == nil && outcome.ceilings.allSatisfy { $0 == nil })
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
            #expect(breaker.poll(now: start + .seconds(second + 1)) == .send)
        }
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
