import EmisoraCore
import EmisoraSTUN
import EmisoraSimulation
import EmisoraTURN
import Testing

/// What all that share a pacer owe the network, and how long they wait for answers.
@Suite struct PacingTests {
    @Test("RFC 8445 §14.2: new STUN and TURN transactions are 5 ms apart in the whole process", arguments: 1...5)
    func gatheringAndChecksOfTwoSessionsTakeTurns(seed: UInt64) throws {
        let duel = RelayedDuel(seed: seed, left: .symmetric, right: .symmetric, pacer: TransactionPacer())
        var begun: [Instant] = []
        var known: Set<STUNTransactionID> = []
        var methods: Set<UInt16> = []
        duel.simulation.filter = { side, bytes in
            guard side != .server, let message = try? STUNMessage(parsing: bytes),
                message.type.messageClass == .request, known.insert(message.transactionID).inserted
            else { return true }
            begun.append(duel.simulation.now)
            methods.insert(message.type.method)
            return true
        }
        duel.introduce()
        #expect(duel.run(.seconds(3)) { duel.areConnected })
        // Each side: one question, an allocation with and without proof, a permission and checks at least.
        #expect(begun.count >= 12)
        #expect(methods.count >= 3)
        #expect(zip(begun, begun.dropFirst()).allSatisfy { $1 - $0 >= .milliseconds(5) })
        // Nobody waits for longer than for its turn.
        #expect(duel.simulation.now - .zero < .milliseconds(2_200))
    }

    @Test("RFC 8445 §14.3: the first RTO grows with what shares the pacer, and ends with it")
    func theFirstTimeoutCountsAllThatWait() {
        let pacer = TransactionPacer()
        #expect(pacer.initialTimeout == .milliseconds(500))
        let first = TransactionPacer.Line(pacer)
        first.update(100)
        #expect(pacer.initialTimeout == .milliseconds(500))
        var second: TransactionPacer.Line? = TransactionPacer.Line(pacer)
        second?.update(80)
        #expect(pacer.initialTimeout == .milliseconds(900))
        second?.update(10_000)
        #expect(pacer.initialTimeout == .seconds(3))
        second = nil
        #expect(pacer.initialTimeout == .milliseconds(500))
        first.update(140)
        #expect(pacer.initialTimeout == .milliseconds(700))
    }

    @Test("RFC 8489 §6.2.1, RFC 6298 §2: the timeout follows the round trip, never below 500 ms")
    func theTimeoutFollowsTheRoundTrip() {
        var near = STUNRoundTrip()
        #expect(near.timeout == nil)
        near.add(.milliseconds(20))
        #expect(near.timeout == .milliseconds(500))
        var far = STUNRoundTrip()
        far.add(.milliseconds(400))
        #expect(far.timeout == .milliseconds(1_200))
        far.add(.milliseconds(400))
        #expect(far.timeout == .milliseconds(1_000))
        far.add(.milliseconds(800))
        #expect(far.timeout == .milliseconds(450 + 4 * 212.5))
        far.add(.seconds(60))
        #expect(far.timeout == .seconds(3))
    }

    @Test("RFC 8489 §6.2.1: after a STUN server's first answer the RTO is the measured one")
    func theSecondQuestionToAServerIsRepeatedByTheMeasuredRoundTrip() throws {
        let pacer = TransactionPacer()
        let others = TransactionPacer.Line(pacer)
        others.update(300)
        var binding = STUNBinding(
            local: Addresses.left, server: Addresses.server, pacer: pacer, random: RandomSource(SeededRandom(1)))
        var now = Instant.zero + .seconds(1)
        var sent: [(at: Instant, bytes: [UInt8])] = []
        func poll() { sent += drain { binding.pollTransmit(into: &$0, now: now) }.map { (now, $0.bytes) } }
        func next() throws {
            now = try #require(binding.nextDeadline)
            binding.handleTimeout(now: now)
            poll()
        }
        func answer(after delay: Duration) throws {
            now = now + delay
            let id = try parse(#require(sent.last).bytes).transactionID
            let bytes = try success(id)
            let isTaken = binding.handle(datagram: bytes.span.bytes, from: Addresses.server, now: now)
            #expect(isTaken)
        }
        binding.start(now: now)
        poll()
        try next()
        #expect(sent[1].at - sent[0].at == .milliseconds(1_500))
        // An answer to a repeated question measures nothing (Karn).
        try answer(after: .milliseconds(50))
        try next()
        try next()
        #expect(sent[3].at - sent[2].at == .milliseconds(1_500))
        try answer(after: .milliseconds(50))
        try next()
        try answer(after: .milliseconds(50))
        try next()
        try next()
        #expect(sent.count == 7)
        #expect(sent[6].at - sent[5].at == .milliseconds(500))
    }

    @Test("RFC 8489 §6.2.1: after a TURN server's first answer the RTO is the measured one")
    func requestsToATURNServerAreRepeatedByTheMeasuredRoundTrip() {
        let pacer = TransactionPacer()
        let others = TransactionPacer.Line(pacer)
        others.update(300)
        let pair = ClientAndServer(pacer: pacer)
        pair.isConnected = false
        pair.start()
        #expect(pair.client.nextDeadline.map { $0 - pair.now } == .milliseconds(1_500))
        let other = ClientAndServer(pacer: pacer)
        other.start()
        other.isConnected = false
        other.client.verify(now: other.now)
        other.exchange()
        #expect(other.client.nextDeadline.map { $0 - other.now } == .milliseconds(500))
    }

    private func success(_ id: STUNTransactionID) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 128)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        var builder = try STUNMessageBuilder(&raw, type: STUNMessageType(.success), transactionID: id)
        try builder.add(xorMappedAddress: SocketAddress(ip: Addresses.leftNAT, port: 40_000))
        let byteCount = try builder.finish(key: nil)
        return Array(buffer[..<byteCount])
    }
}
