import EmisoraCore
import Glibc
import Testing

@testable import Emisora

/// Many viewers at once, and one that hangs: real calls on the loopback interface.
@Suite(.serialized) struct JoinStormTests {
    /// Small pictures, so that what fifty decoders take of the machine is not what is measured.
    private static func capture() -> PatternCapture { PatternCapture(width: 160, height: 120) }

    private struct Storm: CustomStringConvertible {
        /// How long it takes at the moment where one comes alone.
        var alone: Double
        /// Which part of the machine others left meanwhile.
        var share: Double
        /// From joining to the first picture, sorted.
        var times: [Double]
        /// From the first viewer's first picture to the last one's: a machine that is busy otherwise draws it out.
        var span: Double
        var keyFrames: Int

        var worst: Double { times.last ?? .infinity }
        /// 1.5 s and two key frames, on a machine that gives what is asked of it.
        var isGood: Bool { worst <= 1.5 / share && Double(keyFrames) <= 2 / share }

        var description: String {
            "first picture after \(times[times.count / 2]) s (median), \(worst) s (worst), alone \(alone) s; "
                + "\(keyFrames) key frames in \(span) s; \(share) of the machine was there"
        }
    }

    @Test func fiftyViewersInASecondHaveAPictureSoonAndCostTwoKeyFrames() async throws {
        let (publishing, receiving) = try await Session.loopback()
        try await publishing.publish(Publisher(videoCapture: Self.capture()))
        // What else the machine does at the moment is none of the storm's doing: one of a few has to be good.
        var storms: [Storm] = []
        repeat {
            storms.append(try await Self.storm(publishing, receiving))
        } while storms.count < 3 && !storms.contains { $0.isGood }
        await publishing.disconnect()
        await receiving.disconnect()
        for storm in storms { print("50 viewers: \(storm)") }
        if getenv("EMISORA_NO_TIMING") == nil {
            let isOneGood = storms.contains { $0.isGood }
            #expect(isOneGood)
        }
    }

    /// Fifty come within a second, and go again when all of them have seen something.
    private static func storm(_ publishing: Session, _ receiving: Session) async throws -> Storm {
        let alone = Subscriber(videoSink: Collector())
        try await receiving.subscribe(alone, to: "main")
        try await eventually("one viewer sees a picture") { alone.timeToFirstFrame != nil }
        await receiving.unsubscribe(alone)
        try await eventually("nobody watches") { await publishing.statistics().publishers.first?.subscriberCount == 0 }

        let before = try #require(await publishing.statistics().publishers.first).keyFramesEncoded
        let viewers = (0..<50).map { _ in Subscriber(videoSink: Collector()) }
        let clock = ContinuousClock()
        let start = clock.now
        let machine = try MachineShare()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, viewer) in viewers.enumerated() {
                group.addTask {
                    // They arrive evenly over the second.
                    try await clock.sleep(until: start + .milliseconds(20 * number))
                    try await receiving.subscribe(viewer, to: "main")
                }
            }
            try await group.waitForAll()
        }
        try await eventually("all of them see a picture", within: .seconds(60)) {
            viewers.allSatisfy { $0.timeToFirstFrame != nil }
        }
        let share = try machine.measure()
        let after = try #require(await publishing.statistics().publishers.first).keyFramesEncoded
        let seen = viewers.compactMap { $0.video.statistics.firstFrameDecodedAt }
        let span = try #require(seen.max()) - (try #require(seen.min()))
        for viewer in viewers { await receiving.unsubscribe(viewer) }
        return Storm(
            alone: try #require(alone.timeToFirstFrame).inSeconds, share: share,
            times: viewers.compactMap(\.timeToFirstFrame).map(\.inSeconds).sorted(), span: span.inSeconds,
            keyFrames: Int(after - before))
    }

    @Test func aViewerThatHangsTakesNothingFromSevenOthers() async throws {
        let server = try TestServer()
        let sender = try await server.join()
        let hung = try await server.join()
        let watching = try await server.join()
        let publisher = Publisher(videoCapture: Self.capture())
        try await sender.session.publish(publisher)
        let collectors = (0..<8).map { _ in Collector() }
        let subscribers = collectors.map { Subscriber(videoSink: $0) }
        for (number, subscriber) in subscribers.enumerated() {
            try await (number == 0 ? hung : watching).session.subscribe(subscriber, to: "main")
        }
        try await eventually("all eight see pictures") { collectors.allSatisfy { $0.snapshot.marks.count >= 15 } }

        // Its network thread does nothing any more: it reads no packet and answers none, as a program that was stopped.
        let state = Monitor((isHung: false, isOver: false))
        hung.session.loop.execute {
            state.withLock { $0.isHung = true }
            _ = state.wait(until: .distantFuture) { $0.isOver ? true : nil }
        }
        try await eventually("it hangs") { state.withLock { $0.isHung } }
        let before = await watching.session.statistics().subscribers
        let starts = collectors.map { $0.snapshot.marks.count }
        try await eventually("the others see three seconds more", within: .seconds(60)) {
            collectors.indices.dropFirst().allSatisfy { collectors[$0].snapshot.marks.count >= starts[$0] + 90 }
        }
        let statistics = try #require(await sender.session.statistics().publishers.first)
        let after = await watching.session.statistics().subscribers
        state.withLock { $0.isOver = true }
        state.notifyAll()

        #expect(after.count == 7)
        #expect(after.allSatisfy { $0.packetsLost == 0 })
        #expect(after.map(\.framesDropped) == before.map(\.framesDropped))
        // Whatever one of the seven saw, all of them saw.
        let seen = collectors.indices.dropFirst().map { index in
            Array(collectors[index].snapshot.marks[starts[index]..<(starts[index] + 90)].map(\.frameNumber))
        }
        let from = seen.compactMap(\.first).max() ?? 0
        let to = seen.compactMap(\.last).min() ?? 0
        let common = seen.map { $0.filter { ($0 >= from) && ($0 <= to) } }
        #expect(common.allSatisfy { $0 == common[0] && $0.count > 60 })
        // Nor are fewer made for its sake.
        #expect(statistics.capture.dropped(.adaptation) == 0)
        print(
            "One of eight hangs: the others saw \(collectors[1].snapshot.marks.count - starts[1]) pictures, lost none")
        try await eventually("it comes back") { collectors[0].snapshot.marks.count > starts[0] + 5 }
        for one in [sender, hung, watching] { await one.session.disconnect() }
    }
}
