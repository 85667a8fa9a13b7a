import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// Whatever clients, nodes and the bus do, and in whatever order: once all is quiet, all nodes say the same.
@Suite struct ClusterStormTests {
    private struct Actor {
        var client: NodeWorld.Client
        var who: SessionResumption
        var holdings = SessionHoldings()
        var isConnected = true

        var subscriptions: [String] {
            (Array(holdings.receiving.values.joined()) + holdings.sending.values.joined()).sorted()
        }

        mutating func forget(_ id: String) {
            holdings.receiving = holdings.receiving.mapValues { $0.filter { $0 != id } }
            holdings.sending = holdings.sending.mapValues { $0.filter { $0 != id } }
        }
    }

    private struct Storm {
        var world = NodeWorld(3)
        var random: CountingGenerator
        var actors: [Actor] = []
        var lastSubscription = 0
        var story: [String] = []

        init(seed: Int) {
            random = CountingGenerator(from: UInt64(seed) &* 0x2545_F491_4F6C_DD1D)
        }

        mutating func number(below bound: Int) -> Int {
            // The generator counts in steps: its upper half is what looks random.
            Int((random.next() &* 0xD6E8_FEB8_6659_FD93) >> 33) % bound
        }

        mutating func isChosen(_ percent: Int) -> Bool { number(below: 100) < percent }

        mutating func liveNode() -> Int? {
            let living = world.nodes.indices.filter { !world.killed.contains($0) }
            return living.isEmpty ? nil : living[number(below: living.count)]
        }

        mutating func connectedActor() -> Int? {
            let connected = actors.indices.filter { actors[$0].isConnected }
            return connected.isEmpty ? nil : connected[number(below: connected.count)]
        }

        mutating func step() throws {
            switch number(below: 14) {
            case 0, 1: try join()
            case 2, 3: publish()
            case 4, 5: subscribe()
            case 6: receive()
            case 7: end()
            case 8: leave()
            case 9: lose()
            case 10, 11: try comeBack()
            case 12: world.pass(1 + number(below: 3))
            default: disturb()
            }
            listen()
            for node in world.nodes.indices {
                for answers in [true, false] where isChosen(50) {
                    world.deliver(number(below: 8), to: node, answers: answers)
                }
            }
        }

        mutating func join() throws {
            guard actors.count < 8, let node = liveNode() else { return }
            story.append("join \(node)")
            let (client, who) = try world.enter(node)
            actors.append(Actor(client: client, who: who))
        }

        mutating func publish() {
            guard let actor = connectedActor() else { return }
            let stream = "s\(number(below: 3))"
            if actors[actor].holdings.publishes.contains(stream) {
                story.append("unpublish \(actor) \(stream)")
                actors[actor].holdings.publishes.removeAll { $0 == stream }
                world.say(.unpublish(stream: stream), actors[actor].client)
            } else {
                story.append("publish \(actor) \(stream)")
                actors[actor].holdings.publishes.append(stream)
                world.say(.publish(stream: stream, properties: nil), actors[actor].client)
            }
        }

        mutating func subscribe() {
            guard let actor = connectedActor() else { return }
            let stream = "s\(number(below: 3))"
            lastSubscription += 1
            let id = "subscription-\(1_000_000 + lastSubscription)"
            story.append("subscribe \(actor) \(stream) \(id)")
            actors[actor].holdings.receiving[stream, default: []].append(id)
            world.say(.subscribe(subscription: id, stream: stream, sdp: "o"), actors[actor].client)
        }

        mutating func receive() {
            guard let actor = connectedActor() else { return }
            story.append("receive \(actor)")
            if actors[actor].holdings.receives.isEmpty {
                actors[actor].holdings.receives = ["r"]
                world.say(.receive(stream: "r"), actors[actor].client)
            } else {
                actors[actor].holdings.receives = []
                world.say(.stopReceiving(stream: "r"), actors[actor].client)
            }
        }

        mutating func end() {
            guard let actor = connectedActor(), let id = actors[actor].subscriptions.first else { return }
            story.append("bye \(actor) \(id)")
            actors[actor].forget(id)
            world.say(.bye(subscription: id, reason: .bye), actors[actor].client)
        }

        mutating func leave() {
            guard isChosen(40), let actor = connectedActor() else { return }
            story.append("leave \(actor)")
            world.say(.leave, actors[actor].client)
            world.lose(actors[actor].client)
            actors.remove(at: actor)
        }

        mutating func lose() {
            guard let actor = connectedActor() else { return }
            story.append("lose \(actor)")
            actors[actor].isConnected = false
            world.lose(actors[actor].client)
        }

        mutating func comeBack() throws {
            let lost = actors.indices.filter { !actors[$0].isConnected }
            guard !lost.isEmpty, let node = liveNode() else { return }
            let actor = lost[number(below: lost.count)]
            story.append("resume \(actor) at \(node)")
            var resumption = actors[actor].who
            resumption.holdings = actors[actor].holdings
            let (client, who) = try world.enter(node, resume: resumption)
            (actors[actor].client, actors[actor].who, actors[actor].isConnected) = (client, who, true)
        }

        mutating func disturb() {
            let node = number(below: world.nodes.count)
            if world.killed.contains(node) {
                story.append("restart \(node)")
                world.restart(node)
            } else if !world.isConnected[node] {
                story.append("mend \(node)")
                world.happened(.disconnected, at: node)
                world.mend(node, settles: false)
            } else if isChosen(60) {
                story.append("sever \(node)")
                world.sever(node)
            } else {
                story.append("kill \(node)")
                world.kill(node)
                for actor in actors.indices where actors[actor].client.node == node {
                    actors[actor].isConnected = false
                }
            }
        }

        /// As clients do: what has begun and ended they know from what they are told.
        mutating func listen() {
            for actor in actors.indices {
                for message in world.heard(actors[actor].client) {
                    switch message {
                    case .subscribe(let id, let stream, _):
                        actors[actor].holdings.sending[stream, default: []].append(id)
                    case .subscriptionEnded(let id, _): actors[actor].forget(id)
                    case .error(let error) where error.code == .streamTaken && error.inReplyTo == "publish":
                        let stream = actors[actor].holdings.publishes.first { error.message.contains("\"\($0)\"") }
                        actors[actor].holdings.publishes.removeAll { $0 == stream }
                    case .error(let error) where error.code == .streamTaken: actors[actor].holdings.receives = []
                    case .error(let error):
                        if let id = error.subscription { actors[actor].forget(id) }
                    default: break
                    }
                }
            }
        }

        /// Until nothing is on its way, and nobody is waited for.
        mutating func calm() {
            for node in world.nodes.indices {
                if world.killed.contains(node) { world.restart(node) }
                if !world.isConnected[node] {
                    world.happened(.disconnected, at: node)
                    world.mend(node, settles: false)
                }
            }
            for _ in 0..<40 {
                world.pass(1)
                listen()
            }
        }
    }

    @Test(arguments: 0..<150) func allNodesSayTheSameOnceAllIsQuiet(_ seed: Int) throws {
        var storm = Storm(seed: seed)
        for _ in 0..<120 { try storm.step() }
        storm.calm()
        #expect(Self.faults(storm) == [], "\(storm.story)")
    }

    @Test func debugShortest() throws {
        var best: (Int, String)? = nil
        for seed in 0..<400 {
            for length in 1..<(best?.0 ?? 60) {
                var storm = Storm(seed: seed)
                for _ in 0..<length { try storm.step() }
                storm.calm()
                let faults = Self.faults(storm)
                if !faults.isEmpty {
                    best = (length, "seed \(seed) length \(length): \(faults) STORY \(storm.story)")
                    break
                }
            }
        }
        print("SHORTEST", best as Any)
    }

    private static func faults(_ storm: Storm) -> [String] {
        var faults: [String] = []
        let views = storm.world.nodes.map(View.init)
        for (node, view) in views.enumerated() where view != views[0] {
            faults.append("node \(node) sees \(view), the first \(views[0])")
        }
        let connected = storm.actors.filter(\.isConnected)
        if Set(views[0].participants) != Set(connected.map(\.who.id)) {
            faults.append("\(connected.map(\.who.id)) are there, not \(views[0].participants)")
        }
        for actor in connected {
            let streams = Set(views[0].streams.filter { $0.value == actor.who.id }.map(\.key))
            if streams != Set(actor.holdings.publishes) {
                faults.append("\(actor.who.id) publishes \(actor.holdings.publishes), not \(streams)")
            }
        }
        let live = views[0].streams.reduce(into: [:]) { $0["demo/" + $1.key] = $1.value }
        let names = storm.world.names.mapValues(\.holder)
        if names != live { faults.append("the names are \(names), of \(live)") }
        // Of a subscription both sides know, or none.
        for actor in connected {
            for (stream, ids) in actor.holdings.receiving {
                for id in ids where !connected.contains(where: { $0.holdings.sending[stream]?.contains(id) == true }) {
                    faults.append("nobody sends \(id) to \(actor.who.id)")
                }
            }
            for id in actor.holdings.sending.values.joined()
            where !connected.contains(where: { $0.holdings.receiving.values.joined().contains(id) }) {
                faults.append("nobody receives \(id) of \(actor.who.id)")
            }
        }
        return faults
    }

    /// What one node says of the room.
    private struct View: Equatable {
        var participants: [String]
        var streams: [String: String]
        var receivers: [String]

        init(_ node: NodeWorld.Directory) {
            let room = node.rooms["demo"]
            let name = { (connection: NodeWorld.ConnectionID) in node.participants[connection]?.id ?? "nobody" }
            participants = (room?.participants ?? []).map(name).sorted()
            streams = [:]
            for stream in room?.streams ?? [] { streams[stream.name] = name(stream.publisher) }
            receivers = (room?.receivers ?? []).map { name($0.connection) }.sorted()
        }
    }
}
