import EmisoraCodecs
import EmisoraSignalingProtocol
import Synchronization
import Testing

@testable import Emisora

/// Streams that change what they have in them, between real sessions through a real server.
@Suite(.serialized) struct MuteTests {
    /// A publisher of pictures and sound, and one who watches.
    private struct Call {
        let server: TestServer
        let sender: Participant
        let receiver: Participant
        let publisher = Publisher(
            name: "camera", videoCapture: PatternCapture(width: 320, height: 240), audioCapture: ToneCapture())
        let subscriber: Subscriber
        let collector = Collector()

        init() async throws {
            server = try TestServer()
            sender = try await server.join()
            receiver = try await server.join()
            subscriber = Subscriber(videoSink: collector, audioSink: collector)
            try await sender.session.publish(publisher)
            try await receiver.session.subscribe(subscriber, to: "camera")
        }

        func end() async {
            for one in [sender, receiver] { await one.session.disconnect() }
        }
    }

    /// What others were told of a stream, newest last.
    private static func changes(_ one: Participant) -> [RoomStream] {
        one.all { if case .streamPropertyChanged(let stream, from: _) = $0 { stream } else { nil } }
    }

    @Test func aStreamSaysWhatItHasInItAndEverybodySeesItChange() async throws {
        let server = try TestServer()
        let viewer = try await server.join()
        let sender = try await server.join()
        let publisher = Publisher(
            name: "camera", videoCapture: PatternCapture(width: 320, height: 240), audioCapture: ToneCapture())
        publisher.publishesAudio = false
        try await sender.session.publish(publisher)
        _ = try await viewer.first("the stream is there") { event in
            if case .streamPublished(name: "camera") = event { true } else { nil }
        }
        let stream = try #require(await viewer.session.roomStreams.first)
        #expect(stream.name == "camera")
        #expect(stream.publisher.id == (await sender.session.connection.id))
        #expect(stream.videoSize == VideoSize(width: 320, height: 240))
        #expect(stream.hasVideo)
        #expect(!stream.hasAudio)
        #expect(stream.codecs == ["VP8", "opus"])

        publisher.publishesVideo = false
        publisher.publishesAudio = true
        try await eventually("both are told") {
            Self.changes(viewer).last.map { !$0.hasVideo && $0.hasAudio } ?? false
        }
        // Another source, which nobody watches: its size and its turn.
        publisher.videoCapture = PatternCapture(width: 640, height: 360)
        publisher.videoRotation = .clockwise90
        publisher.publishesVideo = true
        try await eventually("the other size is told") {
            let last = Self.changes(viewer).last
            return last?.videoSize == VideoSize(width: 640, height: 360) && last?.rotation == .clockwise90
                && last?.hasVideo == true
        }
        // Who comes later is told how it is now, and the publisher what the room was told.
        let late = try await server.join()
        #expect(await late.session.roomStreams == (await viewer.session.roomStreams))
        try await eventually("the publisher hears it, too") { Self.changes(sender).last == Self.changes(viewer).last }
        for one in [viewer, sender, late] { await one.session.disconnect() }
    }

    @Test func mutedPicturesAreNotSentAndTheFirstOneAfterwardsIsAKeyFrame() async throws {
        let call = try await Call()
        let (publisher, subscriber, collector) = (call.publisher, call.subscriber, call.collector)
        try await eventually("pictures and sound come") {
            collector.snapshot.marks.count >= 10 && collector.snapshot.peakLevel > 0.01
        }
        publisher.publishesVideo = false
        // What was being encoded when it was muted, and was made before, may still come.
        try await eventually("pictures are left out") { publisher.captureLedger.dropped(.paused) >= 5 }
        let before = try #require(await call.sender.session.statistics().publishers.first)
        let sound = collector.snapshot.audioFrames
        try await eventually("muted for a while, in which sound goes on") {
            publisher.captureLedger.dropped(.paused) >= 20 && collector.snapshot.audioFrames > sound + 20
        }
        let muted = try #require(await call.sender.session.statistics().publishers.first)
        #expect(muted.framesEncoded == before.framesEncoded)
        #expect(muted.framesSent == before.framesSent)
        let lastMuted = try #require(collector.snapshot.marks.last)

        publisher.publishesVideo = true
        try await eventually("pictures come again") {
            (collector.snapshot.marks.last?.frameNumber ?? 0) > lastMuted.frameNumber
        }
        let after = try #require(await call.sender.session.statistics().publishers.first)
        #expect(after.keyFramesEncoded > muted.keyFramesEncoded)
        // The connection is the same one.
        let ends = call.receiver.all { if case .subscriptionEnded = $0 { true } else { nil } }
        #expect(ends.isEmpty)
        await call.end()
        #expect(publisher.captureLedger.isBalanced)
    }

    @Test func mutedSoundIsSilenceThatTakesNextToNothing() async throws {
        let (sending, receiving) = try await Session.loopback()
        let publisher = Publisher(videoCapture: nil, audioCapture: ToneCapture())
        try await sending.publish(publisher)
        let levels = LevelMeter()
        try await receiving.subscribe(Subscriber(audioSink: levels), to: "main")
        try await eventually("the tone is heard") { levels.last > 0.01 }
        publisher.publishesAudio = false
        let consumer = try #require(publisher.audio).consumer
        // Opus decays into silence before it rests.
        var mutedAt = consumer.ledger.encoded
        try await eventually("half a second is captured") { consumer.ledger.encoded >= mutedAt + 25 }
        #expect(levels.last < 0.001)
        let packets = try #require(await sending.statistics().publishers.first).packetsSent
        mutedAt = consumer.ledger.encoded
        try await eventually("two seconds are captured") { consumer.ledger.encoded >= mutedAt + 100 }
        let sent = try #require(await sending.statistics().publishers.first).packetsSent - packets
        // Each frame would be a packet.
        #expect(sent <= 20)
        publisher.publishesAudio = true
        try await eventually("the tone is heard again") { levels.last > 0.01 }
        await sending.disconnect()
        await receiving.disconnect()
    }

    @Test func whoSubscribesToNoPicturesIsSentNoneAndTheConnectionStays() async throws {
        let call = try await Call()
        let (publisher, subscriber, collector) = (call.publisher, call.subscriber, call.collector)
        try await eventually("pictures come") { collector.snapshot.marks.count >= 5 }
        subscriber.subscribesToVideo = false
        // Nobody else watches: nothing is encoded any more.
        try await eventually("the encoder rests") { publisher.captureLedger.dropped(.noSubscribers) >= 20 }
        let pictures = collector.snapshot.frames
        let sound = collector.snapshot.audioFrames
        try await eventually("sound goes on") { collector.snapshot.audioFrames > sound + 20 }
        #expect(collector.snapshot.frames == pictures)

        subscriber.subscribesToAudio = false
        subscriber.subscribesToVideo = true
        try await eventually("pictures come again") { collector.snapshot.frames > pictures + 5 }
        let silence = collector.snapshot.audioFrames
        let later = collector.snapshot.frames
        try await eventually("pictures go on") { collector.snapshot.frames > later + 10 }
        #expect(collector.snapshot.audioFrames <= silence + 1)
        let ends = call.receiver.all { if case .subscriptionEnded = $0 { true } else { nil } }
        #expect(ends.isEmpty)
        await call.end()
    }

    @Test func aSubscriberThatWantsNoPicturesCostsOthersNone() async throws {
        let (sending, receiving) = try await Session.loopback()
        let publisher = Publisher(videoCapture: PatternCapture(width: 320, height: 240))
        try await sending.publish(publisher)
        let watched = Collector()
        let other = Collector()
        let blind = Subscriber(videoSink: other)
        blind.subscribesToVideo = false
        try await receiving.subscribe(Subscriber(videoSink: watched), to: "main")
        try await receiving.subscribe(blind, to: "main")
        try await eventually("both are connected") {
            await sending.statistics().publishers.first?.subscriberCount == 2
        }
        let start = watched.snapshot.frames
        try await eventually("the other one sees pictures") { watched.snapshot.frames > start + 20 }
        #expect(other.snapshot.frames == 0)
        let ledgers = try #require(await sending.statistics().publishers.first).delivery
        let paused = ledgers.map { $0.notSent(.paused) }.max() ?? 0
        #expect(paused >= 10)
        blind.subscribesToVideo = true
        try await eventually("it sees pictures, too") { other.snapshot.frames >= 3 }
        await sending.disconnect()
        await receiving.disconnect()
    }

    @Test func aPublisherOfSoundAloneOrPicturesAlonePublishesThat() async throws {
        let (sending, receiving) = try await Session.loopback()
        try await sending.publish(Publisher(name: "sound", videoCapture: nil, audioCapture: ToneCapture()))
        try await sending.publish(
            Publisher(name: "pictures", videoCapture: PatternCapture(width: 320, height: 240)))
        let sound = Collector()
        let pictures = Collector()
        try await receiving.subscribe(Subscriber(videoSink: sound, audioSink: sound), to: "sound")
        try await receiving.subscribe(Subscriber(videoSink: pictures, audioSink: pictures), to: "pictures")
        try await eventually("sound comes") { sound.snapshot.peakLevel > 0.01 }
        try await eventually("pictures come") { pictures.snapshot.marks.count >= 5 }
        #expect(sound.snapshot.frames == 0)
        #expect(pictures.snapshot.peakLevel == 0)
        let streams = await receiving.roomStreams
        #expect(streams.map(\.hasVideo) == [false, true])
        #expect(streams.map(\.hasAudio) == [true, false])
        #expect(streams.map(\.codecs) == [["opus"], ["VP8"]])
        await sending.disconnect()
        await receiving.disconnect()
    }

    /// Only its line to the server broke: two seconds without a picture are no sign of its end.
    @Test func aStreamWithoutPicturesOutlivesItsPublishersLineToTheServer() async throws {
        let (sending, receiving) = try await Session.loopback()
        let receiver = Participant(receiving)
        try await sending.publish(Publisher(videoCapture: nil, audioCapture: ToneCapture()))
        let collector = Collector()
        try await receiving.subscribe(Subscriber(audioSink: collector), to: "main")
        try await eventually("sound comes") { collector.snapshot.peakLevel > 0.01 }
        let core = await receiving.core
        receiving.loop.execute {
            for id in core.subscriptions.keys {
                core.subscriptions[id]?.isSignalingLost = true
                core.watchForSilence(id)
            }
        }
        let before = collector.snapshot.audioFrames
        try await eventually("sound goes on for three seconds") { collector.snapshot.audioFrames > before + 150 }
        let ends = receiver.all { if case .subscriptionEnded = $0 { true } else { nil } }
        #expect(ends.isEmpty)
        // But silence is.
        sending.loop.stop()
        _ = try await receiver.first("the end") { event in
            if case .subscriptionEnded = event { true } else { nil }
        }
        await receiving.disconnect()
    }

    /// How loud what is heard is.
    private final class LevelMeter: AudioFrameSink {
        private let state = Mutex(0.0)

        func receive(_ frame: AudioFrame) {
            let level = frame.level
            state.withLock { $0 = level }
        }

        var last: Double { state.withLock { $0 } }
    }
}
