import EmisoraSDP
import Testing

/// RFC 8853 (`a=simulcast`) and RFC 8851 (`a=rid`) between offer and answer.
@Suite struct SimulcastTests {
    /// As browsers offer it: three streams of one source.
    private static let sending = [
        "a=rid:h send", "a=rid:m send", "a=rid:l send", "a=simulcast:send h;m;l",
    ]
    private static let rids = ["f", "h", "q"]

    static func publisher(_ rids: [String] = rids, main: Int = 0) -> OfferAnswerMachine {
        var track = MediaConfiguration.Track(
            kind: .video, sends: true, receives: false, ssrc: 21, retransmissionSSRC: 22)
        track.encodings = rids.enumerated().map { index, rid in
            index == main
                ? .init(rid: rid, ssrc: 21, retransmissionSSRC: 22)
                : .init(rid: rid, ssrc: UInt32(100 + index), retransmissionSSRC: UInt32(200 + index))
        }
        track.mainEncoding = main
        return OfferAnswerMachine(
            configuration: MediaConfiguration(tracks: [track], cname: "cname", streamID: "stream"), sessionID: 84)
    }

    private static func viewerOffer(_ media: [String], direction: String = "sendonly") -> String {
        Given.offer(media: media).replacing("a=recvonly", with: "a=\(direction)")
    }

    // MARK: Reading and writing

    @Test("RFC 8851 §10: formats, numbers, dependencies and what is not known are read as they stand")
    func readsRIDs() throws {
        let text =
            "hi-1_x send pt=96,97;max-width=1280;max-height=720;max-fps=30;max-fs=3600;max-br=1500000;max-pps=9;"
            + "max-bpp=0.05;depend=a,b;x-new=some:thing;flag"
        let rid = try #require(RIDLine(parsing: Substring(text)))
        #expect(rid.id == "hi-1_x" && rid.direction == .send && rid.formats == ["96", "97"])
        #expect(rid.restrictions.map(\.name).contains("max-bpp") && rid.restrictions.last?.value == nil)
        #expect(rid.text == text)
        #expect(RIDLine(parsing: "1 recv") == RIDLine(id: "1", direction: .receive))
        let many = (0..<17).map { "x\($0)=1" }.joined(separator: ";")
        #expect(RIDLine(parsing: Substring("1 recv \(many)")) == nil)
        #expect(RIDLine(parsing: Substring("\(String(repeating: "a", count: 256)) recv")) == nil)
    }

    @Test("RFC 8853 §5.1: both directions in either order, alternatives, and streams that begin paused")
    func readsSimulcast() throws {
        let line = try #require(SimulcastLine(parsing: "recv 4;~5,6 send h;m,~n;l"))
        #expect(line.receive == [[.init("4")], [.init("5", isPaused: true), .init("6")]])
        #expect(line.send == [[.init("h")], [.init("m"), .init("n", isPaused: true)], [.init("l")]])
        #expect(SimulcastLine(parsing: Substring(line.text)) == line)
        #expect(line.text == "send h;m,~n;l recv 4;~5,6")
    }

    @Test func aDescriptionIsWrittenAsItWasRead() throws {
        let text = Self.viewerOffer(["a=rid:4 recv pt=100;max-br=9"] + Self.sending + []).replacing(
            "a=simulcast:send h;m;l", with: "a=simulcast:send h,m;~l recv 4")
        let description = try SessionDescription(parsing: text)
        #expect(try SessionDescription(parsing: description.text) == description)
        #expect(description.media[0].rids.count == 4 && description.text.contains("a=simulcast:send h,m;~l recv 4\r\n"))
    }

    @Test func twoRIDsOfOneNameAndTwoSimulcastLinesAreRefused() {
        for line in ["a=rid:h recv", "a=simulcast:recv h"] {
            let offer = Self.viewerOffer(Self.sending + [line])
            let last = offer.utf8.count { $0 == UInt8(ascii: "\n") }
            let error = #expect(throws: SDPError.self) { try SessionDescription(parsing: offer) }
            guard case .malformed(last, _) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    // MARK: Receiving

    @Test("RFC 8853 §5.3.2: of an offered simulcast the answer keeps one stream")
    func takesTheFirstStream() throws {
        var viewer = Given.machine([.video], sends: false, receives: true)
        let (text, session) = try viewer.answer(offer: Self.viewerOffer(Self.sending), transport: Given.transport())
        #expect(text.contains("a=rid:h recv\r\na=simulcast:recv h\r\n"))
        #expect(text.ranges(of: "a=rid:").count == 1)
        #expect(session.media(.video)?.receiveRID == "h")
        #expect(session.media(.video)?.sendLayers == [])
    }

    @Test(
        "RFC 8851 §6.3: a stream that cannot have our codec is passed over, and formats are no more than the answer's",
        arguments: [
            (
                ["a=rid:h send pt=99", "a=rid:m send pt=99,100,101;max-width=640", "a=simulcast:send h;m"], "m",
                "a=rid:m recv pt=100,101;max-width=640\r\na=simulcast:recv m\r\n"
            ),
            (["a=rid:h send pt=99", "a=rid:m send pt=100", "a=simulcast:send h,m"], "m", "a=rid:m recv pt=100\r\n"),
            (["a=rid:h send", "a=rid:m send", "a=simulcast:send ~h;m"], "m", "a=rid:m recv\r\n"),
            // A name that no a=rid explains, or one of the other direction.
            (["a=rid:m send", "a=simulcast:send h;m"], "m", "a=simulcast:recv m\r\n"),
            (["a=rid:h recv", "a=rid:m send", "a=simulcast:send h;m"], "m", "a=rid:m recv\r\n"),
        ])
    func takesTheFirstThatItCan(lines: [String], rid: String, expected: String) throws {
        var viewer = Given.machine([.video], sends: false, receives: true)
        let (text, session) = try viewer.answer(offer: Self.viewerOffer(lines), transport: Given.transport())
        #expect(session.media(.video)?.receiveRID == rid)
        #expect(text.contains(expected))
    }

    @Test(arguments: [
        ["a=rid:h send"], ["a=simulcast:send h"], ["a=rid:h send pt=7", "a=simulcast:send h"],
        ["a=rid:h recv", "a=simulcast:send h"],
    ])
    func withoutAUsableStreamTheAnswerHasNoSimulcast(lines: [String]) throws {
        var viewer = Given.machine([.video], sends: false, receives: true)
        let (text, session) = try viewer.answer(offer: Self.viewerOffer(lines), transport: Given.transport())
        #expect(!text.contains("a=rid") && !text.contains("a=simulcast"))
        #expect(session.media(.video)?.receiveRID == nil && session.media.count == 1)
    }

    @Test func ourOwnReofferKeepsTheStreamThatWeTake() throws {
        var viewer = Given.machine([.video], sends: false, receives: true)
        _ = try viewer.answer(offer: Self.viewerOffer(Self.sending), transport: Given.transport())
        let offer = try viewer.makeOffer(transport: Given.transport())
        #expect(offer.contains("a=rid:h recv\r\na=simulcast:recv h\r\n"))
        let answer = Self.viewerOffer(["a=rid:h send", "a=simulcast:send h"])
            .replacing("a=setup:actpass", with: "a=setup:active")
        #expect(try viewer.setRemoteAnswer(answer).media(.video)?.receiveRID == "h")
    }

    // MARK: Sending

    @Test("RFC 9429 §5.2.1: the offer names the encodings in their order, and announces the one for peers without")
    func offersItsEncodings() throws {
        var publisher = Self.publisher(["q", "h", "f"], main: 2)
        let offer = try publisher.makeOffer(transport: Given.transport())
        #expect(offer.contains("a=rid:q send\r\na=rid:h send\r\na=rid:f send\r\na=simulcast:send q;h;f\r\n"))
        #expect(try SessionDescription(parsing: offer).media[0].ssrcs.map(\.ssrc) == [21, 22])
    }

    private func agreed(_ lines: [String], _ publisher: inout OfferAnswerMachine) throws -> NegotiatedSession.Media {
        _ = try publisher.makeOffer(transport: Given.transport())
        let answer = Given.offer(media: lines).replacing("100", with: "96").replacing("101", with: "97")
            .replacing("a=setup:actpass", with: "a=setup:active").replacing("a=mid:v", with: "a=mid:0")
            .replacing("BUNDLE v", with: "BUNDLE 0")
        return try #require(try publisher.setRemoteAnswer(answer).media(.video))
    }

    @Test("RFC 8853 §5.3.3: the answer says which streams are sent")
    func sendsWhatTheAnswerTakes() throws {
        var publisher = Self.publisher()
        let media = try agreed(
            ["a=rid:q recv", "a=rid:f recv max-br=900000", "a=rid:x recv", "a=simulcast:recv f;~q;x"], &publisher)
        #expect(media.sendLayers.map(\.rid) == ["f", "q"])
        #expect(media.sendLayers.map(\.encoding) == [0, 2])
        #expect(media.sendLayers.map(\.ssrc) == [21, 102])
        #expect(media.sendLayers.map(\.retransmissionSSRC) == [22, 202])
        #expect(media.sendLayers.map(\.isPaused) == [false, true])
        #expect(media.sendLayers.map(\.maximumBitrate) == [900_000, nil])
        // What was not taken is not offered again.
        let second = try publisher.makeOffer(transport: Given.transport())
        #expect(second.contains("a=rid:f send\r\na=rid:q send\r\na=simulcast:send f;q\r\n"))
        #expect(!second.contains("a=rid:h"))
    }

    @Test(arguments: [
        [], ["a=rid:f recv"], ["a=simulcast:recv f;h;q"], ["a=rid:f recv pt=97", "a=simulcast:recv f"],
        // What an encoding for several receivers cannot keep.
        ["a=rid:f recv max-width=320", "a=simulcast:recv f"],
    ])
    func anAnswerWithoutSimulcastGetsOneStream(lines: [String]) throws {
        var publisher = Self.publisher(["q", "h", "f"], main: 2)
        let media = try agreed(lines, &publisher)
        #expect(media.sendLayers.isEmpty && media.ssrc == 21)
        #expect(!(try publisher.makeOffer(transport: Given.transport())).contains("a=simulcast"))
    }

    @Test("RFC 8853 §5.3.2: an offer that takes simulcast gets the encodings of its names, else in their order")
    func answersAnOfferThatTakesSimulcast() throws {
        let named = ["a=rid:q recv", "a=rid:f recv pt=100", "a=simulcast:recv q;f"]
        var publisher = Self.publisher()
        let (text, session) = try publisher.answer(offer: Given.offer(media: named), transport: Given.transport())
        #expect(text.contains("a=rid:q send\r\na=rid:f send pt=100\r\na=simulcast:send q;f\r\n"))
        #expect(session.media(.video)?.sendLayers.map(\.encoding) == [2, 0])

        let numbered = ["a=rid:1 recv", "a=rid:2 recv max-fps=5", "a=rid:3 recv", "a=simulcast:recv 1;2;3"]
        var other = Self.publisher()
        let (reply, agreed) = try other.answer(offer: Given.offer(media: numbered), transport: Given.transport())
        #expect(reply.contains("a=rid:1 send\r\na=rid:3 send\r\na=simulcast:send 1;3\r\n"))
        #expect(agreed.media(.video)?.sendLayers.map(\.encoding) == [0, 1])
        #expect(agreed.media(.video)?.sendLayers.map(\.rid) == ["1", "3"])
        // Our own offer goes by the same names.
        #expect(try other.makeOffer(transport: Given.transport()).contains("a=simulcast:send 1;3\r\n"))
    }

    /// A stream keeps its SSRC and size under its name, whichever others come and go.
    @Test func aNameThatThePeerGaveKeepsItsEncodingThroughReoffers() throws {
        let lines = ["a", "b", "c"].map { "a=rid:\($0) recv" }
        func offer(_ names: String) -> String { Given.offer(media: lines + ["a=simulcast:recv \(names)"]) }
        var publisher = Self.publisher()
        let first = try publisher.answer(offer: offer("a;b;c"), transport: Given.transport()).session
        #expect(first.media(.video)?.sendLayers.map(\.encoding) == [0, 1, 2])

        // Our offers, of which the peer takes fewer …
        for _ in 0..<3 {
            _ = try publisher.makeOffer(transport: Given.transport())
            let answer = offer("b").replacing("a=setup:actpass", with: "a=setup:active")
            let media = try #require(try publisher.setRemoteAnswer(answer).media(.video))
            #expect(media.sendLayers.map(\.rid) == ["b"])
            #expect(media.sendLayers.map(\.encoding) == [1] && media.sendLayers.map(\.ssrc) == [101])
        }
        // … and its own, which brings others back: they get what is left.
        for (names, encodings) in [("c;b", [0, 1]), ("b", [1]), ("b;a;c", [1, 0, 2])] {
            let session = try publisher.answer(offer: offer(names), transport: Given.transport()).session
            #expect(session.media(.video)?.sendLayers.map(\.encoding) == encodings, "\(names)")
        }
    }

    @Test func aHoldDoesNotEndTheSimulcast() throws {
        let lines = ["a=rid:f recv", "a=rid:q recv", "a=simulcast:recv f;q"]
        var publisher = Self.publisher()
        _ = try publisher.answer(offer: Given.offer(media: lines), transport: Given.transport())
        let held = try publisher.answer(
            offer: Given.offer().replacing("a=recvonly", with: "a=inactive"), transport: Given.transport())
        #expect(held.session.media(.video)?.direction == .inactive && !held.answer.contains("a=simulcast"))
        #expect(try publisher.makeOffer(transport: Given.transport()).contains("a=simulcast:send f;q\r\n"))
    }
}
