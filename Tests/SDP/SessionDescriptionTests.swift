import EmisoraSDP
import Testing

@Suite struct SessionDescriptionTests {
    @Test(arguments: Fixtures.all) func readsBrowsersOffersWithEitherLineEnd(name: String, text: String) throws {
        let description = try SessionDescription(parsing: text)
        #expect(try SessionDescription(parsing: Fixtures.crlf(text)) == description)
        #expect(description.bundle == description.media.compactMap(\.mid))
        #expect(description.iceOptions == ["trickle"])
        for section in description.media {
            #expect(section.iceUfrag != nil && section.icePassword != nil && section.setup == .actpass)
            #expect(section.fingerprints.map(\.bytes.count) == [32])
            // Firefox offers a second m-line of a kind as bundle-only, with port 0 and without candidates.
            #expect(section.candidates.isEmpty == section.isBundleOnly)
            #expect(!section.isRejected)
        }
    }

    @Test(arguments: Fixtures.all) func writesWhatItReads(name: String, text: String) throws {
        let description = try SessionDescription(parsing: text)
        let again = try SessionDescription(parsing: description.text)
        #expect(again == description)
        #expect(again.text == description.text)
    }

    @Test func readsFirefoxsParametersBeforeTheirMaps() throws {
        let description = try SessionDescription(parsing: Fixtures.firefoxRecvonly)
        let video = try #require(description.media.first)
        #expect(video.formatParameters[120] == "max-fs=12288;max-fr=60")
        #expect(video.feedback.contains(FeedbackLine(payloadType: 120, value: "nack pli")))
        #expect(video.rtpMaps.first == RTPMap(payloadType: 120, name: "VP8", clockRate: 90_000))
        #expect(video.direction == .recvonly)
        #expect(video.isEndOfCandidates)
        #expect(video.extensions.first { $0.id == 6 }?.direction == .recvonly)
        #expect(description.media[1].rtpMaps.first?.channels == 2)
    }

    @Test func readsChromiumsSourcesAndStreams() throws {
        let description = try SessionDescription(parsing: Fixtures.chromiumSendonly)
        let video = try #require(description.media.last)
        #expect(
            video.retransmissionGroups == [RetransmissionGroup(media: 4_088_288_453, retransmission: 559_519_401)])
        #expect(video.ssrcs.map(\.cname) == ["dusdVFJFlO2DAYSa", "dusdVFJFlO2DAYSa"])
        #expect(video.streamID == "c9211601-b140-4eae-ba31-c27de75ac242")
        #expect(video.trackID == "afba5fdf-6c2c-4eaa-ba2c-1d0b7bf38e48")
        #expect(description.allowsMixedExtensions)
    }

    @Test func handsSessionAttributesDownToSectionsWithoutTheirOwn() throws {
        let text = """
            v=0
            o=- 1 2 IN IP4 127.0.0.1
            s=-
            t=0 0
            a=inactive
            a=ice-ufrag:session
            a=ice-pwd:0123456789abcdef012345
            a=setup:passive
            a=fingerprint:SHA-1 00:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13
            a=fingerprint:\(Given.fingerprint.algorithm) \(Given.fingerprint.value)
            a=end-of-candidates
            m=audio 9 RTP/SAVPF 0
            m=video 9 RTP/SAVPF 96
            a=recvonly
            a=setup:active
            a=ice-ufrag:media
            a=ice-pwd:9123456789abcdef012345
            """
        let media = try SessionDescription(parsing: text).media
        #expect(media.map(\.direction) == [.inactive, .recvonly])
        #expect(media.map(\.iceUfrag) == ["session", "media"])
        #expect(media.map(\.setup) == [.passive, .active])
        #expect(media.map { $0.fingerprints.map(\.algorithm) } == [["sha-1", "sha-256"], ["sha-1", "sha-256"]])
        #expect(media.map(\.isEndOfCandidates) == [true, true])
        #expect(media[0].fingerprints[0].bytes == Array(0...19))
    }

    @Test("RFC 8866 §5: unknown lines and attributes are passed over") func passesOverWhatItDoesNotKnow() throws {
        let text = Given.offer(
            session: ["a=group:BUNDLE v", "a=nonsense", "k=clear:x", "x=1", "a=group:LS v"],
            media: ["a=floorctrl:c-only", "a=extmap:4096 urn:x", "i=caption", "a=rtcp-xr:rcvr-rtt=all"])
        let plain = try SessionDescription(parsing: Given.offer())
        #expect(try SessionDescription(parsing: text) == plain)
    }

    @Test(arguments: [
        "m=video", "m=video 70000 RTP/SAVPF 96", "m=video +9 RTP/SAVPF 96", "m=video 9 RTP/SAVPF",
        "a=rtpmap:96", "a=rtpmap:128 VP8/90000", "a=rtpmap:96 VP8", "a=rtpmap:96 VP8/0", "a=rtpmap:+96 VP8/90000",
        "a=rtpmap:96 opus/48000/0", "a=fmtp:96", "a=fmtp:x apt=1", "a=rtcp-fb:96", "a=rtcp-fb:300 nack",
        "a=extmap:0 urn:x", "a=extmap:4352 urn:x", "a=extmap:1", "a=extmap:1/sideways urn:x", "a=setup:perhaps",
        "a=fingerprint:sha-256 AB:CD", "a=fingerprint:sha-256", "a=fingerprint:x-hash GG", "a=ice-ufrag:abc",
        "a=ice-ufrag:with space", "a=ice-pwd:short", "a=mid:", "a=mid:second", "a=mid:a b",
        "a=ssrc:4294967296 cname:x", "a=ssrc:-1", "a=ssrc-group:FID 1 x", "a=msid:", "a=candidate:1 1 udp 1 192.0.2.1",
        "a=candidate:1 0 udp 1 192.0.2.1 5 typ host", "a=candidate:1 1 udp 1 192.0.2.1 65536 typ host",
        "a=candidate:1 1 udp 1 192.0.2.1 5 kind host", "v=1", "v=0", "o=- 1 2 IN IP4 127.0.0.1", "c=IN IP4", "t=0",
        "b=AS", "b=AS:x",
        "a=rid:", "a=rid:1", "a=rid:1 both", "a=rid:a.b send", "a=rid:1 send pt=", "a=rid:1 send pt=1,,2",
        "a=rid:1 send max-width=1;pt=96", "a=rid:1 send max-width=x", "a=rid:1 send max-br=-1", "a=rid:1 send ;",
        "a=rid:1 send max-fs=1 2", "a=simulcast:", "a=simulcast:send", "a=simulcast:both 1",
        "a=simulcast:send 1 send 2",
        "a=simulcast:send 1;;2", "a=simulcast:send 1,", "a=simulcast:send ~", "a=simulcast:send ~~1",
        "a=simulcast:send 1;1", "a=simulcast:send 1 recv", "a=simulcast:send rid=1;2", "a=simulcast:send a:b",
        "a=simulcast:send 1;2;3;4;5;6;7;8;9", "a=simulcast:send 1,2,3,4,5,6,7,8,9", "nonsense", "a",
        "a=mid:v\rm=audio 9 x 0", "a=x\u{0}y",
    ])
    func refusesAMalformedLineByItsNumber(line: String) {
        let offer = Given.offer()
        let number = offer.utf8.count { $0 == UInt8(ascii: "\n") } + 1
        let error = #expect(throws: SDPError.self) { try SessionDescription(parsing: offer + line + "\r\na=after\r\n") }
        guard case .malformed(number, let reason) = error else {
            Issue.record("\(line): \(String(describing: error))")
            return
        }
        #expect(!reason.isEmpty)
        #expect(error?.description.contains("Line \(number)") == true)
    }

    @Test("RFC 9429 §5.8: a malformed line refuses the whole description") func refusesTextThatIsNoDescription() {
        #expect(throws: SDPError.invalid(reason: "it lacks its v= or o= line")) {
            try SessionDescription(parsing: "")
        }
        #expect(throws: SDPError.malformed(line: 1, reason: "a description begins with v=0")) {
            try SessionDescription(parsing: "s=-\r\nv=0\r\n")
        }
        #expect(throws: SDPError.invalid(reason: "it lacks its v= or o= line")) {
            try SessionDescription(parsing: "v=0\r\n")
        }
    }

    @Test func refusesTwoSectionsOfOneMid() {
        let offer = Given.offer()
        #expect(throws: SDPError.invalid(reason: "two media sections have the same a=mid")) {
            try SessionDescription(parsing: offer + "m=audio 9 RTP/SAVPF 0\r\na=mid:v\r\n")
        }
    }

    @Test func capsEverythingThatCanBeRepeated() {
        func refuses(_ what: String, _ limit: Int, _ text: String) {
            #expect(throws: SDPError.tooLarge(what: what, limit: limit)) { try SessionDescription(parsing: text) }
        }
        let offer = Given.offer()
        func repeated(_ count: Int, _ line: (Int) -> String) -> String {
            offer + (0..<count).map { line($0) + "\n" }.joined()
        }
        refuses("bytes", 262_144, offer + String(repeating: "x", count: 262_144))
        refuses("lines", 4_096, repeated(4_200) { _ in "a=x" })
        refuses("media sections", 64, repeated(64) { _ in "m=audio 9 RTP/SAVPF 0" })
        refuses("candidates", 256, repeated(257) { "a=candidate:\($0) 1 udp 1 192.0.2.1 5 typ host" })
        refuses("ssrcs in a media section", 256, repeated(257) { "a=ssrc:\($0)" })
        refuses("ssrc groups", 256, repeated(257) { "a=ssrc-group:FID \($0) 1" })
        refuses("feedback lines", 256, repeated(257) { _ in "a=rtcp-fb:* nack" })
        refuses("header extensions", 32, repeated(33) { "a=extmap:\($0 + 1) urn:x" })
        refuses("rids in a media section", 16, repeated(17) { "a=rid:\($0) send" })
        refuses("payload types", 128, repeated(129) { _ in "a=rtpmap:96 VP8/90000" })
        refuses(
            "fingerprints", 32,
            repeated(33) { _ in "a=fingerprint:\(Given.fingerprint.algorithm) \(Given.fingerprint.value)" })
        refuses(
            "formats in a media section", 128,
            offer + "m=audio 9 RTP/SAVPF" + String(repeating: " 0", count: 129))
        refuses(
            "bundled media sections", 64,
            Given.offer(session: ["a=group:BUNDLE" + (0..<65).map { " \($0)" }.joined()]))
    }
}
