import EmisoraCore
import EmisoraSRTP
import Testing

@Suite struct ReferenceSRTPTests {
    /// RFC 3711 appendix B.3: the reference must be right before it may judge.
    @Test func keyDerivationGivesTheVectorsOfRFC3711() {
        let master = hex("E1F97A0D3E018BE0D64FA32C06DE4139") + hex("0EC675AD498AFEEBB6960B3AABE6")
        let reference = ReferenceSRTP(profile: .aes128CmHmacSha1_80, masterKeyAndSalt: master)
        #expect(reference.rtp.cipher == hex("C61E7A93744F39EE10734AFE3FF7A087"))
        #expect(reference.rtp.salt == hex("30CBBC08863D8C85D49DB34A9AE1"))
        #expect(reference.rtp.authentication == hex("CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4"))
    }
}

@Suite struct SRTPTests {
    private static let ssrc: UInt32 = 0xCAFE_BABE

    // MARK: Against the reference

    @Test(arguments: SRTPProfile.allCases)
    func theReferenceReadsOurRTP(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 1)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let outbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .outbound)
        let reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
        for number in 0..<300 {
            // Starts shortly before the sequence number wraps, so that the rollover counter rises on the way.
            let sequenceNumber = UInt16(truncatingIfNeeded: 65_400 + number)
            let plain = rtp(sequenceNumber, shape: number, payload: random.bytes(number * 4), using: &random)
            let sealed = try outbound.protect(rtp: plain)
            #expect(sealed.count == plain.count + profile.tagByteCount)
            #expect(reference.unprotect(rtp: sealed, rollover: number < 136 ? 0 : 1) == plain, "packet \(number)")
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func weReadTheReferencesRTP(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 2)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let inbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .inbound)
        let reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
        for number in 0..<300 {
            let sequenceNumber = UInt16(truncatingIfNeeded: 65_400 + number)
            let plain = rtp(sequenceNumber, shape: number, payload: random.bytes(number * 4), using: &random)
            let sealed = reference.protect(rtp: plain, rollover: number < 136 ? 0 : 1)
            #expect(try inbound.unprotect(rtp: sealed) == plain, "packet \(number)")
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func packetsOutOfOrderAroundTheWrapAreRead(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 3)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let inbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .inbound)
        let reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
        let order = [65_530, 65_535, 65_533, 65_536, 65_534, 65_538, 65_537, 65_531]
        for index in order {
            let plain = rtp(UInt16(truncatingIfNeeded: index), payload: random.bytes(100), using: &random)
            let sealed = reference.protect(rtp: plain, rollover: UInt32(index >> 16))
            #expect(try inbound.unprotect(rtp: sealed) == plain, "index \(index)")
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func theReferenceReadsOurRTCP(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 4)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let outbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .outbound)
        let reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
        var lastIndex: UInt32?
        for number in 0..<100 {
            let plain = rtcp(body: random.bytes(number * 4))
            let sealed = try outbound.protect(rtcp: plain)
            let read = try #require(reference.unprotect(rtcp: sealed))
            #expect(read.packet == plain)
            if let lastIndex { #expect(read.index == lastIndex + 1) }
            lastIndex = read.index
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func weReadTheReferencesRTCP(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 5)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let inbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .inbound)
        let reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
        for number in 0..<100 {
            let plain = rtcp(body: random.bytes(number * 4))
            let sealed = reference.protect(rtcp: plain, index: UInt32(number + 7))
            #expect(try inbound.unprotect(rtcp: sealed) == plain)
        }
    }

    /// Sequence numbers in steps, so that three wraps cost few packets; the receiver sees every other one.
    @Test(
        "RFC 3711 §3.3.1: the rollover counter is right through three wraps, from any first number",
        arguments: SRTPProfile.allCases, [0, 1, 32_767, 32_768, 65_530] as [UInt16])
    func theRolloverCounterFollowsTheWraps(profile: SRTPProfile, first: UInt16) throws {
        let (outbound, inbound) = try pair(profile)
        var random = SeededRandom(seed: 21)
        for step in 0..<400 {
            let number = first &+ UInt16(truncatingIfNeeded: step * 500)
            for (ssrc, isDelivered) in [(UInt32(1), step % 2 == 0), (2, step % 3 == 0)] {
                let plain = rtp(number, ssrc: ssrc, payload: random.bytes(40), using: &random)
                let sealed = try outbound.protect(rtp: plain)
                guard isDelivered else { continue }
                #expect(try inbound.unprotect(rtp: sealed) == plain, "step \(step)")
            }
        }
    }

    // MARK: What is refused

    @Test(arguments: SRTPProfile.allCases)
    func repeatedPacketsAreRefused(profile: SRTPProfile) throws {
        let (outbound, inbound) = try pair(profile)
        var random = SeededRandom(seed: 6)
        let sealed = try outbound.protect(rtp: rtp(1, payload: random.bytes(50), using: &random))
        _ = try inbound.unprotect(rtp: sealed)
        #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtp: sealed) }
        let report = try outbound.protect(rtcp: rtcp(body: random.bytes(20)))
        _ = try inbound.unprotect(rtcp: report)
        #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtcp: report) }
    }

    @Test(
        "RFC 3711 §3.3.2: the replay window holds 1024 packets, sixteen times the least",
        arguments: SRTPProfile.allCases)
    func aPacketAtTheEndOfTheWindowIsReadAndOneBehindItIsNot(profile: SRTPProfile) throws {
        let (outbound, inbound) = try pair(profile)
        var random = SeededRandom(seed: 7)
        let sealed = try (0...1024).map {
            try outbound.protect(rtp: rtp(UInt16($0 + 1), payload: [1], using: &random))
        }
        _ = try inbound.unprotect(rtp: sealed[1024])
        _ = try inbound.unprotect(rtp: sealed[1])
        #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtp: sealed[0]) }
    }

    @Test(arguments: SRTPProfile.allCases)
    func eachFlippedBitIsRefused(profile: SRTPProfile) throws {
        let (outbound, inbound) = try pair(profile)
        var random = SeededRandom(seed: 8)
        let plain = rtp(1, payload: random.bytes(20), using: &random)
        let sealed = try outbound.protect(rtp: plain)
        let report = try outbound.protect(rtcp: rtcp(body: random.bytes(20)))
        for bit in 0..<sealed.count * 8 {
            var damaged = sealed
            damaged[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: SRTPError.self, "bit \(bit)") { try inbound.unprotect(rtp: damaged) }
        }
        for bit in 0..<report.count * 8 {
            var damaged = report
            damaged[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: SRTPError.self, "bit \(bit)") { try inbound.unprotect(rtcp: damaged) }
        }
        // None of the forgeries moved the receiver's state.
        #expect(try inbound.unprotect(rtp: sealed) == plain)
        _ = try inbound.unprotect(rtcp: report)
    }

    @Test(arguments: SRTPProfile.allCases)
    func keysOfAnotherSessionAreRefused(profile: SRTPProfile) throws {
        let (outbound, _) = try pair(profile, seed: 1)
        let (_, inbound) = try pair(profile, seed: 2)
        var random = SeededRandom(seed: 9)
        let sealed = try outbound.protect(rtp: rtp(1, payload: [1, 2, 3], using: &random))
        #expect(throws: SRTPError.authenticationFailed) { try inbound.unprotect(rtp: sealed) }
    }

    @Test(arguments: SRTPProfile.allCases)
    func shortAndRandomPacketsAreRefused(profile: SRTPProfile) throws {
        let (outbound, inbound) = try pair(profile)
        var random = SeededRandom(seed: 10)
        for count in 0..<40 {
            var bytes = [UInt8](repeating: 0, count: count)
            if count > 0 { bytes[0] = 0x80 }
            #expect(throws: SRTPError.self) { try inbound.unprotect(rtp: bytes) }
            #expect(throws: SRTPError.self) { try inbound.unprotect(rtcp: bytes) }
            if count < 12 { #expect(throws: SRTPError.malformed) { try outbound.protect(rtp: bytes) } }
            if count < 8 { #expect(throws: SRTPError.malformed) { try outbound.protect(rtcp: bytes) } }
        }
        var accepted = 0
        for number in 0..<100_000 {
            var bytes = random.bytes(Int(random.next() % 80))
            if !bytes.isEmpty, number % 4 != 0 { bytes[0] = 0x80 | bytes[0] & 0x3F }
            if (try? inbound.unprotect(rtp: bytes)) != nil { accepted += 1 }
            if (try? inbound.unprotect(rtcp: bytes)) != nil { accepted += 1 }
        }
        #expect(accepted == 0)
        let plain = rtp(1, payload: [1, 2, 3], using: &random)
        #expect(try inbound.unprotect(rtp: outbound.protect(rtp: plain)) == plain)
    }

    @Test(arguments: SRTPProfile.allCases)
    func headersThatClaimMoreThanThePacketHasAreRefused(profile: SRTPProfile) throws {
        let (outbound, _) = try pair(profile)
        let header: [UInt8] = [0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
        #expect(throws: SRTPError.self) { try outbound.protect(rtp: [0x8F] + header.dropFirst()) }
        #expect(throws: SRTPError.self) {
            try outbound.protect(rtp: [0x90] + header.dropFirst() + [0xBE, 0xDE, 0xFF, 0xFF])
        }
    }

    @Test func keysOfTheWrongSizeAreRefused() {
        for count in [0, 16, 27, 29, 30] {
            #expect(throws: SRTPError.malformed) {
                _ = try SRTPContext(
                    profile: .aeadAes128Gcm, masterKeyAndSalt: [UInt8](repeating: 1, count: count),
                    direction: .inbound)
            }
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func roomForTheTagIsDemanded(profile: SRTPProfile) throws {
        let (outbound, _) = try pair(profile)
        var random = SeededRandom(seed: 11)
        let plain = rtp(1, payload: [1, 2, 3], using: &random)
        let room = profile.tagByteCount
        #expect(throws: SRTPError.noRoom(needed: room, available: room - 1)) {
            try outbound.protect(rtp: plain, room: room - 1)
        }
        #expect(try outbound.protect(rtp: plain, room: room).count == plain.count + room)
        #expect(throws: SRTPError.noRoom(needed: room + 4, available: room)) {
            try outbound.protect(rtcp: rtcp(body: []), room: room)
        }
    }

    // MARK: Streams

    @Test(arguments: SRTPProfile.allCases)
    func forgeriesUseUpNoSources(profile: SRTPProfile) throws {
        let (outbound, inbound) = try pair(profile)
        var random = SeededRandom(seed: 12)
        for ssrc in UInt32(1)...10_000 {
            let forged = rtp(1, ssrc: ssrc, payload: random.bytes(60), using: &random)
            #expect(throws: SRTPError.authenticationFailed) { try inbound.unprotect(rtp: forged) }
        }
        let genuine = try outbound.protect(rtp: rtp(1, ssrc: 1, payload: [1], using: &random))
        _ = try inbound.unprotect(rtp: genuine)
    }

    @Test(arguments: SRTPProfile.allCases)
    func theSamePacketMayBeSentAgain(profile: SRTPProfile) throws {
        let (outbound, _) = try pair(profile)
        var random = SeededRandom(seed: 13)
        let packets = (1...500).map { rtp($0, shape: 3, payload: random.bytes(100), using: &random) }
        let sealed = try packets.map { try outbound.protect(rtp: $0) }
        for (packet, before) in zip(packets, sealed) { #expect(try outbound.protect(rtp: packet) == before) }
    }

    /// Two packets under one nonce would give GCM's authentication key away (RFC 7714 §9.1).
    @Test(
        "RFC 7714 §9.1: a changed packet under an old index is refused",
        arguments: [SRTPProfile.aeadAes128Gcm, .aeadAes256Gcm])
    func aChangedPacketUnderAnOldIndexIsRefusedByGCM(profile: SRTPProfile) throws {
        let (outbound, _) = try pair(profile)
        var random = SeededRandom(seed: 14)
        let packets = (1...2000).map { rtp($0, shape: 3, payload: random.bytes(30), using: &random) }
        for packet in packets { _ = try outbound.protect(rtp: packet) }
        for packet in packets.suffix(1024) {
            for position in [1, packet.count - 1] {
                var changed = packet
                changed[position] ^= 1
                #expect(throws: SRTPError.indexReused) { try outbound.protect(rtp: changed) }
            }
        }
        // Behind the window nothing is sealed, and asking does not loosen the guard.
        var old = packets[900]
        old[old.count - 1] ^= 1
        #expect(throws: SRTPError.replayed) { try outbound.protect(rtp: old) }
        var newer = packets[1924]
        newer[newer.count - 1] ^= 1
        #expect(throws: SRTPError.indexReused) { try outbound.protect(rtp: newer) }
        // Another stream has indices of its own.
        _ = try outbound.protect(rtp: rtp(2000, ssrc: 77, payload: [1], using: &random))
    }

    // MARK: Cost

    @Test(arguments: SRTPProfile.allCases)
    func costOfA1200BytePacket(profile: SRTPProfile) throws {
        let (outbound, _) = try pair(profile)
        let plainByteCount = 1200
        var buffer = [UInt8](repeating: 7, count: plainByteCount + SRTPContext.maximumOverhead)
        buffer.replaceSubrange(0..<12, with: [0x80, 96, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1])
        let rounds = 20_000
        let elapsed = try ContinuousClock().measure {
            for number in 1...rounds {
                buffer[2] = UInt8(number >> 8 & 255)
                buffer[3] = UInt8(number & 255)
                var span = buffer.mutableSpan
                var bytes = span.mutableBytes
                _ = try outbound.protectRTP(&bytes, byteCount: plainByteCount)
            }
        }
        print("SRTP \(profile): \(elapsed.nanoseconds / Int64(rounds)) ns to protect \(plainByteCount) bytes")
    }

    // MARK: Packets

    private func pair(_ profile: SRTPProfile, seed: UInt64 = 99) throws -> (SRTPContext, SRTPContext) {
        var random = SeededRandom(seed: seed)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        return (
            try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .outbound),
            try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .inbound)
        )
    }

    /// `shape`: bit 0 adds CSRCs, bit 1 a header extension.
    private func rtp(
        _ sequenceNumber: UInt16, ssrc: UInt32 = ssrc, shape: Int = 0, payload: [UInt8],
        using random: inout SeededRandom
    ) -> [UInt8] {
        let sources = shape & 1 != 0 ? 2 : 0
        let hasExtension = shape & 2 != 0
        var packet: [UInt8] = [0x80 | (hasExtension ? 0x10 : 0) | UInt8(sources), 96]
        packet += [UInt8(sequenceNumber >> 8), UInt8(sequenceNumber & 255)] + random.bytes(4)
        packet += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ssrc >> $0) }
        packet += random.bytes(4 * sources)
        if hasExtension { packet += [0xBE, 0xDE, 0, 2] + random.bytes(8) }
        return packet + payload
    }

    private func rtcp(body: [UInt8]) -> [UInt8] {
        let words = 1 + body.count / 4
        return [0x80, 200, UInt8(words >> 8), UInt8(words & 255)]
            + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: Self.ssrc >> $0) } + body
    }
}
