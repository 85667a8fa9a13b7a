import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct RTPHeaderTests {
    /// V=2, X, CC=1; marker, PT 96; sequence 0x1234; one-byte extension with id 1 "0" and padding to 4.
    private let packet: [UInt8] = [
        0xB1, 0xE0, 0x12, 0x34, 0x00, 0x00, 0x00, 0x0A, 0xDE, 0xAD, 0xBE, 0xEF, 0x00, 0x00, 0x00, 0x07,
        0xBE, 0xDE, 0x00, 0x01, 0x10, 0x30, 0x00, 0x00, 0xAA, 0xBB, 0x00, 0x02,
    ]

    @Test func aPacketWithEverythingIsRead() throws {
        let header = try RTPHeader(parsing: packet.span.bytes)
        #expect(header.marker)
        #expect(header.payloadType == 96)
        #expect(header.sequenceNumber == 0x1234)
        #expect(header.timestamp == 10)
        #expect(header.ssrc == 0xDEAD_BEEF)
        #expect(header.contributingSources == [7])
        #expect(header.extensionProfile == 0xBEDE)
        #expect(header.extensionRange == 20..<24)
        #expect(header.payload == 24..<26)
        #expect(header.paddingByteCount == 2)
        #expect(HeaderExtensions(of: header, in: packet.span.bytes).text(of: 1) == "0")
    }

    @Test func whatIsWrittenIsRead() throws {
        var header = RTPHeader(marker: true, payloadType: 111, sequenceNumber: 65_535, timestamp: .max, ssrc: 1)
        header.contributingSources = [5, 6]
        let mid = try HeaderExtensionBlock(midExtensionID: 4, mid: "video")
        let bytes = try #require(try written { try header.write(into: &$0, extensions: mid) })
        #expect(bytes.count == 12 + 8 + mid.byteCount)
        let read = try RTPHeader(parsing: bytes.span.bytes)
        #expect(read.marker && read.payloadType == 111 && read.sequenceNumber == 65_535 && read.timestamp == .max)
        #expect(read.contributingSources == [5, 6])
        #expect(read.payload.isEmpty)
        #expect(HeaderExtensions(of: read, in: bytes.span.bytes).text(of: 4) == "video")
        #expect(HeaderExtensions(of: read, in: bytes.span.bytes).text(of: 5) == nil)
    }

    @Test func everyTruncationThrows() {
        for count in 0..<24 {
            let part = Array(packet.prefix(count))
            #expect(thrown { () throws(RTPError) in _ = try RTPHeader(parsing: part.span.bytes) } != nil)
        }
    }

    @Test func otherVersionsAndImpossiblePaddingThrow() {
        var other = packet
        other[0] = 0x71
        #expect(
            thrown { () throws(RTPError) in _ = try RTPHeader(parsing: other.span.bytes) } == .unsupportedVersion(1))
        for padding: UInt8 in [0, 5, 255] {
            var padded = packet
            padded[27] = padding
            let error = thrown { () throws(RTPError) in _ = try RTPHeader(parsing: padded.span.bytes) }
            #expect(error == .invalidPadding(count: Int(padding)))
        }
        var all = packet
        all[27] = 4
        #expect((try? RTPHeader(parsing: all.span.bytes))?.payload.isEmpty == true)
    }

    @Test func aBufferTooSmallThrowsAndDoesNotTrap() {
        let header = RTPHeader(marker: false, payloadType: 0, sequenceNumber: 0, timestamp: 0, ssrc: 0)
        for capacity in 0..<12 {
            #expect(
                thrown { () throws(RTPError) in
                    var storage = [UInt8](repeating: 0, count: capacity)
                    var span = storage.mutableSpan
                    var bytes = span.mutableBytes
                    _ = try header.write(into: &bytes)
                } != nil)
        }
    }

    // MARK: Extensions

    private func elements(profile: UInt16, _ bytes: [UInt8]) throws -> [(id: UInt8, value: [UInt8])] {
        var packet: [UInt8] = [0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
        packet += [UInt8(profile >> 8), UInt8(profile & 0xFF), 0, UInt8(bytes.count / 4)] + bytes
        let header = try RTPHeader(parsing: packet.span.bytes)
        var extensions = HeaderExtensions(of: header, in: packet.span.bytes)
        var result: [(id: UInt8, value: [UInt8])] = []
        while let element = extensions.next() {
            result.append((element.id, [UInt8](copying: extensions.value(of: element))))
        }
        return result
    }

    @Test("RFC 8285 §4.2: id 0 is padding and id 15 ends the one-byte form")
    func oneByteFormSkipsPaddingAndStopsAtId15() throws {
        let found = try elements(profile: 0xBEDE, [0x00, 0x11, 1, 2, 0x00, 0x20, 9, 0xF0, 0x30, 7, 0, 0])
        #expect(found.map(\.id) == [1, 2])
        #expect(found.map(\.value) == [[1, 2], [9]])
    }

    @Test("RFC 8285 §4.3: the two-byte form has elements of length 0") func twoByteFormTakesLengthZeroAndId15() throws {
        let found = try elements(profile: 0x1003, [0x0F, 0x00, 0x00, 0x20, 0x02, 5, 6, 0x00])
        #expect(found.map(\.id) == [15, 32])
        #expect(found.map(\.value) == [[], [5, 6]])
    }

    @Test func elementsThatRunOverTheEndAndOtherProfilesAreIgnored() throws {
        #expect(try elements(profile: 0xBEDE, [0x10, 1, 0x2F, 2]).map(\.id) == [1])
        #expect(try elements(profile: 0x1000, [1, 1, 7, 2]).map(\.id) == [1])
        #expect(try elements(profile: 0xABCD, [0x10, 1, 0, 0]).isEmpty)
    }

    @Test func theTwoByteFormIsTakenWhenTheOtherCannotHoldIt() throws {
        #expect(try HeaderExtensionBlock([(14, [1])]).profile == 0xBEDE)
        #expect(try HeaderExtensionBlock([(15, [1])]).profile == 0x1000)
        #expect(try HeaderExtensionBlock([(1, [])]).profile == 0x1000)
        #expect(try HeaderExtensionBlock(midExtensionID: 1, mid: String(repeating: "m", count: 17)).profile == 0x1000)
        #expect(thrown { () throws(RTPError) in _ = try HeaderExtensionBlock([(0, [1])]) } != nil)
    }

    // MARK: Sequence numbers and RTX

    @Test func sequenceNumbersUnwrapInBothDirections() {
        var unwrapper = SequenceUnwrapper()
        let first = unwrapper.unwrap(65_534)
        #expect(unwrapper.unwrap(1) == first + 3)
        #expect(unwrapper.unwrap(65_535) == first + 1)
        #expect(unwrapper.unwrap(2) == first + 4)
        for step in 1...200_000 {
            #expect(unwrapper.unwrap(UInt16(truncatingIfNeeded: 2 + step)) == first + 4 + Int64(step))
        }
    }

    @Test("RFC 4588 §4: a retransmission without an original is ignored")
    func paddingOnlyAndShortRetransmissionsAreIgnored() throws {
        let head: [UInt8] = [0x80, 97, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]
        let cases: [([UInt8], UInt16?)] = [([], nil), ([1], nil), ([1, 2], nil), ([1, 2, 3], 0x0102)]
        for (payload, expected) in cases {
            let packet = head + payload
            let header = try RTPHeader(parsing: packet.span.bytes)
            #expect(RTXPacket.original(of: header, in: packet.span.bytes)?.sequenceNumber == expected)
        }
        let padded: [UInt8] = [0xA0] + head.dropFirst() + [0, 0, 0, 4]
        let header = try RTPHeader(parsing: padded.span.bytes)
        #expect(RTXPacket.original(of: header, in: padded.span.bytes) == nil)
    }
}
