import EmisoraCore
import EmisoraSRTP
import Testing

/// Peers that change their sources again and again, as forwarding servers do, and those that do it to no good end.
@Suite struct SRTPSourceTests {
    private static let limit = UInt32(SRTPContext.maximumInboundStreamCount)

    private static func packet(_ number: UInt16, ssrc: UInt32) -> [UInt8] {
        [0x80, 96, UInt8(number >> 8), UInt8(number & 255), 0, 0, 0, 1]
            + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ssrc >> $0) } + [1, 2, 3]
    }

    private static func report(ssrc: UInt32) -> [UInt8] {
        [0x80, 201, 0, 1] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ssrc >> $0) }
    }

    private static func pair(_ profile: SRTPProfile) throws -> (outbound: SRTPContext, inbound: SRTPContext) {
        var random = SeededRandom(seed: 64)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        return (
            try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .outbound),
            try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .inbound)
        )
    }

    @Test(arguments: SRTPProfile.allCases)
    func aSourceThatMadeRoomGoesOnWhereItWas(profile: SRTPProfile) throws {
        let (outbound, inbound) = try Self.pair(profile)
        var recorded: [[UInt8]] = []
        var index = 65_400
        func send(_ count: Int, delivering isDelivered: Bool = true) throws {
            for _ in 0..<count {
                let plain = Self.packet(UInt16(truncatingIfNeeded: index), ssrc: 7)
                index += 1
                let sealed = try outbound.protect(rtp: plain)
                guard isDelivered else { continue }
                #expect(try inbound.unprotect(rtp: sealed) == plain)
                recorded.append(sealed)
            }
        }
        var turn: UInt16 = 0
        func displace() throws {
            turn += 1
            for ssrc in 1_000..<1_000 + Self.limit {
                _ = try inbound.unprotect(rtp: outbound.protect(rtp: Self.packet(turn, ssrc: ssrc)))
            }
        }
        // Away before the wrap and back behind it; then with a rollover counter that nothing in the packets tells.
        for _ in 0..<6 {
            try send(60)
            try displace()
            try send(30, delivering: false)
        }
        try send(20)
        for sealed in recorded { #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtp: sealed) } }
        try displace()
        for sealed in recorded { #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtp: sealed) } }
        try send(20)
    }

    @Test(arguments: SRTPProfile.allCases)
    func reportsOfASourceThatMadeRoomAreNotTakenTwice(profile: SRTPProfile) throws {
        let (outbound, inbound) = try Self.pair(profile)
        let reports = try (0..<10).map { _ in try outbound.protect(rtcp: Self.report(ssrc: 7)) }
        for report in reports { _ = try inbound.unprotect(rtcp: report) }
        for ssrc in 1_000..<1_000 + Self.limit {
            _ = try inbound.unprotect(rtcp: outbound.protect(rtcp: Self.report(ssrc: ssrc)))
        }
        for report in reports { #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtcp: report) } }
        let next = try outbound.protect(rtcp: Self.report(ssrc: 7))
        #expect(try inbound.unprotect(rtcp: next) == Self.report(ssrc: 7))
        #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtcp: next) }
    }

    /// A stranger who knows the number of a source that made room cannot bring it back.
    @Test(arguments: SRTPProfile.allCases)
    func forgeriesBringNoSourceBack(profile: SRTPProfile) throws {
        let (outbound, inbound) = try Self.pair(profile)
        for ssrc in 1...Self.limit + 1 {
            _ = try inbound.unprotect(rtp: outbound.protect(rtp: Self.packet(9, ssrc: ssrc)))
        }
        for _ in 0..<100 {
            var forged = try outbound.protect(rtp: Self.packet(10, ssrc: 1))
            forged[forged.count - 1] ^= 1
            #expect(throws: SRTPError.authenticationFailed) { try inbound.unprotect(rtp: forged) }
        }
        for ssrc in 1...Self.limit + 1 {
            let plain = Self.packet(11, ssrc: ssrc)
            #expect(try inbound.unprotect(rtp: outbound.protect(rtp: plain)) == plain)
        }
    }

    @Test func aPeerCannotOpenSourcesWithoutEnd() throws {
        let (outbound, inbound) = try Self.pair(.aeadAes128Gcm)
        let most = UInt32(SRTPContext.maximumInboundSourceCount)
        for ssrc in 1...most {
            _ = try inbound.unprotect(rtp: outbound.protect(rtp: Self.packet(1, ssrc: ssrc)))
        }
        let onceMore = try outbound.protect(rtp: Self.packet(1, ssrc: most + 1))
        #expect(throws: SRTPError.tooManyStreams) { try inbound.unprotect(rtp: onceMore) }
        let report = try outbound.protect(rtcp: Self.report(ssrc: most + 1))
        #expect(throws: SRTPError.tooManyStreams) { try inbound.unprotect(rtcp: report) }
        for ssrc in [1, most / 2, most] {
            _ = try inbound.unprotect(rtp: outbound.protect(rtp: Self.packet(2, ssrc: ssrc)))
        }
    }
}
