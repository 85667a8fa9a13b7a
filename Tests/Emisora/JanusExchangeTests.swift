import EmisoraCore
import EmisoraJanusProtocol
import EmisoraSignalingClient
import EmisoraSignalingProtocol
import EmisoraWebsocketClient
import Foundation
import Testing

@testable import Emisora

/// The client's side of Janus's websocket API, in virtual time and without a network.
@Suite struct JanusExchangeTests {
    static let offer = EndpointExchangeTests.offer
    static let answer = EndpointExchangeTests.answer
    static let published = SignalingMessage.streamPublished(
        StreamDescription(stream: "main", publisher: JanusExchange.participant))

    struct Missing: Error, CustomStringConvertible {
        var description: String
    }

    /// What was sent, with its JSON taken apart.
    struct Sent {
        var json: [String: Any]
        var verb: String { json["janus"] as? String ?? "" }
        var transaction: String { json["transaction"] as? String ?? "" }
        var body: [String: Any] { json["body"] as? [String: Any] ?? [:] }
        var request: String { body["request"] as? String ?? "" }
        var handle: Int? { json["handle_id"] as? Int }
        var sdp: String? { (json["jsep"] as? [String: Any])?["sdp"] as? String }
    }

    /// A session on this side and a Janus, played by the test, on the other.
    final class World {
        var exchange: JanusExchange
        var now = Instant.zero
        private var sent: [Sent] = []
        private var events: [SignalingClientEvent] = []
        private(set) var reconnects = 0

        init(room: String = "1234", options: JanusOptions = JanusOptions(), token: String? = nil) {
            exchange = JanusExchange(
                settings: .init(room: room, options: options, token: token),
                random: RandomSource(EndpointExchangeTests.Seeded()))
        }

        private func drain() {
            while let output = exchange.pollOutput() {
                switch output {
                case .event(let event): events.append(event)
                case .reconnect: reconnects += 1
                case .send(let text):
                    let json = try? JSONSerialization.jsonObject(with: Data(text)) as? [String: Any]
                    sent.append(Sent(json: json ?? [:]))
                }
            }
        }

        /// Everything that came for the session since the last time.
        func takeEvents() -> [SignalingClientEvent] {
            drain()
            defer { events = [] }
            return events
        }

        func messages() -> [SignalingMessage] {
            takeEvents().compactMap { if case .message(let message) = $0 { message } else { nil } }
        }

        func notices() -> [String] {
            takeEvents().compactMap { if case .notice(let text) = $0 { text } else { nil } }
        }

        /// The next request of that verb, and of that body's request; those before are passed over.
        func next(_ verb: String, _ request: String = "") throws -> Sent {
            drain()
            guard let index = sent.firstIndex(where: { $0.verb == verb && $0.request == request }) else {
                throw Missing(description: "no \(verb) \(request) among \(sent.map { "\($0.verb) \($0.request)" })")
            }
            let found = sent[index]
            sent.removeSubrange(...index)
            return found
        }

        func isSilent() -> Bool {
            drain()
            return sent.isEmpty
        }

        func open() { exchange.handle(.opened, now: now) }
        func lose() { exchange.handle(.lost, now: now) }
        func say(_ message: SignalingMessage) { exchange.handle(message, now: now) }

        func answer(_ json: [String: Any]) throws {
            exchange.handle(.message(Array(try JSONSerialization.data(withJSONObject: json))), now: now)
        }

        func succeed(_ request: Sent, id: Int? = nil) throws {
            var answer: [String: Any] = ["janus": "success", "transaction": request.transaction]
            if let id { answer["data"] = ["id": id] }
            try self.answer(answer)
        }

        func fail(_ request: Sent, _ code: Int, _ reason: String = "because") throws {
            try answer(
                [
                    "janus": "error", "transaction": request.transaction,
                    "error": ["code": code, "reason": reason] as [String: Any],
                ])
        }

        /// An event of the room, in answer to a request or of itself.
        func event(
            _ data: [String: Any], to request: Sent? = nil, from handle: Int? = nil, sdp: String? = nil,
            type: String = "answer"
        ) throws {
            var event: [String: Any] = [
                "janus": "event", "plugindata": ["plugin": "janus.plugin.videoroom", "data": data] as [String: Any],
            ]
            event["sender"] = handle ?? request?.handle
            if let request { event["transaction"] = request.transaction }
            if let sdp { event["jsep"] = ["type": type, "sdp": sdp] }
            try answer(event)
        }

        /// From the socket to the welcome.
        func enter(session: Int = 7, handle: Int = 70) throws {
            try succeed(try next("create"), id: session)
            try succeed(try next("attach"), id: handle)
            let join = try next("message", "join")
            try event(["videoroom": "joined", "room": 1234, "id": 5, "publishers": [Any]()], to: join)
        }

        /// Publishes, and gives the id of the connection and the request that is to be answered.
        func offerMedia() throws -> (id: String, configure: Sent) {
            say(.publish(stream: "main"))
            return try answerDescribe()
        }

        func answerDescribe() throws -> (id: String, configure: Sent) {
            guard
                let id = messages().reversed().lazy.compactMap({ message -> String? in
                    if case .subscribe(let id, "main", "") = message { id } else { nil }
                }).first
            else { throw Missing(description: "the session was not asked for an offer") }
            say(.offer(subscription: id, sdp: JanusExchangeTests.offer))
            return (id, try next("message", "configure"))
        }

        func confirm(_ configure: Sent, sdp: String = JanusExchangeTests.answer) throws {
            try event(["videoroom": "event", "configured": "ok"], to: configure, sdp: sdp)
        }

        /// A stream that is live.
        func live() throws -> String {
            open()
            try enter()
            let (id, configure) = try offerMedia()
            try confirm(configure)
            _ = takeEvents()
            return id
        }

        /// The next request of that verb, and how long it took to come.
        func wait(for verb: String) throws -> (Sent, after: Duration) {
            let begin = now
            for _ in 0..<60 {
                drain()
                if sent.contains(where: { $0.verb == verb }) { break }
                advance(to: now + .seconds(1))
            }
            return (try next(verb), now - begin)
        }

        func advance(to instant: Instant) {
            while let deadline = exchange.nextDeadline, deadline <= instant {
                now = max(now, deadline)
                exchange.handleTimeout(now: now)
                drain()
                if reconnects > 0 { return }
            }
            now = instant
        }
    }

    @Test("A stream goes into the room step by step, and out of it") func publishing() throws {
        let world = World(
            options: JanusOptions(pin: "secret", display: "Studio", publisherID: "42", apiSecret: "api"), token: "tok")
        #expect(world.exchange.nextDeadline == nil)
        world.open()
        let create = try world.next("create")
        #expect(create.json["apisecret"] as? String == "api" && create.json["token"] as? String == "tok")
        #expect(create.json["session_id"] == nil)
        try world.succeed(create, id: 7)
        let attach = try world.next("attach")
        #expect(attach.json["plugin"] as? String == "janus.plugin.videoroom" && attach.json["session_id"] as? Int == 7)
        try world.succeed(attach, id: 70)
        let join = try world.next("message", "join")
        #expect(join.handle == 70 && join.body["ptype"] as? String == "publisher")
        #expect(join.body["room"] as? Int == 1234 && join.body["id"] as? Int == 42)
        #expect(join.body["pin"] as? String == "secret" && join.body["display"] as? String == "Studio")
        #expect(world.messages() == [])
        try world.event(["videoroom": "joined", "room": 1234, "id": 42], to: join)
        guard case .welcome(_, JanusExchange.participant, "1234", [], _, _)? = world.messages().last else {
            Issue.record("no welcome")
            return
        }
        let (id, configure) = try world.offerMedia()
        #expect(configure.sdp == Self.offer && configure.handle == 70)
        // The offer has all candidates, and says so.
        #expect(try world.next("trickle").json["candidate"] as? [String: Bool] == ["completed": true])
        let candidate = TrickledCandidate(
            candidate: "candidate:2 1 udp 1 192.0.2.3 9 typ srflx", sdpMid: "0", sdpMLineIndex: 0)
        world.say(.candidate(subscription: id, candidate: candidate))
        let told = try world.next("trickle").json["candidate"] as? [String: Any]
        #expect(told?["candidate"] as? String == candidate.candidate && told?["sdpMid"] as? String == "0")
        try world.confirm(configure)
        #expect(world.messages() == [.answer(subscription: id, sdp: Self.answer), Self.published])
        world.say(.bye(subscription: id, reason: .unpublished))
        world.say(.unpublish(stream: "main"))
        #expect(try world.next("message", "unpublish").handle == 70)
        let farewell = world.exchange.farewell().map { String(decoding: $0, as: UTF8.self) }
        #expect(farewell.count == 2 && farewell[0].contains("\"leave\"") && farewell[1].contains("\"destroy\""))
        #expect(world.exchange.nextDeadline.map { $0 <= world.now + .seconds(25) } == true)
    }

    @Test("An event that overtakes its ack is the answer, and the ack then means nothing") func overtaking() throws {
        let world = World()
        world.open()
        try world.enter()
        let (id, configure) = try world.offerMedia()
        try world.confirm(configure)
        try world.answer(["janus": "ack", "transaction": configure.transaction])
        // The same once more, of another transaction, and of another handle: none of them counts.
        try world.confirm(configure)
        try world.event(
            ["videoroom": "event", "configured": "ok"], from: 70, sdp: Self.answer.replacing("wxyz", with: "zzzz"))
        #expect(world.messages() == [.answer(subscription: id, sdp: Self.answer), Self.published])
    }

    @Test("An answer by another handle than was asked is not taken") func wrongSender() throws {
        let world = World()
        world.open()
        try world.enter()
        let (_, configure) = try world.offerMedia()
        _ = world.takeEvents()
        try world.event(["videoroom": "event", "configured": "ok"], to: configure, from: 71, sdp: Self.answer)
        #expect(world.messages() == [])
    }

    @Test(
        "What Janus refuses is told with what to do",
        arguments: [
            (426, "No such room (1234)", "no room 1234"), (433, "Unauthorized (wrong pin)", "--pin"),
            (436, "User ID 42 already exists", "--publisher-id"),
        ])
    func refusedJoin(code: Int, reason: String, advice: String) throws {
        let world = World()
        world.open()
        try world.succeed(try world.next("create"), id: 7)
        try world.succeed(try world.next("attach"), id: 70)
        try world.event(
            ["videoroom": "event", "error_code": code, "error": reason], to: try world.next("message", "join"))
        guard case .error(let error)? = world.messages().last else {
            Issue.record("no error")
            return
        }
        #expect(error.inReplyTo == "join" && error.code.rawValue == "\(code)")
        #expect(error.message.contains(advice) && error.message.contains(reason), "\(error.message)")
    }

    @Test("Without the API secret nobody gets in, and is told so") func unauthorized() throws {
        let world = World()
        world.open()
        try world.fail(try world.next("create"), 403, "Unauthorized request\u{1B}[31m (wrong or missing secret/token)")
        guard case .error(let error)? = world.messages().last else {
            Issue.record("no error")
            return
        }
        #expect(error.message.contains("--api-secret-file") && !error.message.contains("\u{1B}"))
    }

    @Test("A full room and one of other codecs refuse the stream, not the session") func refusedStream() throws {
        let world = World()
        world.open()
        try world.enter()
        let (id, configure) = try world.offerMedia()
        try world.event(
            ["videoroom": "event", "error_code": 432, "error": "Maximum number of publishers (2) already reached"],
            to: configure)
        var messages = world.messages()
        #expect(messages.first == .subscriptionEnded(subscription: id, reason: .connectionFailed))
        guard case .error(let full)? = messages.last else {
            Issue.record("no error")
            return
        }
        #expect(full.inReplyTo == "publish" && full.message.contains("as many publishers"))
        // Another attempt is on another handle.
        world.say(.publish(stream: "main"))
        #expect(try world.next("detach").handle == 70)
        try world.succeed(try world.next("attach"), id: 71)
        try world.event(["videoroom": "joined", "room": 1234, "id": 6], to: try world.next("message", "join"))
        let (_, again) = try world.answerDescribe()
        #expect(again.handle == 71)
        try world.confirm(again, sdp: Self.answer.replacing("m=video 9", with: "m=video 0"))
        messages = world.messages()
        guard case .error(let codecs)? = messages.last else {
            Issue.record("no error")
            return
        }
        #expect(codecs.inReplyTo == "publish" && codecs.message.contains("takes no VP8"))
    }

    @Test("Where Janus calls rooms by strings, a number is said as one") func stringIDs() throws {
        let world = World(options: JanusOptions(publisherID: "42"))
        world.open()
        try world.succeed(try world.next("create"), id: 7)
        try world.succeed(try world.next("attach"), id: 70)
        let join = try world.next("message", "join")
        #expect(join.body["room"] as? Int == 1234)
        try world.event(
            ["videoroom": "event", "error_code": 430, "error": "Invalid element type (room should be a string)"],
            to: join)
        let again = try world.next("message", "join")
        #expect(again.body["room"] as? String == "1234" && again.body["id"] as? String == "42")
        try world.event(["videoroom": "event", "error_code": 430, "error": "Invalid element type"], to: again)
        guard case .error? = world.messages().last else {
            Issue.record("it went on asking")
            return
        }
    }

    @Test("A session that says nothing is kept by a word in time, as Janus's own time-out wants it")
    func keepalive() throws {
        let world = World()
        _ = try world.live()
        _ = try world.next("trickle")
        // Janus answers what it is asked, so the rest is silence.
        for _ in 0..<10 {
            let before = world.now
            world.advance(to: world.now + .seconds(25))
            let keepalive = try world.next("keepalive")
            #expect(keepalive.json["session_id"] as? Int == 7 && world.now - before <= .seconds(25))
            try world.answer(["janus": "ack", "transaction": keepalive.transaction])
            #expect(world.isSilent())
        }
        #expect(world.reconnects == 0)
        // A Janus with a shorter one says so.
        let other = World()
        other.open()
        let info = try other.next("info")
        #expect(info.json["apisecret"] == nil)
        try other.answer(["janus": "server_info", "transaction": info.transaction, "session-timeout": 12])
        try other.enter()
        other.advance(to: other.now + .seconds(6))
        _ = try other.next("keepalive")
    }

    @Test("A Janus that answers nothing for 10 s costs it the connection") func hanging() throws {
        let world = World()
        _ = try world.live()
        world.advance(to: world.now + .seconds(36))
        #expect(world.reconnects == 1)
        #expect(world.now >= Instant.zero + .seconds(35))
    }

    @Test("After a lost socket the session is claimed, and media goes on") func claiming() throws {
        let world = World()
        let id = try world.live()
        world.lose()
        #expect(world.takeEvents() == [.disconnected(.connectionLost)])
        #expect(world.exchange.nextDeadline == nil)
        world.now = world.now + .seconds(5)
        world.open()
        let claim = try world.next("claim")
        #expect(claim.json["session_id"] as? Int == 7)
        try world.succeed(claim)
        guard case .welcome? = world.messages().last else {
            Issue.record("no welcome")
            return
        }
        // As the session says after each welcome.
        world.say(.publish(stream: "main"))
        #expect(world.messages() == [Self.published])
        #expect(world.isSilent())
        // The connection is the same one.
        world.say(.offer(subscription: id, sdp: Self.offer))
        #expect(try world.next("message", "configure").handle == 70)
    }

    @Test("A Janus that was restarted knows no session: the stream is published anew") func restartedServer() throws {
        let world = World()
        let id = try world.live()
        world.lose()
        _ = world.takeEvents()
        world.open()
        try world.fail(try world.next("claim"), 458, "No such session 7")
        #expect(world.messages() == [.subscriptionEnded(subscription: id, reason: .timedOut)])
        try world.enter(session: 8, handle: 80)
        let (newID, configure) = try world.offerMedia()
        #expect(newID != id && configure.handle == 80 && configure.json["session_id"] as? Int == 8)
        try world.confirm(configure)
        #expect(world.messages() == [.answer(subscription: newID, sdp: Self.answer), Self.published])
    }

    @Test("While Janus still has our old self, its id is asked for again until it is free") func ownID() throws {
        let world = World(options: JanusOptions(publisherID: "42"))
        _ = try world.live()
        world.lose()
        world.open()
        try world.fail(try world.next("claim"), 458)
        try world.succeed(try world.next("create"), id: 8)
        try world.succeed(try world.next("attach"), id: 80)
        for _ in 0..<3 {
            try world.event(
                ["videoroom": "event", "error_code": 436, "error": "User ID 42 already exists"],
                to: try world.next("message", "join"))
            #expect(world.messages().allSatisfy { if case .error = $0 { false } else { true } })
            world.advance(to: world.now + .seconds(1))
        }
        try world.event(["videoroom": "joined", "room": 1234, "id": 42], to: try world.next("message", "join"))
        guard case .welcome? = world.messages().last else {
            Issue.record("no welcome")
            return
        }
    }

    @Test("A hang-up is followed by another connection on another handle, later each time") func hangingUp() throws {
        let world = World()
        var id = try world.live()
        var handle = 70
        var waits: [Duration] = []
        for _ in 0..<4 {
            try world.answer(["janus": "hangup", "sender": handle, "session_id": 7, "reason": "ICE failed"])
            #expect(world.messages() == [.subscriptionEnded(subscription: id, reason: .init(rawValue: "ICE failed"))])
            // Late news of the old one.
            try world.answer(["janus": "hangup", "sender": handle, "session_id": 7, "reason": "ICE failed"])
            #expect(world.messages() == [])
            let (detach, wait) = try world.wait(for: "detach")
            waits.append(wait)
            #expect(detach.handle == handle)
            handle += 1
            try world.succeed(try world.next("attach"), id: handle)
            try world.event(["videoroom": "joined", "room": 1234, "id": 5], to: try world.next("message", "join"))
            let (next, configure) = try world.answerDescribe()
            #expect(next != id && configure.handle == handle)
            id = next
            try world.confirm(configure)
            _ = world.takeEvents()
        }
        #expect(waits == [.seconds(2), .seconds(4), .seconds(8), .seconds(10)])
        // Media that flows ends the patience that was learnt.
        try world.answer(["janus": "webrtcup", "sender": handle, "session_id": 7])
        try world.answer(["janus": "hangup", "sender": handle, "session_id": 7, "reason": "DTLS alert"])
        #expect(try world.wait(for: "detach").after == .seconds(2))
    }

    @Test("Restarts of ICE go out one after the other, and only the last one's answer counts") func restarts() throws {
        let world = World()
        let id = try world.live()
        world.say(.offer(subscription: id, sdp: Self.offer.replacing("abcd", with: "efgh")))
        let first = try world.next("message", "configure")
        world.say(.offer(subscription: id, sdp: Self.offer.replacing("abcd", with: "ijkl")))
        #expect(world.isSilent())
        try world.confirm(first, sdp: Self.answer.replacing("wxyz", with: "aaaa"))
        #expect(world.messages() == [])
        let second = try world.next("message", "configure")
        #expect(second.sdp?.contains("ijkl") == true)
        let answer = Self.answer.replacing("wxyz", with: "bbbb")
        try world.confirm(second, sdp: answer)
        #expect(world.messages() == [.answer(subscription: id, sdp: answer)])
        // One that is refused leaves the connection alone.
        world.say(.offer(subscription: id, sdp: Self.offer))
        try world.fail(try world.next("message", "configure"), 465)
        #expect(world.messages() == [])
    }

    @Test("The session's time-out, a lost handle and a destroyed room each begin what they took", arguments: 0..<3)
    func losses(kind: Int) throws {
        let world = World()
        let id = try world.live()
        switch kind {
        case 0: try world.answer(["janus": "timeout", "session_id": 7])
        case 1: try world.answer(["janus": "detached", "session_id": 7, "sender": 70])
        default: try world.event(["videoroom": "destroyed", "room": 1234], from: 70)
        }
        let events = world.takeEvents()
        #expect(events.contains(.message(.subscriptionEnded(subscription: id, reason: .timedOut))))
        #expect(events.contains(.disconnected(.connectionLost)))
        if kind == 0 { try world.succeed(try world.next("create"), id: 8) }
        try world.succeed(try world.next("attach"), id: 80)
        let join = try world.next("message", "join")
        if kind == 2 {
            // Until it is back.
            try world.event(["videoroom": "event", "error_code": 426, "error": "No such room"], to: join)
            world.advance(to: try #require(world.exchange.nextDeadline))
            try world.event(["videoroom": "joined", "room": 1234, "id": 5], to: try world.next("message", "join"))
        } else {
            try world.event(["videoroom": "joined", "room": 1234, "id": 5], to: join)
        }
        let (_, configure) = try world.offerMedia()
        #expect(configure.handle == 80)
    }

    @Test("Who was kicked does not come back by itself") func kicked() throws {
        let world = World()
        let id = try world.live()
        try world.event(["videoroom": "event", "room": 1234, "leaving": "ok", "reason": "kicked"], from: 70)
        let events = world.takeEvents()
        #expect(events.contains(.message(.subscriptionEnded(subscription: id, reason: .init(rawValue: "kicked")))))
        #expect(events.contains { if case .notice(let text) = $0 { text.contains("moderator") } else { false } })
        #expect(try world.next("detach").handle == 70)
        world.advance(to: world.now + .seconds(24))
        #expect(world.isSilent())
    }

    @Test("What Janus says of media is told once, and of losses now and then") func reports() throws {
        let world = World()
        _ = try world.live()
        func media(_ type: String, _ receiving: Bool) -> [String: Any] {
            ["janus": "media", "sender": 70, "session_id": 7, "type": type, "receiving": receiving]
        }
        try world.answer(media("video", true))
        #expect(world.notices() == [])
        try world.answer(media("video", false))
        try world.answer(media("video", false))
        #expect(world.notices().count == 1)
        try world.answer(media("video", true))
        #expect(world.notices() == ["Janus receives pictures again."])
        let slow: [String: Any] = [
            "janus": "slowlink", "sender": 70, "session_id": 7, "media": "video", "uplink": true, "lost": 12,
        ]
        for _ in 0..<30 {
            try world.answer(slow)
            world.now = world.now + .seconds(1)
        }
        let notices = world.notices()
        #expect(notices.count == 3 && notices[0].contains("12 packets"))
        // Of what it sends us there is nothing to say, and of handles that are not ours neither.
        try world.answer(slow.merging(["uplink": false]) { $1 })
        try world.answer(media("video", false).merging(["sender": 71]) { $1 })
        #expect(world.notices() == [])
    }

    @Test("Another's stream is received by Janus's offer, on a handle of its own") func subscribing() throws {
        let world = World(options: JanusOptions(pin: "secret"))
        world.open()
        try world.succeed(try world.next("create"), id: 7)
        try world.succeed(try world.next("attach"), id: 70)
        let feeds: [[String: Any]] = [["id": 11, "display": "camera"], ["id": 12, "display": "not a name"]]
        try world.event(
            ["videoroom": "joined", "room": 1234, "id": 5, "private_id": 99, "publishers": feeds],
            to: try world.next("message", "join"))
        let names = world.messages().compactMap { message -> String? in
            if case .streamPublished(let stream) = message { stream.stream } else { nil }
        }
        #expect(names == ["camera", "12"])
        world.say(.subscribe(subscription: "sub", stream: "camera", sdp: ""))
        try world.succeed(try world.next("attach"), id: 71)
        let join = try world.next("message", "join")
        #expect(join.handle == 71 && join.body["ptype"] as? String == "subscriber")
        #expect((join.body["streams"] as? [[String: Int]]) == [["feed": 11]] && join.body["private_id"] as? Int == 99)
        try world.event(["videoroom": "attached", "room": 1234], to: join, sdp: Self.offer, type: "offer")
        #expect(world.messages() == [.offer(subscription: "sub", sdp: Self.offer)])
        world.say(.answer(subscription: "sub", sdp: Self.answer))
        let start = try world.next("message", "start")
        #expect(start.handle == 71 && start.sdp == Self.answer)
        // A restart of ours is one of Janus's, on demand.
        world.say(.offer(subscription: "sub", sdp: Self.offer))
        #expect(try world.next("message", "configure").body["restart"] as? Bool == true)
        try world.event(["videoroom": "event", "room": 1234, "unpublished": 11], from: 70)
        #expect(
            world.messages() == [
                .streamUnpublished(StreamDescription(stream: "camera", publisher: "feed")),
                .subscriptionEnded(subscription: "sub", reason: .unpublished),
            ])
    }

    @Test("Bytes that are no message of Janus's change nothing") func nonsense() throws {
        let world = World()
        let id = try world.live()
        let texts = [
            "", "{}", "[]", "null", "{\"janus\":7}", "{\"janus\":\"later\",\"sender\":70}",
            "{\"janus\":\"event\",\"sender\":-1,\"plugindata\":[]}",
            "{\"janus\":\"event\",\"sender\":70,\"plugindata\":{\"data\":{\"videoroom\":\"event\",\"leaving\":{}}}}",
            "{\"janus\":\"hangup\",\"sender\":1e300}",
            "{\"janus\":\"success\",\"transaction\":\"x\",\"data\":{\"id\":-4}}",
            "{\"janus\":\"server_info\",\"session-timeout\":-9223372036854775808}",
            "{\"janus\":\"timeout\",\"session_id\":8}", String(repeating: "[", count: 100_000),
            "{\"janus\":\"hangup\",\"sender\":70,\"pad\":\"" + String(repeating: "x", count: 1 << 18) + "\"}",
        ]
        for text in texts { world.exchange.handle(.message(Array(text.utf8)), now: world.now) }
        #expect(world.takeEvents() == [])
        world.say(.offer(subscription: id, sdp: Self.offer))
        #expect(try world.next("message", "configure").handle == 70)
    }

    @Test(
        "A URL names the websocket, its path and the room",
        arguments: [
            ("janus://example.org/1234", "example.org", 8_188, "/", "1234", false),
            ("januss://example.org:443/janus/ws/studio", "example.org", 443, "/janus/ws", "studio", true),
            ("JANUS://[::1]:9000/a%20b", "::1", 9_000, "/", "a b", false),
        ])
    func urls(_ text: String, _ host: String, _ port: Int, _ path: String, _ room: String, _ isSecure: Bool) throws {
        let url = try #require(try JanusURL(text))
        #expect(url.address.host == host && url.address.port == port && url.address.path == path)
        #expect(url.room == room && url.address.isSecure == isSecure)
    }

    @Test(
        "What is no such URL is refused, and what is of another kind is left to others",
        arguments: [
            "janus://", "janus://host", "janus://host/", "janus://:1/room", "janus://host:0/room", "janus://host//room",
            "janus://host/a?pin=1", "janus://host/%zz", "janus://host/%FF", "januss://[::1]/room",
        ])
    func badURLs(_ text: String) throws {
        #expect(throws: SessionError.self) { try JanusURL(text) }
        #expect(try JanusURL("ws://host/room") == nil)
    }
}
