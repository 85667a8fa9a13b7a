import EmisoraCore
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSimulation
import Testing

/// Clocks that wrap during a call.
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
}
