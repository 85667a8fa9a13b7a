import EmisoraCore
import EmisoraCrypto
import EmisoraDTLS
import EmisoraICE
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSDP
import EmisoraSTUN
import EmisoraSimulation
import Testing

@Suite struct PeerEngineTests {
    static let leftAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 5_000)
    static let rightAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0202), port: 6_000)
    static let wallClock = WallClock(unixNanosecondsAtZero: 1_700_000_000_000_000_000)

    static func configuration(_ address: SocketAddress, sends: Bool) -> PeerConfiguration {
        PeerConfiguration(
            media: [.init(.audio, sends: sends, receives: !sends), .init(.video, sends: sends, receives: !sends)],
            wallClock: wallClock, localAddresses: [address])
    }

    /// A sender (left) and a receiver (right), described to each other; the receiver offers unless told otherwise.
    static func pair<Security: TransportSecurity>(
        seed: UInt64, senderOffers: Bool = false, security: () throws -> Security
    ) throws -> (sender: PeerEngine<Security>, receiver: PeerEngine<Security>) {
        let start = Instant.zero + .seconds(1)
        let sender = PeerEngine(
            configuration: configuration(leftAddress, sends: true), security: try security(), pacer: TransactionPacer(),
            random: RandomSource(SeededRandom(seed)), now: start)
        let receiver = PeerEngine(
            configuration: configuration(rightAddress, sends: false), security: try security(),
            pacer: TransactionPacer(),
            random: RandomSource(SeededRandom(seed &+ 1_000)), now: start)
        // Frames here are of a fixed size: the path carries them.
        sender.setMaximumBitrate(.kilobitsPerSecond(5_000), start: .kilobitsPerSecond(5_000), now: start)
        if senderOffers {
            let answer = try receiver.answer(offer: try sender.makeOffer(), now: start)
            try sender.setRemoteAnswer(answer, now: start)
        } else {
            let answer = try sender.answer(offer: try receiver.makeOffer(), now: start)
            try receiver.setRemoteAnswer(answer, now: start)
        }
        return (sender, receiver)
    }

    static func frame(_ number: Int, isKeyFrame: Bool, byteCount: Int = 5_000) throws -> PacketizedFrame {
        var payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: byteCount)
        // A VP8 frame header: bit 0 is 0 for key frames.
        payload[0] = isKeyFrame ? 0x10 : 0x11
        payload[1] = UInt8(truncatingIfNeeded: number >> 8)
        return try VP8Packetizer.packetize(
            payload: payload, isKeyFrame: isKeyFrame, pictureID: UInt16(number & 0x7FFF),
            maxPayloadSize: PeerEngine<NullSecurity>.maximumPayloadByteCount)
    }

    /// Sends a frame every 33 ms for that long, a key frame whenever the peer needs one; gives what arrived.
    static func stream<Security>(
        _ simulation: Simulation, _ sender: PeerEngine<Security>, _ receiver: PeerEngine<Security>, frames: Int
    ) throws -> [ReceivedFrame] {
        var received: [ReceivedFrame] = []
        var wantsKeyFrame = true
        var number = 0
        func tick(_ now: Instant) {
            while let event = sender.pollEvent() { if event == .keyFrameNeeded { wantsKeyFrame = true } }
            if let frame = try? frame(number, isKeyFrame: wantsKeyFrame),
                sender.sendVideo(frame, captureTime: now, now: now) == .queued, frame.isKeyFrame
            {
                wantsKeyFrame = false
            }
            number += 1
            if number < frames { simulation.schedule(at: now + .milliseconds(33), tick) }
        }
        simulation.schedule(at: simulation.now, tick)
        simulation.run(until: simulation.now + .milliseconds(33 * (frames + 30))) {
            while let frame = receiver.pollVideoFrame(now: simulation.now) { received.append(frame) }
            return false
        }
        return received
    }

    @Test(arguments: [false, true])
    func twoPeersConnectThroughRealDTLSAndFramesArriveWhole(senderOffers: Bool) throws {
        var random = SecureRandom()
        let left = try Certificate(unixTime: 1_700_000_000, using: &random)
        let context = try DTLSContext(certificate: left)
        let (sender, receiver) = try Self.pair(seed: 1, senderOffers: senderOffers) {
            try DTLSSRTPSecurity(context: context)
        }
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 1)
        #expect(
            simulation.run(until: simulation.now + .seconds(5)) {
                sender.connectionState == .connected && receiver.connectionState == .connected
            })
        #expect(sender.statistics.security.srtpCipher == "SRTP_AEAD_AES_128_GCM")
        let received = try Self.stream(simulation, sender, receiver, frames: 60)
        #expect(received.count == 60)
        #expect(received.first?.isKeyFrame == true)
        #expect(received.allSatisfy { $0.payload.count == 5_000 })
        sender.close()
        simulation.run(until: simulation.now + .seconds(1)) { receiver.connectionState == .closed }
        #expect(receiver.connectionState == .closed)
    }

    @Test(arguments: UInt64(1)...20)
    func framesArriveInOrderThroughLossReorderingAndDuplication(seed: UInt64) throws {
        let (sender, receiver) = try Self.pair(seed: seed) { NullSecurity() }
        var conditions = SimulatedLink.Conditions()
        conditions.delay = .milliseconds(20)
        conditions.jitter = .milliseconds(8)
        conditions.loss = 0.03
        conditions.duplication = 0.02
        conditions.reordering = 0.02
        let simulation = Simulation(sender, receiver, conditions: conditions, seed: seed)
        #expect(
            simulation.run(until: simulation.now + .seconds(10)) {
                sender.connectionState == .connected && receiver.connectionState == .connected
            })
        let received = try Self.stream(simulation, sender, receiver, frames: 300)
        let timestamps = received.map { Int64($0.firstSequenceNumber) }
        #expect(timestamps == timestamps.sorted())
        #expect(received.count >= 290)
        #expect(sender.statistics.outboundVideo?.retransmittedPacketsSent ?? 0 > 0)
        // The path's own round trip, as the receiver's reports tell it.
        let roundTrip = try #require(sender.statistics.remoteInboundVideo?.roundTripTime)
        #expect((0.04...0.09).contains(roundTrip))
    }

    @Test func theSameSeedGivesTheSameTraceByteForByte() throws {
        func hash(seed: UInt64) throws -> UInt64 {
            let (sender, receiver) = try Self.pair(seed: seed) { NullSecurity() }
            var conditions = SimulatedLink.Conditions()
            conditions.loss = 0.1
            conditions.jitter = .milliseconds(15)
            let simulation = Simulation(sender, receiver, conditions: conditions, seed: seed)
            _ = try Self.stream(simulation, sender, receiver, frames: 100)
            return simulation.traceHash
        }
        #expect(try hash(seed: 7) == hash(seed: 7))
        #expect(try hash(seed: 7) != hash(seed: 8))
    }

    @Test("RFC 8445 §9: media flows through an ICE restart by either side", arguments: [false, true])
    func mediaFlowsThroughAnICERestartByEitherSide(byTheSender: Bool) throws {
        let (sender, receiver) = try Self.pair(seed: 6) { NullSecurity() }
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 6)
        #expect(simulation.run(until: simulation.now + .seconds(5)) { sender.connectionState == .connected })
        let before = try #require(sender.statistics.ice.requestsSent)
        func ufrag(_ description: String) -> Substring? {
            description.split(separator: "\r\n").first { $0.hasPrefix("a=ice-ufrag:") }
        }
        var ufrags: Set<Substring?> = []
        simulation.schedule(at: simulation.now + .seconds(1)) { now in
            let (restarting, other) = byTheSender ? (sender, receiver) : (receiver, sender)
            guard let plain = try? restarting.makeOffer(), let offer = try? restarting.makeOffer(iceRestart: true),
                let answer = try? other.answer(offer: offer, now: now)
            else { return }
            ufrags = [ufrag(plain), ufrag(offer), ufrag(answer)]
            // The answer is on its way for half a second, during which media needs the old path.
            simulation.schedule(at: now + .milliseconds(500)) { later in
                try? restarting.setRemoteAnswer(answer, now: later)
            }
        }
        let received = try Self.stream(simulation, sender, receiver, frames: 100)
        #expect(received.count == 100)
        #expect(ufrags.count == 3)
        #expect(sender.connectionState == .connected && receiver.connectionState == .connected)
        #expect(sender.statistics.ice.requestsSent > before)
        simulation.run(until: simulation.now + .seconds(60))
        #expect(sender.connectionState == .connected && receiver.connectionState == .connected)
    }

    @Test func aReofferWithTheSameCredentialsIsNoRestart() throws {
        let (sender, receiver) = try Self.pair(seed: 8) { NullSecurity() }
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 8)
        #expect(simulation.run(until: simulation.now + .seconds(5)) { sender.connectionState == .connected })
        let first = try sender.answer(offer: try receiver.makeOffer(), now: simulation.now)
        try receiver.setRemoteAnswer(first, now: simulation.now)
        let second = try sender.answer(offer: try receiver.makeOffer(), now: simulation.now)
        func credentials(_ description: String) -> [Substring] {
            description.split(separator: "\r\n").filter { $0.hasPrefix("a=ice-ufrag:") || $0.hasPrefix("a=ice-pwd:") }
        }
        #expect(credentials(first) == credentials(second) && !credentials(first).isEmpty)
        #expect(sender.connectionState == .connected)
    }

    @Test func anOfferThatCannotBeAnsweredRestartsNothing() throws {
        let (sender, receiver) = try Self.pair(seed: 9) { NullSecurity() }
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 9)
        #expect(simulation.run(until: simulation.now + .seconds(5)) { sender.connectionState == .connected })
        let bad = try receiver.makeOffer().replacing("VP8", with: "VP7").replacing("opus", with: "silk")
            .replacing("a=ice-ufrag:", with: "a=ice-ufrag:new")
        #expect(throws: SDPError.self) { try sender.answer(offer: bad, now: simulation.now) }
        #expect(try Self.stream(simulation, sender, receiver, frames: 30).count == 30)
    }

    @Test func sendingStopsWhenConsentIsLost() throws {
        let (sender, receiver) = try Self.pair(seed: 3) { NullSecurity() }
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 3)
        #expect(simulation.run(until: simulation.now + .seconds(5)) { sender.connectionState == .connected })
        let cutAt = simulation.now
        simulation.filter = { _, _ in false }
        #expect(simulation.run(until: cutAt + .seconds(40)) { sender.connectionState == .failed })
        #expect((Duration.seconds(23)...Duration.seconds(31)).contains(simulation.now - cutAt))
        #expect(
            sender.sendVideo(try Self.frame(1, isKeyFrame: true), captureTime: simulation.now, now: simulation.now)
                == .notConnected)
    }

    @Test("RFC 7983 §7: datagrams are told apart by their first byte, all else is dropped")
    func aDatagramsKindIsToldByItsFirstBytes() {
        let kinds: [([UInt8], DatagramKind)] = [
            ([0, 1], .stun), ([3, 0], .stun), ([20, 0xFE], .dtls), ([63, 0], .dtls), ([64, 0], .other),
            ([79, 1], .other), ([0x80, 0xE0], .rtp), ([0xBF, 96], .rtp), ([0x81, 200], .rtcp), ([0x81, 206], .rtcp),
            ([0x80, 223], .rtcp),
            ([0x80, 224], .rtp), ([192, 0], .other), ([0x80], .other), ([], .other),
        ]
        for (bytes, kind) in kinds { #expect(DatagramKind(of: bytes.span.bytes) == kind, "\(bytes)") }
    }

    @Test func randomDatagramsChangeNothing() throws {
        let (sender, receiver) = try Self.pair(seed: 4) { NullSecurity() }
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 4)
        #expect(simulation.run(until: simulation.now + .seconds(5)) { sender.connectionState == .connected })
        var random = SeededRandom(99)
        for round in 0..<20_000 {
            var bytes = (0..<Int(random.next() % 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            // Every kind that the first byte tells apart gets its share.
            if !bytes.isEmpty { bytes[0] = [0, 1, 20, 22, 63, 64, 128, 144, 191, 200][round % 10] }
            let path = ICEPath(local: Self.leftAddress, remote: Self.rightAddress)
            var span = bytes.mutableSpan
            var raw = span.mutableBytes
            sender.handle(datagram: &raw, path: path, now: simulation.now)
        }
        #expect(sender.connectionState == .connected)
        let received = try Self.stream(simulation, sender, receiver, frames: 30)
        #expect(received.count == 30)
    }

    @Test(arguments: [false, true])
    func aNATThatDrawsAnotherPortCostsThreeSecondsAtMost(inFrontOfTheSender: Bool) throws {
        let (sender, receiver) = try Self.pair(seed: 12) { NullSecurity() }
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 12)
        let side = inFrontOfTheSender ? 0 : 1
        simulation.nats[side] = SimulatedNAT(address: IPAddress(v4: 0xCB00_7107))
        #expect(simulation.run(until: simulation.now + .seconds(5)) { sender.connectionState == .connected })
        #expect(try Self.stream(simulation, sender, receiver, frames: 100).count == 100)
        simulation.nats[side]?.rebind()
        // Ten seconds of pictures, of which at most three are lost.
        #expect(try Self.stream(simulation, sender, receiver, frames: 300).count >= 210)
    }

    @Test func candidatesThatComeAfterTheDescriptionAreTrickledOnceAndThenTheEnd() throws {
        var configuration = Self.configuration(Self.leftAddress, sends: true)
        configuration.gathersCandidates = true
        let engine = PeerEngine(
            configuration: configuration, security: NullSecurity(), pacer: TransactionPacer(),
            random: RandomSource(SeededRandom(3)), now: .zero)
        let early = SocketAddress(ip: IPAddress(v4: 0xCB00_7101), port: 40_000)
        engine.addServerReflexive(early, base: Self.leftAddress, server: IPAddress(v4: 1), now: .zero)
        let offer = try engine.makeOffer()
        #expect(offer.contains("typ srflx") && !offer.contains("end-of-candidates"))
        let relayed = SocketAddress(ip: IPAddress(v4: 0xCB00_7102), port: 50_000)
        for _ in 0..<2 {
            engine.addRelayed(relayed, mapped: early, server: IPAddress(v4: 1), preference: 9, now: .zero)
            engine.endLocalCandidates(now: .zero)
        }
        var lines: [TrickledLine] = []
        while let event = engine.pollEvent() { if case .localCandidate(let line) = event { lines.append(line) } }
        #expect(lines.count == 2)
        #expect(lines.first?.candidate.contains("203.0.113.2 50000 typ relay") == true)
        #expect(lines.last?.candidate == "")
        let again = try engine.makeOffer()
        #expect(again.contains("typ relay") && again.contains("end-of-candidates"))
    }

    @Test func aLostAddressIsToldWhenNoOtherPathIsThere() throws {
        let (sender, receiver) = try Self.pair(seed: 13) { NullSecurity() }
        let simulation = Simulation(sender, receiver, conditions: .init(), seed: 13)
        #expect(simulation.run(until: simulation.now + .seconds(5)) { sender.connectionState == .connected })
        while sender.pollEvent() != nil {}
        sender.removeLocal(base: Self.leftAddress, now: simulation.now)
        var events: [PeerEvent] = []
        while let event = sender.pollEvent() { events.append(event) }
        #expect(events.contains(.localAddressLost))
        // Another address finds the way by itself, with the same credentials.
        let other = SocketAddress(ip: IPAddress(v4: 0xC000_0209), port: 5_001)
        sender.addLocalHost(other, now: simulation.now)
        #expect(simulation.run(until: simulation.now + .seconds(2)) { sender.selectedPath?.local == other })
    }
}
