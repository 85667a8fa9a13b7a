import EmisoraCore
import EmisoraSignalingProtocol
import Testing

@testable import Emisora

/// What sessions say to each other through a real server.
@Suite(.serialized) struct SignalTests {
    @Test func aSignalComesWithWhoSaidItAndToItsSenderToo() async throws {
        let server = try TestServer()
        let ana = try await server.join()
        let ben = try await server.join()
        try await ana.session.signal(type: "chat", data: "Hello")
        for one in [ana, ben] {
            let signal = try await one.first("the signal comes") { event in
                if case .signalReceived(let signal) = event { signal } else { nil }
            }
            #expect(signal.type == "chat")
            #expect(signal.data == "Hello")
            #expect(signal.sender == (await ana.session.connection))
        }
        // Its sender is somebody who can be answered.
        try await ben.session.signal(data: "To you", to: ben.signals[0].sender)
        try await eventually("the answer comes") { ana.signals.contains { $0.data == "To you" } }
        #expect(ben.signals.count == 1)
        await ana.session.disconnect()
        await ben.session.disconnect()
    }

    @Test func whatCannotBeSentIsSaidAtOnceAndWhatTheServerRefusesAfterwards() async throws {
        let server = try TestServer()
        let ana = try await server.join()
        await #expect(throws: SessionError.invalidSignal(SignalContent(type: "no spaces", data: "").fault ?? "")) {
            try await ana.session.signal(type: "no spaces", data: "")
        }
        let long = String(repeating: "x", count: SignalContent.maximumDataByteCount + 1)
        await #expect(throws: SessionError.self) { try await ana.session.signal(data: long) }
        try await ana.session.signal(data: "", to: Session.Connection(id: "nobody", data: nil))
        let code = try await ana.first("the refusal comes") { event in
            if case .requestRefused("signal", let code, _) = event { code } else { nil }
        }
        #expect(code == "participantNotFound")
        #expect(ana.signals.isEmpty)
        await ana.session.disconnect()
        await #expect(throws: SessionError.self) { try await ana.session.signal(data: "too late") }
    }

    @Test func tooManyAtOnceAreRefusedAndNoneOfTheOthersIsLost() async throws {
        let server = try TestServer()
        let ana = try await server.join()
        var taken = 0
        var refusal: SessionError?
        while refusal == nil, taken < 10_000 {
            refusal = await Self.refusal(of: "\(taken)", by: ana)
            if refusal == nil { taken += 1 }
        }
        guard case .tooManySignals = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(taken >= SignalOutbox.capacity)
        // Those that need not wait come, and the connection stays.
        try await eventually("the first ones come") { ana.signals.count >= Int(SignalOutbox.burst) }
        let numbers = ana.signals.compactMap { Int($0.data) }
        #expect(numbers == Array(0..<numbers.count))
        await ana.session.disconnect()
        let isLost = ana.all { if case .reconnecting = $0 { true } else { nil } }.count
        #expect(isLost == 0)
    }

    @Test func whatIsSaidWhileTheServerIsAwayComesWhenItIsBack() async throws {
        let server = try TestServer()
        let ana = try await server.join()
        let publisher = Publisher(name: "sound", videoCapture: nil, audioCapture: ToneCapture())
        try await ana.session.publish(publisher)
        server.stop()
        _ = try await ana.first("the server is gone") { event in
            if case .reconnecting = event { true } else { nil }
        }
        try await ana.session.signal(data: "one")
        try await ana.session.signal(data: "two")
        publisher.publishesAudio = false
        #expect(ana.signals.isEmpty)
        try server.startAgain()
        try await eventually("both come", within: .seconds(60)) { ana.signals.map(\.data) == ["one", "two"] }
        // So does what has become of the stream meanwhile.
        let ben = try await server.join()
        try await eventually("the stream is back, muted", within: .seconds(60)) {
            await ben.session.roomStreams.first?.hasAudio == false
        }
        for one in [ana, ben] { await one.session.disconnect() }
    }

    private static func refusal(of text: String, by one: Participant) async -> SessionError? {
        do throws(SessionError) {
            try await one.session.signal(data: text)
            return nil
        } catch {
            return error
        }
    }

    /// Each of twenty says five hundred, every fifth to all: 48,000 come to somebody.
    @Test func tenThousandSignalsAmongTwentyClientsComeAllAndInOrder() async throws {
        let count = 20
        let each = 500
        let server = try TestServer()
        var people: [Participant] = []
        for _ in 0..<count { people.append(try await server.join()) }
        var connections: [Session.Connection] = []
        for one in people { connections.append(await one.session.connection) }
        var expected = Array(repeating: [[Int]](repeating: [], count: count), count: count)
        let clock = ContinuousClock()
        let start = clock.now
        for number in 0..<each {
            for sender in 0..<count {
                let toAll = number % 5 == 0
                let recipient = (sender + 1 + number * 7) % count
                for receiver in toAll ? Array(0..<count) : [recipient] { expected[receiver][sender].append(number) }
                try await people[sender].session.signal(
                    type: "count", data: "\(number)", to: toAll ? nil : connections[recipient])
            }
        }
        let total = expected.joined().reduce(0) { $0 + $1.count }
        try await eventually("all of them come", within: .seconds(120)) {
            people.reduce(0) { $0 + $1.signals.count } >= total
        }
        let seconds = (clock.now - start).inSeconds
        for receiver in 0..<count {
            let signals = people[receiver].signals
            for sender in 0..<count {
                let numbers = signals.filter { $0.sender.id == connections[sender].id }.compactMap { Int($0.data) }
                #expect(numbers == expected[receiver][sender])
            }
        }
        print("10,000 signals among \(count) clients, \(total) deliveries: \(seconds.rounded(to: 2)) s")
        for one in people { await one.session.disconnect() }
    }
}

/// When signals leave, in virtual time.
@Suite struct SignalOutboxTests {
    private static func signal(_ number: Int) -> RoutedSignal { RoutedSignal(SignalContent(data: "\(number)")) }

    @Test func manyLeaveAtOnceThenSoManyASecondInTheirOrder() {
        var outbox = SignalOutbox()
        let start = Instant.zero
        for number in 0..<400 { _ = outbox.push(Self.signal(number)) }
        var sent: [RoutedSignal] = []
        while let signal = outbox.poll(now: start) { sent.append(signal) }
        #expect(sent.count == Int(SignalOutbox.burst))
        var now = start
        while let next = outbox.nextDeadline(now: now) {
            #expect(next > now)
            now = next
            let before = sent.count
            while let signal = outbox.poll(now: now) { sent.append(signal) }
            #expect(sent.count == before + 1)
        }
        #expect(sent == (0..<400).map(Self.signal))
        let expected = (400 - SignalOutbox.burst) / SignalOutbox.perSecond
        #expect(abs((now - start).inSeconds - expected) < 0.01)
    }

    @Test func onlySoManyWait() {
        var outbox = SignalOutbox()
        for number in 0..<SignalOutbox.capacity { _ = outbox.push(Self.signal(number)) }
        #expect(outbox.count == SignalOutbox.capacity)
        let isOneMoreTaken = outbox.push(Self.signal(0))
        #expect(!isOneMoreTaken)
        _ = outbox.poll(now: .zero)
        let isTakenNow = outbox.push(Self.signal(0))
        #expect(isTakenNow)
    }

    @Test func aClockThatStandsStillOrAnIdleHourGivesNoMoreThanTheBurst() {
        var outbox = SignalOutbox()
        _ = outbox.push(Self.signal(0))
        _ = outbox.poll(now: .zero)
        let later = Instant.zero + .seconds(3_600)
        for number in 0..<600 { _ = outbox.push(Self.signal(number)) }
        var count = 0
        while outbox.poll(now: later) != nil { count += 1 }
        #expect(count == Int(SignalOutbox.burst))
    }
}

extension Duration {
    fileprivate var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

extension Double {
    fileprivate func rounded(to places: Int) -> Double {
        let factor = places == 2 ? 100.0 : 10.0
        return (self * factor).rounded() / factor
    }
}
