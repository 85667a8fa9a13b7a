import EmisoraCore
import EmisoraSRTP
import Testing

/// RFC 6904: values of header extensions encrypted, heads and padding left as they are.
@Suite struct EncryptedHeaderExtensionTests {
    private static let master = hex("E1F97A0D3E018BE0D64FA32C06DE4139") + hex("0EC675AD498AFEEBB6960B3AABE6")
    private static let head = hex("900F1234DECAFBADCAFEBABE") + hex("BEDE0006")
    private static let elements = hex("17414273A475262748220000C8308E4655996386B395FB00")
    private static let sealedElements = hex("17588A9270F4E15E1C220000C8309546A994F0BC54789700")
    private static let payload = [UInt8](repeating: 0xAB, count: 16)

    @Test("RFC 6904 appendix A.1: keys of the header extensions") func keysAreThoseOfTheAppendix() {
        let reference = ReferenceSRTP(profile: .aes128CmHmacSha1_80, masterKeyAndSalt: Self.master)
        #expect(reference.headerCipher == hex("549752054D6FB708622C4A2E596A1B93"))
        #expect(reference.headerSalt == hex("AB01818174C40D39A3781F7C2D27"))
    }

    @Test("RFC 6904 appendix A.2: the encrypted elements of the appendix") func elementsAreThoseOfTheAppendix() throws {
        let context = try SRTPContext(
            profile: .aes128CmHmacSha1_80, masterKeyAndSalt: Self.master, direction: .outbound,
            encryptedHeaderExtensions: [1, 3, 4])
        let sealed = try context.protect(rtp: Self.head + Self.elements + Self.payload)
        #expect(Array(sealed[..<40]) == Self.head + Self.sealedElements)
        var reference = ReferenceSRTP(profile: .aes128CmHmacSha1_80, masterKeyAndSalt: Self.master)
        reference.encryptedIDs = [1, 3, 4]
        #expect(reference.protect(rtp: Self.head + Self.elements + Self.payload, rollover: 0) == sealed)
    }

    /// Counter mode beside GCM, too (RFC 7714 §8.3).
    @Test(arguments: SRTPProfile.allCases, [false, true])
    func theReferenceReadsOursAndWeReadIts(profile: SRTPProfile, hasTwoByteHeads: Bool) throws {
        var random = SeededRandom(seed: 6_904)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let ids: Set<UInt8> = hasTwoByteHeads ? [2, 5, 200] : [2, 5, 14]
        let outbound = try SRTPContext(
            profile: profile, masterKeyAndSalt: keys, direction: .outbound, encryptedHeaderExtensions: ids)
        let inbound = try SRTPContext(
            profile: profile, masterKeyAndSalt: keys, direction: .inbound, encryptedHeaderExtensions: ids)
        var reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
        reference.encryptedIDs = ids
        for number in 0..<200 {
            let index = 65_436 + number
            let plain = Self.packet(
                UInt16(truncatingIfNeeded: index), hasTwoByteHeads: hasTwoByteHeads, using: &random)
            let sealed = try outbound.protect(rtp: plain)
            let rollover: UInt32 = index > 65_535 ? 1 : 0
            #expect(reference.unprotect(rtp: sealed, rollover: rollover) == plain)
            #expect(reference.protect(rtp: plain, rollover: rollover) == sealed)
            #expect(try inbound.unprotect(rtp: sealed) == plain)
            // Ids and lengths can be read by anyone, the values of ids 2, 5 and the last by nobody else.
            #expect(Self.elements(of: sealed).map(\.id) == Self.elements(of: plain).map(\.id))
            for (hidden, open) in zip(Self.elements(of: sealed), Self.elements(of: plain)) where open.value.count > 3 {
                #expect((hidden.value == open.value) != ids.contains(open.id))
            }
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func aFlippedBitOfAnEncryptedValueIsRefused(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 7)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let outbound = try SRTPContext(
            profile: profile, masterKeyAndSalt: keys, direction: .outbound, encryptedHeaderExtensions: [2])
        let inbound = try SRTPContext(
            profile: profile, masterKeyAndSalt: keys, direction: .inbound, encryptedHeaderExtensions: [2])
        let plain = Self.packet(1, hasTwoByteHeads: false, using: &random)
        let sealed = try outbound.protect(rtp: plain)
        for bit in 0..<40 * 8 {
            var damaged = sealed
            damaged[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: SRTPError.self) { try inbound.unprotect(rtp: damaged) }
        }
        #expect(try inbound.unprotect(rtp: sealed) == plain)
    }

    /// A later description may name other extensions: the rollover counters and sequence numbers go on.
    @Test(arguments: SRTPProfile.allCases)
    func whatIsEncryptedMayChangeInTheMiddleOfAStream(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 8)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let outbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .outbound)
        let inbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .inbound)
        var reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
        var recorded: [[UInt8]] = []
        for (turn, ids) in [[], [2, 5], [5], []].map(Set<UInt8>.init).enumerated() {
            try outbound.setEncryptedHeaderExtensions(ids)
            try inbound.setEncryptedHeaderExtensions(ids)
            reference.encryptedIDs = ids
            for number in 0..<40 {
                let index = 65_456 + turn * 40 + number
                let plain = Self.packet(UInt16(truncatingIfNeeded: index), hasTwoByteHeads: false, using: &random)
                let sealed = try outbound.protect(rtp: plain)
                #expect(reference.unprotect(rtp: sealed, rollover: UInt32(index >> 16)) == plain)
                #expect(try inbound.unprotect(rtp: sealed) == plain)
                recorded.append(sealed)
            }
            // What was taken before is not taken again, though libsrtp begins its replay list anew.
            for sealed in recorded { #expect(throws: SRTPError.self) { try inbound.unprotect(rtp: sealed) } }
        }
    }

    /// Damaged lengths inside an authentic extension, as a peer that holds the keys can send them.
    @Test(arguments: SRTPProfile.allCases)
    func extensionsOfNonsenseAreRefusedOrRead(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 9)
        let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
        let inbound = try SRTPContext(
            profile: profile, masterKeyAndSalt: keys, direction: .inbound,
            encryptedHeaderExtensions: Set(1...255))
        let reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
        var read = 0
        for number in 1...3_000 {
            let words = Int(random.next() % 6)
            let form: [UInt8] = [[0xBE, 0xDE], [0x10, 0x00], [0x10, 0x07], [0x12, 0x34]][number % 4]
            var packet: [UInt8] = [0x90, 96, UInt8(number >> 8), UInt8(number & 255), 0, 0, 0, 1, 0, 0, 0, 7]
            packet += form + [0, UInt8(words)] + random.bytes(4 * words) + random.bytes(number % 9)
            if (try? inbound.unprotect(rtp: reference.protect(rtp: packet, rollover: 0))) != nil { read += 1 }
        }
        #expect(read > 300 && read < 2_700)
    }

    // MARK: Packets

    /// Ids 1, 2, 5 and the form's largest, of random lengths, then padding.
    private static func packet(
        _ sequenceNumber: UInt16, hasTwoByteHeads: Bool, using random: inout SeededRandom
    ) -> [UInt8] {
        var elements: [UInt8] = []
        for id: UInt8 in [1, 2, 5, hasTwoByteHeads ? 200 : 14] {
            let length = Int(random.next() % 16) + 1
            elements += hasTwoByteHeads ? [id, UInt8(length)] : [id << 4 | UInt8(length - 1)]
            elements += random.bytes(length)
        }
        elements += [UInt8](repeating: 0, count: (4 - elements.count % 4) % 4)
        let head: [UInt8] = [0x90, 96, UInt8(sequenceNumber >> 8), UInt8(sequenceNumber & 255), 1, 2, 3, 4, 9, 8, 7, 6]
        return head + (hasTwoByteHeads ? [0x10, 0x00] : [0xBE, 0xDE]) + [0, UInt8(elements.count / 4)] + elements
            + random.bytes(30)
    }

    private static func elements(of packet: [UInt8]) -> [(id: UInt8, value: [UInt8])] {
        let end = 16 + 4 * Int(packet[15])
        let head = packet[12] == 0x10 ? 2 : 1
        var found: [(id: UInt8, value: [UInt8])] = []
        var position = 16
        while position < end {
            let id = head == 2 ? packet[position] : packet[position] >> 4
            if id == 0 {
                position += 1
                continue
            }
            let length = head == 2 ? Int(packet[position + 1]) : Int(packet[position] & 15) + 1
            found.append((id, Array(packet[position + head..<position + head + length])))
            position += head + length
        }
        return found
    }
}
