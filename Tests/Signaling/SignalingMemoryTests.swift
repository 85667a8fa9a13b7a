import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingClient

/// What a client knows of its session, and what it keeps while there is no connection.
@Suite struct SignalingMemoryTests {
    private static let subscription = "0123456789abcdef"

    private static func welcome(_ id: String, secret: String? = "secret") -> SignalingMessage {
        .welcome(
            version: 1, id: id, room: "demo", streams: [],
            resume: secret.map { ResumptionTicket(secret: BearerToken($0), grace: 10) })
    }

    private static func resumption(_ memory: inout SignalingMemory) -> SessionResumption? {
        guard case .join(_, _, _, let resumption) = memory.opened(room: "demo", token: nil) else { return nil }
        return resumption
    }

    private static func say(_ message: SignalingMessage, _ memory: inout SignalingMemory) -> SignalingMemory.Disposition
    {
        memory.willSend(message, byteCount: message.json().count)
    }

    private static func joined() -> SignalingMemory {
        var memory = SignalingMemory()
        _ = memory.opened(room: "demo", token: nil)
        _ = memory.didReceive(welcome("me"))
        return memory
    }

    @Test func beforeTheFirstConnectionNothingIsKept() {
        var memory = SignalingMemory()
        let early = Self.say(.publish(stream: "camera"), &memory)
        #expect(early == .dropped)
        let resumption = Self.resumption(&memory)
        #expect(resumption == nil)
        let kept = Self.say(.publish(stream: "camera"), &memory)
        #expect(kept == .kept)
        let released = memory.didReceive(Self.welcome("me"))
        #expect(released == [.publish(stream: "camera")])
        let sent = Self.say(.publish(stream: "screen"), &memory)
        #expect(sent == .send)
    }

    @Test func whatTheSocketDidNotTakeIsKept() {
        var memory = Self.joined()
        let kept = memory.keep(.publish(stream: "camera"), byteCount: 40)
        #expect(kept == .kept)
        memory.lost()
        _ = memory.opened(room: "demo", token: nil)
        let released = memory.didReceive(Self.welcome("me"))
        #expect(released == [.publish(stream: "camera")])
    }

    @Test func whatIsKeptForTheOneIsNotSaidByAnother() {
        var memory = Self.joined()
        memory.lost()
        let kept = Self.say(.answer(subscription: Self.subscription, sdp: "v=0"), &memory)
        #expect(kept == .kept)
        _ = memory.opened(room: "demo", token: nil)
        let released = memory.didReceive(Self.welcome("somebody else"))
        #expect(released == [])
    }

    @Test func whereTheServerGivesNoSecretNothingIsKept() {
        var memory = SignalingMemory()
        _ = memory.opened(room: "demo", token: nil)
        _ = memory.didReceive(Self.welcome("me", secret: nil))
        memory.lost()
        let disposition = Self.say(.publish(stream: "camera"), &memory)
        #expect(disposition == .dropped)
        let resumption = Self.resumption(&memory)
        #expect(resumption == nil)
    }

    @Test func notMoreIsKeptThanTheServerWouldTake() {
        var memory = Self.joined()
        memory.lost()
        let offer = SignalingMessage.offer(subscription: Self.subscription, sdp: String(repeating: "x", count: 60_000))
        var kept = 0
        for _ in 0..<10 where Self.say(offer, &memory) == .kept { kept += 1 }
        #expect(kept == 4)
    }

    @Test func itNamesWhatGoesOnAndNothingElse() {
        var memory = Self.joined()
        _ = memory.didReceive(.streamPublished(StreamDescription(stream: "camera", publisher: "me")))
        _ = memory.didReceive(.streamPublished(StreamDescription(stream: "other", publisher: "them")))
        _ = memory.didReceive(.receiving(stream: nil))
        _ = memory.didReceive(.subscribe(subscription: "sending-subscription", stream: "camera", sdp: ""))
        _ = memory.didReceive(.subscribe(subscription: "ended-subscription", stream: "camera", sdp: ""))
        _ = memory.didReceive(.subscriptionEnded(subscription: "ended-subscription", reason: .left))
        _ = Self.say(.subscribe(subscription: "receiving-subscription", stream: "other", sdp: ""), &memory)
        _ = Self.say(.subscribe(subscription: "refused-subscription", stream: "other", sdp: ""), &memory)
        _ = memory.didReceive(
            .error(
                SignalingError(
                    .limitReached, "No more.", inReplyTo: "subscribe", subscription: "refused-subscription")))
        _ = memory.didReceive(.ingest(subscription: "ingest-subscription", stream: "studio", sdp: ""))
        memory.lost()
        _ = Self.say(.bye(subscription: "ingest-subscription", reason: .bye), &memory)
        var expected = SessionHoldings()
        expected.publishes = ["camera"]
        expected.receives = [nil]
        expected.sending = ["camera": ["sending-subscription"]]
        expected.receiving = ["other": ["receiving-subscription"]]
        let resumption = Self.resumption(&memory)
        #expect(resumption == SessionResumption(id: "me", secret: BearerToken("secret"), holdings: expected))
    }

    @Test func whoHasTooMuchToNameNamesNothing() {
        var memory = Self.joined()
        for number in 0..<2000 {
            _ = memory.didReceive(.subscribe(subscription: "subscription-\(number)", stream: "camera", sdp: ""))
        }
        let resumption = Self.resumption(&memory)
        #expect(resumption != nil)
        #expect(resumption?.holdings == nil)
    }

    @Test func whoLeftComesBackAsNobody() {
        var memory = Self.joined()
        _ = Self.say(.leave, &memory)
        let resumption = Self.resumption(&memory)
        #expect(resumption == nil)
    }
}
