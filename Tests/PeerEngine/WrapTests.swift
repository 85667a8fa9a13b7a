import EmisoraCore
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSimulation
import Testing

/// Clocks that wrap, and calls that pause for long.
@Suite struct WrapTests {
    @Test("RFC 3550 §4: the NTP era ends in 2036 without a jump in round trip or lip sync")
    func theNTPEraEnds() throws {
        var setup = Call<NullSecurity>.Setup()
        setup.conditions.delay = .milliseconds(30)
        // 2^32 seconds after 1900, five seconds into the call.
        let era = Int64(1) << 32 - 2_208_988_800
        setup.wallClock = WallClock(unixNanosecondsAtZero: (era - 6) * 1_000_000_000)
        let call = try Call<NullSecurity>(setup)
        #expect(call.connect())
        var roundTrips: [Double] = []
        var ages: [Duration] = []
        for _ in 0..<20 {
            let last = try call.stream(.milliseconds(500)).last
            if let roundTrip = call.sender.statistics.remoteInboundVideo?.roundTripTime { roundTrips.append(roundTrip) }
            if let last,
                let age = call.receiver.videoSenderClock?.age(
                    of: last.frame.rtpTimestamp, wallClock: setup.wallClock, now: last.at)
            {
                ages.append(age)
            }
        }
        #expect(setup.wallClock.ntp(at: call.simulation.now).rawValue >> 32 < 60)
        #expect(roundTrips.count >= 15 && roundTrips.allSatisfy { (0.055...0.075).contains($0) })
        #expect(ages.count >= 15 && ages.allSatisfy { (.milliseconds(20)...Duration.milliseconds(60)).contains($0) })
    }

    @Test("RFC 3550 §5.1: after a pause of eight hours pictures go on, stamped by the clock")
    func picturesGoOnAfterEightHours() throws {
        let call = try Call<NullSecurity>()
        #expect(call.connect())
        let before = try #require(try call.stream(.seconds(1)).last)
        call.run(.seconds(8 * 3_600))
        while call.receiver.pollVideoFrame(now: call.simulation.now) != nil {}
        #expect(call.areConnected)
        let resumedAt = call.simulation.now
        let received = try call.stream(.seconds(1))
        let first = try #require(received.first)
        #expect(first.at - resumedAt < .milliseconds(100))
        #expect(received.count >= 29)
        // 90 000 ticks a second, modulo 2^32.
        let seconds = (first.at - before.at).inSeconds
        let ticks = UInt32(truncatingIfNeeded: Int64(seconds * 90_000))
        let difference = Int32(bitPattern: first.frame.rtpTimestamp &- before.frame.rtpTimestamp &- ticks)
        #expect(abs(difference) < 9_000)
        #expect(call.sender.statistics.remoteInboundVideo?.roundTripTime ?? 0 < 0.1)
    }
}
