import Emisora
import Testing

/// Data channels between two sessions of one process, over real ICE and DTLS.
@Suite(.serialized) struct DataChannelTests {
    /// A publisher that takes channels and a subscriber that opened one, with both of its ends.
    struct Call {
        let publishing: Session
        let receiving: Session
        let publisher: Publisher
        let subscriber: Subscriber
        let channel: DataChannel
        let remote: DataChannel

        init(offerer: Offerer = .publisher, options: DataChannel.Options = DataChannel.Options()) async throws {
            (publishing, receiving) = try await Session.loopback()
            publisher = Publisher(
                name: "robot", videoCapture: PatternCapture(width: 160, height: 120),
                options: .init(usesDataChannels: true))
            try await publishing.publish(publisher)
            subscriber = Subscriber()
            channel = try subscriber.makeDataChannel(label: "steering", options: options)
            try await receiving.subscribe(subscriber, to: "robot", offerer: offerer)
            var incoming = publisher.dataChannels.makeAsyncIterator()
            remote = try #require(await incoming.next())
            try await channel.opened()
        }

        func end() async {
            await publishing.disconnect()
            await receiving.disconnect()
        }
    }

    @Test(arguments: Offerer.allCases)
    func messagesGoBothWaysWhoeverOffers(offerer: Offerer) async throws {
        let options = DataChannel.Options(isOrdered: false, maxPacketLifeTime: .seconds(2), subprotocol: "json")
        let call = try await Call(offerer: offerer, options: options)
        #expect(call.remote.label == "steering")
        #expect(call.remote.options == options)
        #expect(call.channel.maximumMessageSize == 262_144)
        try call.channel.send(.text("left"))
        var received = call.remote.messages.makeAsyncIterator()
        #expect(await received.next() == .text("left"))
        try call.remote.send(.binary([0, 255]))
        var answers = call.channel.messages.makeAsyncIterator()
        #expect(await answers.next() == .binary([0, 255]))
        await call.end()
        #expect(await answers.next() == nil)
        #expect(call.channel.readyState == .closed)
        #expect(throws: DataChannel.Failure.notOpen(.closed)) { try call.channel.send(.text("too late")) }
    }

    @Test func aPublisherTellsItsViewersChannelsApart() async throws {
        let call = try await Call()
        #expect(try Subscriber().makeDataChannel(label: "early").connectionID == nil)
        let other = Subscriber()
        _ = try other.makeDataChannel(label: "of another")
        var incoming = call.publisher.dataChannels.makeAsyncIterator()
        try await call.receiving.subscribe(other, to: "robot")
        let stranger = try #require(await incoming.next())
        _ = try call.subscriber.makeDataChannel(label: "second")
        let second = try #require(await incoming.next())
        let connection = try #require(call.remote.connectionID)
        #expect([stranger.label, second.label] == ["of another", "second"])
        #expect(second.connectionID == connection)
        #expect(stranger.connectionID != nil && stranger.connectionID != connection)
        #expect(call.channel.connectionID == connection, "both sides call it the same")
        await call.end()
    }

    @Test func aSlowReaderHoldsTheSenderBackInsteadOfLosingAnything() async throws {
        let call = try await Call()
        let size = 100_000
        for number in 0..<120 {
            try call.channel.send(.binary([UInt8](repeating: UInt8(number), count: size)))
        }
        // Nobody reads: the window closes before all is sent.
        var (before, still) = (-1, 0)
        try await eventually("nothing more goes") {
            let now = call.channel.bufferedAmount
            still = now == before && now < 120 * size ? still + 1 : 0
            before = now
            return still >= 100
        }
        #expect(call.channel.bufferedAmount > 60 * size)
        var number = 0
        for await message in call.remote.messages {
            #expect(message == .binary([UInt8](repeating: UInt8(number), count: size)))
            number += 1
            if number == 120 { break }
        }
        await call.channel.bufferedAmountLow()
        #expect(call.channel.bufferedAmount == 0)
        #expect(throws: DataChannel.Failure.messageTooLarge(byteCount: 262_145, limit: 262_144)) {
            try call.channel.send(.binary([UInt8](repeating: 0, count: 262_145)))
        }
        await call.end()
    }

    @Test func aChannelThatOneSideClosesIsClosedForBothAndOthersGoOn() async throws {
        let call = try await Call()
        let second = try call.subscriber.makeDataChannel(label: "second")
        try await second.opened()
        call.remote.close()
        try await eventually("both ends are closed") {
            call.channel.readyState == .closed && call.remote.readyState == .closed
        }
        var incoming = call.publisher.dataChannels.makeAsyncIterator()
        let remote = try #require(await incoming.next())
        try second.send(.text("still here"))
        var received = remote.messages.makeAsyncIterator()
        #expect(await received.next() == .text("still here"))
        await call.end()
    }

    @Test func closingAChannelThatNobodyReadsLetsOthersGoOn() async throws {
        let call = try await Call()
        let second = try call.subscriber.makeDataChannel(label: "second")
        try await second.opened()
        let (count, size) = (120, 100_000)
        for _ in 0..<count { try call.channel.send(.binary([UInt8](repeating: 7, count: size))) }
        // More has gone than is kept unread: with what the closing overtakes it stops the reading.
        try await eventually("the reader has enough") { call.channel.bufferedAmount < count * size - 1_300_000 }
        call.remote.close()
        try second.send(.text("still here"))
        var incoming = call.publisher.dataChannels.makeAsyncIterator()
        let remote = try #require(await incoming.next())
        try await eventually("both ends are closed") {
            call.channel.readyState == .closed && call.remote.readyState == .closed
        }
        try #require(call.remote.readyState == .closed)
        var dropped = call.remote.messages.makeAsyncIterator()
        #expect(await dropped.next() == nil)
        var received = remote.messages.makeAsyncIterator()
        #expect(await received.next() == .text("still here"))
        await call.end()
    }

    @Test func whatAPeerSaidBeforeItClosedCanStillBeRead() async throws {
        let call = try await Call()
        try call.channel.send(.text("last words"))
        call.channel.close()
        try await eventually("it is closed") { call.remote.readyState == .closed }
        call.remote.close()
        var received = call.remote.messages.makeAsyncIterator()
        #expect(await received.next() == .text("last words"))
        #expect(await received.next() == nil)
        await call.end()
    }

    @Test func channelsThatNobodyTookAreClosedOnceThereAreTooMany() async throws {
        let call = try await Call()
        let more = try (0..<66).map { try call.subscriber.makeDataChannel(label: "\($0)") }
        try await eventually("the oldest two are closed") { more[0...1].allSatisfy { $0.readyState == .closed } }
        #expect(more[2...].allSatisfy { $0.readyState == .open })
        await call.end()
    }

    @Test func aSubscriberInUseKeepsItsChannelsWhenItIsSubscribedAgain() async throws {
        let call = try await Call()
        await #expect(throws: SessionError.self) {
            try await call.receiving.subscribe(call.subscriber, to: "robot")
        }
        let second = try call.subscriber.makeDataChannel(label: "second")
        try await second.opened()
        await call.end()
    }

    @Test func aPublisherWithoutDataChannelsRefusesThemAndItsMediaGoOn() async throws {
        let (publishing, receiving) = try await Session.loopback()
        try await publishing.publish(
            Publisher(name: "main", videoCapture: PatternCapture(width: 160, height: 120)))
        let collector = Collector()
        let subscriber = Subscriber(videoSink: collector)
        let channel = try subscriber.makeDataChannel(label: "steering")
        try await receiving.subscribe(subscriber, to: "main", offerer: .subscriber)
        await #expect(throws: DataChannel.Failure.closed(reason: "The peer takes no data channels.")) {
            try await channel.opened()
        }
        try await eventually("pictures arrive") { collector.snapshot.marks.count >= 3 }
        await publishing.disconnect()
        await receiving.disconnect()
    }
}
