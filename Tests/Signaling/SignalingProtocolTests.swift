import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingClient

@Suite struct SignalingProtocolTests {
    static let every: [SignalingMessage] = [
        .join(version: 1, room: "demo"), .publish(stream: "camera"), .unpublish(stream: "camera"), .leave,
        .subscribe(subscription: "0123456789abcdef", stream: "camera", sdp: "v=0\r\n"),
        .offer(subscription: "0123456789abcdef", sdp: "v=0\r\n\"\u{1F3A5}\""),
        .answer(subscription: "0123456789abcdef", sdp: "v=0\r\n"),
        .candidate(
            subscription: "0123456789abcdef",
            candidate: TrickledCandidate(
                candidate: "candidate:1 1 udp 1 192.0.2.1 9 typ host", sdpMid: "0", sdpMLineIndex: 0,
                usernameFragment: "abcd")),
        .candidate(subscription: "0123456789abcdef", candidate: .endOfCandidates),
        .bye(subscription: "0123456789abcdef", reason: .noCommonCodec),
        .welcome(version: 1, id: "a", room: "demo", streams: [StreamDescription(stream: "camera", publisher: "b")]),
        .welcome(
            version: 1, id: "a", room: "demo", streams: [],
            iceServers: [ICEServerDescription(urls: ["turn:turn.test"], username: "u", credential: "c")],
            resume: ResumptionTicket(secret: BearerToken("s"), grace: 10)),
        .join(version: 1, room: "demo", resume: SessionResumption(id: "a", secret: BearerToken("s"))),
        .join(
            version: 1, room: "demo",
            resume: SessionResumption(
                id: "a", secret: BearerToken("s"),
                holdings: holdings(sending: ["camera": ["0123456789abcdef"]], receives: [nil, "studio"]))),
        .streamPublished(StreamDescription(stream: "camera", publisher: "b")),
        .streamUnpublished(StreamDescription(stream: "camera", publisher: "b")),
        .participantJoined(id: "a"), .participantLeft(id: "a"), .receive(stream: "studio"), .receive(stream: nil),
        .receiving(stream: "studio"), .receiving(stream: nil), .stopReceiving(stream: nil),
        .ingest(subscription: "0123456789abcdef", stream: "studio", sdp: "v=0\r\n"),
        .subscriptionEnded(subscription: "0123456789abcdef", reason: .signalingLost),
        .publish(stream: "camera", properties: RoomSemanticsTests.properties),
        .updateStream(stream: "camera", properties: StreamProperties(hasVideo: false, hasAudio: true)),
        .streamPropertyChanged(
            StreamDescription(
                stream: "camera", publisher: "b", data: "d", properties: RoomSemanticsTests.properties)),
        .signal(RoutedSignal(SignalContent(data: "to all"))),
        .signal(RoutedSignal(SignalContent(type: "chat", data: "\u{1F3A5}"), to: "a", from: "b", fromData: "c")),
        .select(subscription: "0123456789abcdef", MediaSelection(video: false, audio: true)),
        .forceMute(ForcedMute(stream: nil, media: .everything)),
        .muteForced(ForcedMute(stream: "camera", media: .everything, reason: "why", by: "a")),
        .forceDisconnect(ForcedDisconnect(id: "a")),
        .forceDisconnected(ForcedDisconnect(id: "a", reason: "why", by: "b")),
        .error(SignalingError(.streamTaken, "Take another.", inReplyTo: "publish", subscription: nil)),
    ]

    static func holdings(sending: [String: [String]], receives: [String?]) -> SessionHoldings {
        var holdings = SessionHoldings()
        holdings.publishes = Array(sending.keys)
        holdings.sending = sending
        holdings.receives = receives
        return holdings
    }

    @Test(arguments: every) func everyMessageSurvivesTheWire(_ message: SignalingMessage) throws {
        #expect(try SignalingMessage(json: message.json()) == message)
    }

    @Test func theWireFormatIsTheDocumentedOne() {
        let message = SignalingMessage.subscribe(subscription: "s", stream: "a/b", sdp: "v=0\r\n")
        #expect(
            String(decoding: message.json(), as: UTF8.self)
                == #"{"sdp":"v=0\r\n","stream":"a/b","subscription":"s","type":"subscribe"}"#)
    }

    @Test func unknownFieldsAreIgnored() throws {
        let json = Array(#"{"type":"leave","later":{"a":[1,2]}}"#.utf8)
        #expect(try SignalingMessage(json: json) == .leave)
    }

    @Test(arguments: [
        ("", "malformedMessage"), ("{", "malformedMessage"), ("[]", "malformedMessage"), ("{}", "malformedMessage"),
        (#"{"type":7}"#, "malformedMessage"), (#"{"type":"dance"}"#, "unknownType"),
        (#"{"type":"publish"}"#, "malformedMessage"), (#"{"type":"publish","stream":1}"#, "malformedMessage"),
        (#"{"type":"join","version":1e99,"room":"a"}"#, "malformedMessage"),
    ])
    func badMessagesAreRefusedWithACode(_ text: String, _ code: String) {
        #expect {
            try SignalingMessage(json: Array(text.utf8))
        } throws: { error in
            (error as? SignalingError)?.code.rawValue == code
        }
    }

    @Test func deepNestingIsRefusedNotFollowed() {
        let deep = String(repeating: "[", count: 60_000)
        #expect(throws: SignalingError.self) {
            try SignalingMessage(json: Array((#"{"type":"leave","x":"# + deep).utf8))
        }
    }

    @Test func randomBytesAreRefusedWithoutATrap() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(throws: SignalingError.self) { try SignalingMessage(json: bytes) }
        }
    }

    @Test func aMessageBeyondTheLimitIsTooLarge() {
        let json = SignalingMessage.answer(subscription: "s", sdp: String(repeating: "x", count: 65_536)).json()
        #expect {
            try SignalingMessage(json: json)
        } throws: { error in
            (error as? SignalingError)?.code == .messageTooLarge
        }
    }

    @Test func namesAreFromTheAlphabetAndNotReserved() {
        for good in ["demo", "A-b_9", String(repeating: "x", count: 64)] {
            #expect(SignalingProtocol.isValid(name: good))
        }
        for bad in [
            "", "a b", "ä", "..", "a/b", String(repeating: "x", count: 65), "whep", "WHEP", "healthz", "assets",
        ] {
            #expect(!SignalingProtocol.isValid(name: bad))
        }
    }

    @Test func urlsAreTakenApart() throws {
        #expect(try SignalingURL("ws://[::1]:8080/demo") == SignalingURL(host: "::1", port: 8080, room: "demo"))
        #expect(try SignalingURL("ws://example.com/demo") == SignalingURL(host: "example.com", port: 80, room: "demo"))
        #expect(try SignalingURL("ws://[::1]:8080/demo").description == "ws://[::1]:8080/demo")
    }

    @Test(arguments: [
        "http://a/b", "ws://a", "ws://a/", "ws:///demo", "ws://a:0/demo", "ws://a:65536/demo", "ws://a:x/demo",
        "ws://[::1/demo", "ws://[::1]x/demo", "ws://u@a/demo", "ws://a/b/c", "ws://a/whep",
    ])
    func wrongURLsAreRefused(_ text: String) {
        #expect(throws: SignalingURLError.self) { try SignalingURL(text) }
    }
}
