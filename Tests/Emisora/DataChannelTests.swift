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

    @Test func aSlowReaderHoldsTheSenderBackInsteadOfLosingAnything() async throws {
        let call = try await Call()
        let size = 100_000
        for number in 0..<120 {
            try call.channel.send(.binary([UInt8](repeating: UInt8(number), count: size)))
        }
        // Nobody reads: the window closes before all is sent.
        try await eventually("something waits") { call.channel.bufferedAmount < 120 * size }
        #expect(call.channel.bufferedAmount > 0)
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
