import EmisoraCore
import Testing

@testable import EmisoraRTP

@Suite struct HeaderExtensionValueTests {
    private var everything: HeaderExtensionValues {
        var values = HeaderExtensionValues()
        values.absoluteSendTime = 0xAB_CDEF
        values.transportSequenceNumber = 40_000
        values.audioLevel = .init(hasVoice: true, level: 127)
        values.videoOrientation = .init(quarterTurns: 3, isFlipped: true, isBackFacing: true)
        values.playoutDelay = .init(minimum: 5, maximum: 4_095)
        values.absoluteCaptureTime = .init(timestamp: NTPTimestamp(rawValue: .max - 1), clockOffset: -5)
        return values
    }

    private func packet(
        _ block: HeaderExtensionBlock, _ values: HeaderExtensionValues
    ) throws -> (bytes: [UInt8], header: RTPHeader) {
        let header = RTPHeader(marker: false, payloadType: 96, sequenceNumber: 1, timestamp: 2, ssrc: 3)
        let bytes = try #require(try written { try header.write(into: &$0, extensions: block, values: values) })
        return (bytes, try RTPHeader(parsing: bytes.span.bytes))
    }

    private func texts(_ ids: HeaderExtensionIDs) throws -> [(id: UInt8, value: [UInt8])] {
        [
            (try #require(ids.mid), Array("video".utf8)), (try #require(ids.rid), Array("hi".utf8)),
            (try #require(ids.repairedRID), Array("lo".utf8)),
        ]
    }

    @Test("RFC 8834 §5.2: audio level, video orientation and the others are read as written")
    func allValuesAreReadAsWrittenInBothForms() throws {
        for first in [1, 40] as [UInt8] {
            let ids = HeaderExtensionIDs(
                HeaderExtensionIDs.Kind.allCases.enumerated().map {
                    (id: first + UInt8($0.offset), uri: $0.element.uri)
                })
            let block = try HeaderExtensionBlock(try texts(ids), ids: ids)
            #expect(block.profile == (first == 1 ? 0xBEDE : 0x1000))
            let (bytes, header) = try packet(block, everything)
            #expect(header.extensionProfile == block.profile)
            #expect(header.payload.isEmpty)
            #expect(HeaderExtensionValues(of: header, in: bytes.span.bytes, ids: ids) == everything)
            let extensions = HeaderExtensions(of: header, in: bytes.span.bytes)
            #expect(extensions.text(of: try #require(ids.mid)) == "video")
            #expect(extensions.text(of: try #require(ids.rid)) == "hi")
            #expect(extensions.text(of: try #require(ids.repairedRID)) == "lo")
        }
    }

    @Test func whatWasNotNegotiatedIsNotWrittenAndNotRead() throws {
        var ids = HeaderExtensionIDs()
        ids.transportSequenceNumber = 3
        let (bytes, header) = try packet(try HeaderExtensionBlock([], ids: ids), everything)
        #expect(Array(bytes[12...]) == [0xBE, 0xDE, 0, 1, 0x31, 0x9C, 0x40, 0])
        var expected = HeaderExtensionValues()
        expected.transportSequenceNumber = 40_000
        #expect(HeaderExtensionValues(of: header, in: bytes.span.bytes, ids: ids) == expected)
        ids.transportSequenceNumber = 4
        #expect(HeaderExtensionValues(of: header, in: bytes.span.bytes, ids: ids) == HeaderExtensionValues())
    }

    @Test func valuesOfAWrongLengthAreIgnored() throws {
        let ids = HeaderExtensionIDs.everyID
        for length in 0..<20 {
            for kind in HeaderExtensionIDs.Kind.allCases {
                let id = try #require(ids[kind])
                let element = (id: id, value: Array(repeating: UInt8(0x41), count: length))
                let (bytes, header) = try packet(try HeaderExtensionBlock([element]), HeaderExtensionValues())
                let values = HeaderExtensionValues(of: header, in: bytes.span.bytes, ids: ids)
                let hasValue = values != HeaderExtensionValues()
                switch kind {
                case .mid, .rid, .repairedRID: #expect(!hasValue)
                // 0x414 units of at least, 0x141 of at most 10 ms: bounds that contradict each other.
                case .absoluteSendTime: #expect(hasValue == (length == 3))
                case .playoutDelay: #expect(!hasValue)
                case .videoOrientation: #expect(hasValue == (length == 1))
                case .audioLevel: #expect(hasValue == (length >= 1))
                case .transportSequenceNumber: #expect(hasValue == (length >= 2))
                case .absoluteCaptureTime: #expect(hasValue == (length >= 8))
                }
            }
        }
    }

    @Test func sendTimeIsInFixedPointAndWrapsAfter64Seconds() {
        let second = Int64(1_000_000_000)
        #expect(HeaderExtensionValues.absoluteSendTime(at: Instant(nanoseconds: second)) == 1 << 18)
        #expect(HeaderExtensionValues.absoluteSendTime(at: Instant(nanoseconds: second * 129 / 2)) == 1 << 17)
        let late = HeaderExtensionValues.absoluteSendTime(at: .distantFuture)
        #expect(late < 1 << 24)
    }

    @Test func idsFollowTheURIsOfTheDescription() {
        let ids = HeaderExtensionIDs([
            (id: 5, uri: "urn:3gpp:video-orientation"), (id: 6, uri: "urn:example:unknown"),
            (id: 0, uri: "urn:ietf:params:rtp-hdrext:sdes:mid"),
        ])
        var expected = HeaderExtensionIDs()
        expected.videoOrientation = 5
        #expect(ids == expected)
    }
}
