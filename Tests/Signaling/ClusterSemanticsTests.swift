import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// What participants say to each other and of their streams, and what moderators do, across nodes.
@Suite struct ClusterSemanticsTests {
    private static func properties(_ codec: String, hasVideo: Bool = true) -> StreamProperties {
        StreamProperties(hasVideo: hasVideo, hasAudio: true, width: 640, height: 480, codecs: [codec])
    }

    private static func signals(_ messages: [SignalingMessage]) -> [RoutedSignal] {
        messages.compactMap { if case .signal(let signal) = $0 { signal } else { nil } }
    }

    @Test func aSignalToAllReachesEverybodyOnceInItsSendersOrder() throws {
        var world = NodeWorld(3)
        let clients = try [0, 1, 1, 2].map { try world.join($0) }
        for text in ["one", "two"] {
            world.say(.signal(RoutedSignal(SignalContent(type: "chat", data: text))), clients[0].0)
        }
        world.settle()
        for (client, _) in clients {
            let heard = Self.signals(world.heard(client))
            #expect(heard.map(\.content.data) == ["one", "two"])
            #expect(heard.allSatisfy { $0.from == clients[0].1.id && $0.to == nil })
        }
    }

    @Test func aSignalToOneReachesNobodyElse() throws {
        var world = NodeWorld()
        let (sender, who) = try world.join(0)
        let (recipient, named) = try world.join(1)
        let (other, _) = try world.join(1)
        // Who says it is not for the sender to say.
        world.say(.signal(RoutedSignal(SignalContent(data: "psst"), to: named.id, from: "somebody else")), sender)
        world.settle()
        let heard = Self.signals(world.heard(recipient))
        #expect(heard == [RoutedSignal(SignalContent(data: "psst"), to: named.id, from: who.id)])
        #expect(Self.signals(world.heard(other)).isEmpty)
    }

    @Test func whatIsSaidToSomebodyOfALostNodeIsHeardAfterItCameBackElsewhere() throws {
        var world = NodeWorld(3)
        let (sender, _) = try world.join(0)
        let (_, who) = try world.join(2)
        world.kill(2)
        world.pass(6)
        world.say(.signal(RoutedSignal(SignalContent(data: "all"))), sender)
        world.say(.signal(RoutedSignal(SignalContent(data: "you"), to: who.id)), sender)
        world.settle()
        let (again, _) = try world.join(0, resume: who)
        #expect(Self.signals(world.heard(again)).map(\.content.data) == ["all", "you"])
    }

    @Test func aSignalThatFindsNoPlaceOnAnotherNodeIsRefusedToItsSender() throws {
        var world = NodeWorld()
        let (sender, _) = try world.join(0)
        let (recipient, named) = try world.join(1)
        world.say(.signal(RoutedSignal(SignalContent(data: "one"), to: named.id)), sender)
        world.failing = [recipient]
        world.settle()
        #expect(Self.signals(world.heard(recipient)).isEmpty)
        let refusals = world.heard(sender).compactMap { if case .error(let error) = $0 { error } else { nil } }
        #expect(refusals.map(\.code) == [.limitReached])
        #expect(refusals.first?.inReplyTo == "signal")
    }

    @Test func propertiesAndTheirChangesAreKnownEverywhere() throws {
        var world = NodeWorld()
        let (publisher, who) = try world.join(1)
        let (viewer, _) = try world.join(0)
        let (neighbour, _) = try world.join(1)
        world.say(.publish(stream: "camera", properties: Self.properties("VP8")), publisher)
        // While the name is still asked for.
        world.say(.updateStream(stream: "camera", properties: Self.properties("VP8", hasVideo: false)), publisher)
        world.settle()
        let first = StreamDescription(
            stream: "camera", publisher: who.id, properties: Self.properties("VP8", hasVideo: false))
        #expect(world.heard(viewer).last == .streamPublished(first))
        world.say(.updateStream(stream: "camera", properties: Self.properties("H264")), publisher)
        world.settle()
        let second = StreamDescription(stream: "camera", publisher: who.id, properties: Self.properties("H264"))
        for client in [viewer, neighbour] {
            #expect(
                world.heard(client).filter { $0.type == "streamPropertyChanged" } == [.streamPropertyChanged(second)])
        }
        let (late, _) = try world.enter(0)
        guard case .welcome(_, _, _, let streams, _, _)? = world.heard(late).first else {
            Issue.record("no welcome")
            return
        }
        #expect(streams == [second])
    }

    @Test func aPublisherOfAnotherNodeIsAskedToMute() throws {
        var world = NodeWorld()
        let (publisher, _) = try world.join(1)
        let (moderator, who) = try world.join(0)
        for stream in ["camera", "screen"] { world.say(.publish(stream: stream, properties: nil), publisher) }
        world.settle()
        let wish = ForcedMute(stream: nil, media: MediaSelection(video: false, audio: true), reason: "Echo")
        world.say(.forceMute(wish), moderator)
        world.settle()
        let asked = world.heard(publisher).compactMap { if case .muteForced(let mute) = $0 { mute } else { nil } }
        #expect(asked.map(\.stream) == ["camera", "screen"])
        #expect(asked.allSatisfy { $0.by == who.id && $0.reason == "Echo" && $0.media == wish.media })
    }

    @Test(arguments: [false, true]) func whoIsPutOutOfAnotherNodeComesBackToNone(_ isAway: Bool) throws {
        var world = NodeWorld(3)
        let (publisher, who) = try world.join(1)
        world.say(.publish(stream: "camera", properties: nil), publisher)
        let (moderator, named) = try world.join(0)
        if isAway {
            world.kill(1)
            world.pass(6)
        }
        world.say(.forceDisconnect(ForcedDisconnect(id: who.id, reason: "Enough")), moderator)
        world.settle()
        let word = SignalingMessage.forceDisconnected(ForcedDisconnect(id: who.id, reason: "Enough", by: named.id))
        if !isAway { #expect(world.heard(publisher).contains(word)) }
        for node in [0, 2] { #expect(world.streams(at: node).isEmpty) }
        for node in [0, 2] {
            let again = NodeWorld.Client(node: node, connection: world.nodes[node].connect(allowedRoom: "demo"))
            world.say(.join(version: 1, room: "demo", resume: who), again)
            #expect(world.heard(again) == [word])
        }
    }

    @Test func whatAViewerSelectsReachesThePublisherAlsoAfterBothCameElsewhere() throws {
        var (world, publisher, who, viewer) = try ClusterTests.watched(nodes: 3)
        let select = SignalingMessage.select(
            subscription: ClusterTests.subscription, MediaSelection(video: false, audio: true))
        world.say(select, viewer)
        world.settle()
        #expect(world.heard(publisher).last == select)
        world.kill(2)
        world.pass(6)
        let (again, _) = try world.join(1, resume: ClusterTests.resuming(who))
        world.say(select, viewer)
        world.settle()
        #expect(world.heard(again).last == select)
    }
}
