import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

@Suite struct ClusterTests {
    static let subscription = "0123456789abcdef"

    /// A publisher of `camera` on the last node, and a viewer on the first that has its answer.
    static func watched(nodes: Int = 2) throws -> (NodeWorld, NodeWorld.Client, SessionResumption, NodeWorld.Client) {
        var world = NodeWorld(nodes)
        let (publisher, who) = try world.join(nodes - 1)
        world.say(.publish(stream: "camera", properties: nil), publisher)
        world.settle()
        let (viewer, _) = try world.join(0)
        let subscribe = SignalingMessage.subscribe(subscription: subscription, stream: "camera", sdp: "o")
        world.say(subscribe, viewer)
        world.settle()
        #expect(world.heard(publisher).last == subscribe)
        let answer = SignalingMessage.answer(subscription: subscription, sdp: "a")
        world.say(answer, publisher)
        world.settle()
        #expect(world.heard(viewer).last == answer)
        return (world, publisher, who, viewer)
    }

    static func resuming(_ who: SessionResumption) -> SessionResumption {
        var resumption = who
        var holdings = SessionHoldings()
        holdings.publishes = ["camera"]
        holdings.sending = ["camera": [subscription]]
        resumption.holdings = holdings
        return resumption
    }

    static func candidatesGoBothWays(_ world: inout NodeWorld, _ one: NodeWorld.Client, _ other: NodeWorld.Client) {
        let candidate = SignalingMessage.candidate(subscription: subscription, candidate: .endOfCandidates)
        for (from, to) in [(one, other), (other, one)] {
            world.say(candidate, from)
            world.settle()
            #expect(world.heard(to).last == candidate)
        }
    }

    @Test func endsGoAcross() throws {
        for isViewers in [true, false] {
            var (world, publisher, _, viewer) = try Self.watched()
            world.say(.leave, isViewers ? viewer : publisher)
            world.settle()
            let left = SignalingMessage.subscriptionEnded(subscription: Self.subscription, reason: .left)
            #expect(world.heard(isViewers ? publisher : viewer).filter { $0 == left }.count == 1)
            #expect(world.streams(at: 0) == (isViewers ? ["camera"] : []))
        }
    }

    @Test func ofTwoThatPublishANameAtOnceOneHasIt() throws {
        var world = NodeWorld()
        let (one, _) = try world.join(0)
        let (other, _) = try world.join(1)
        world.say(.publish(stream: "camera", properties: nil), one)
        world.say(.publish(stream: "camera", properties: nil), other)
        world.settle()
        #expect(world.heard(other).contains { if case .error(let e) = $0 { e.code == .streamTaken } else { false } })
        #expect(world.streams(at: 0) == ["camera"])
        #expect(world.streams(at: 1) == ["camera"])
        world.say(.unpublish(stream: "camera"), one)
        world.settle()
        world.say(.publish(stream: "camera", properties: nil), other)
        world.settle()
        #expect(world.streams(at: 0) == ["camera"])
    }

    @Test func whatIsSaidTwiceWhileItWaitsIsTakenBackByOneWord() throws {
        var world = NodeWorld()
        let (one, _) = try world.join(0)
        for _ in 0..<2 { world.say(.publish(stream: "camera", properties: nil), one) }
        world.say(.unpublish(stream: "camera"), one)
        world.settle()
        #expect(world.streams(at: 0) == [] && world.streams(at: 1) == [])
    }

    @Test func aLostNodesPublisherIsWaitedForAndResumesElsewhere() throws {
        var (world, _, who, viewer) = try Self.watched(nodes: 3)
        world.kill(2)
        world.pass(6)
        #expect(world.streams(at: 0) == ["camera"])
        #expect(world.heard(viewer).isEmpty)
        let (again, _) = try world.join(1, resume: Self.resuming(who))
        world.settle()
        #expect(world.streams(at: 0) == ["camera"])
        Self.candidatesGoBothWays(&world, viewer, again)
        world.pass(20)
        #expect(!world.heard(viewer).contains { $0.type == "subscriptionEnded" })
    }

    @Test func aLostNodesPublisherThatStaysAwayIsGoneAfterTheGrace() throws {
        var (world, _, _, viewer) = try Self.watched()
        world.kill(1)
        world.pass(20)
        #expect(
            world.heard(viewer).contains(.subscriptionEnded(subscription: Self.subscription, reason: .signalingLost)))
        #expect(world.streams(at: 0).isEmpty)
        #expect(world.names.isEmpty)
    }

    @Test func whoResumesOnAnotherNodeWhileTheOldOneLivesIsTakenOver() throws {
        var (world, publisher, who, viewer) = try Self.watched(nodes: 3)
        let (again, _) = try world.join(1, resume: Self.resuming(who))
        world.settle()
        #expect(world.heard(publisher).contains { if case .error(let e) = $0 { e.code == .takenOver } else { false } })
        #expect(world.streams(at: 2) == ["camera"])
        Self.candidatesGoBothWays(&world, viewer, again)
    }

    @Test func aPartitionHealsAndOfTwoStreamsOfOneNameOneIsLeft() throws {
        var (world, publisher, _, viewer) = try Self.watched()
        world.cut(0)
        world.cut(1)
        world.pass(30)
        #expect(world.heard(viewer).isEmpty)
        world.say(.publish(stream: "other", properties: nil), viewer)
        world.say(.publish(stream: "other", properties: nil), publisher)
        #expect(world.streams(at: 0) == ["camera", "other"])
        world.mend(0)
        world.mend(1)
        #expect(world.streams(at: 0).sorted() == ["camera", "other"])
        #expect(world.streams(at: 1).sorted() == ["camera", "other"])
        let heard = world.heard(publisher)
        #expect(heard.contains { if case .error(let e) = $0 { e.code == .streamTaken } else { false } })
        #expect(world.names.count == 2)
        Self.candidatesGoBothWays(&world, viewer, publisher)
    }

    @Test func whatWasSaidToAnUnreachableNodeArrivesAfterwards() throws {
        var (world, publisher, _, viewer) = try Self.watched()
        world.cut(0)
        let second = SignalingMessage.subscribe(subscription: Self.subscription + "1", stream: "camera", sdp: "o")
        world.say(second, viewer)
        world.mend(0)
        #expect(world.heard(publisher).contains(second))
    }

    @Test func nonsenseOnTheBusChangesNothing() throws {
        var (world, publisher, _, viewer) = try Self.watched()
        let texts = [
            "", "{", "[]", #"{"version":1}"#, #"{"version":2,"node":"node-0123456789-7","type":"hello"}"#,
            #"{"version":1,"node":"x","type":"hello"}"#, #"{"version":1,"node":"node-0123456789-7","type":"member"}"#,
            #"{"version":1,"node":"node-0123456789-7","type":"left","id":"\#(Self.subscription)"}"#,
            #"{"version":1,"node":"node-0123456789-7","type":"member","member":{"id":"0123456789abcdef0","room":"a b","#
                + #""streams":[],"receives":[],"isAway":false}}"#,
        ]
        for text in texts { world.happened(.received(Array(text.utf8)), at: 0) }
        world.happened(.received(Array(repeating: 0x7B, count: 1 << 20)), at: 0)
        world.happened(.claimed(ticket: 4711, isOurs: true), at: 0)
        world.settle()
        #expect(world.streams(at: 0) == ["camera"])
        Self.candidatesGoBothWays(&world, viewer, publisher)
    }
}
