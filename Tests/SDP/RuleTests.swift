import EmisoraSDP
import Testing

/// What an answer must refuse in its place while it takes the rest.
@Suite struct RuleTests {
    @Test("RFC 8834 §4.5: an offer without rtcp-mux has its m-line rejected")
    func withoutMultiplexingTheSectionIsRejected() throws {
        let sections = Fixtures.crlf(Fixtures.chromiumRecvonly).split(separator: "\r\nm=").map(String.init)
        #expect(sections.count == 3)
        let offer = (sections[..<2] + [sections[2].replacing("a=rtcp-mux\r\n", with: "")]).joined(separator: "\r\nm=")
        var machine = Given.machine()
        let (text, session) = try machine.answer(offer: offer, transport: Given.transport())
        let answer = try SessionDescription(parsing: text)
        #expect(answer.media.map(\.port) == [9, 0])
        #expect(answer.bundle == ["0"])
        #expect(session.media.map(\.index) == [0])
    }

    @Test("RFC 8843 §9.1.1: a payload type with two meanings in a bundle is taken for the first alone")
    func aPayloadTypeHasOneMeaning() throws {
        for (video, rtx) in [(111, 97), (96, 111)] {
            let offer = Fixtures.crlf(Fixtures.chromiumRecvonly)
                .replacing("rtpmap:96 VP8", with: "rtpmap:\(video) VP8").replacing("apt=96", with: "apt=\(video)")
                .replacing("SAVPF 96 97", with: "SAVPF \(video) \(rtx)")
                .replacing("rtpmap:97 rtx", with: "rtpmap:\(rtx) rtx").replacing("fmtp:97 ", with: "fmtp:\(rtx) ")
            var machine = Given.machine()
            let (text, session) = try machine.answer(offer: offer, transport: Given.transport())
            #expect(session.media.map(\.kind) == [.video])
            #expect(session.media[0].payloadType == UInt8(video))
            #expect(try SessionDescription(parsing: text).media.map(\.port) == [9, 0])
        }
    }
}
