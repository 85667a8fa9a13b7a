import EmisoraCore
import EmisoraCrypto
import EmisoraDTLS
import EmisoraICE
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// A sender (left), a receiver (right), what they told each other, and the network between them.
final class Call<Security: TransportSecurity> {
    /// What a test may change of a call before it begins.
    struct Setup {
        var seed: UInt64 = 1
        var senderOffers = false
        var conditions = SimulatedLink.Conditions()
        var wallClock = PeerEngineTests.wallClock
        /// What the network, or another stack, makes of the descriptions.
        var changeOffer: (String) -> String = { $0 }
        var changeAnswer: (String) -> String = { $0 }

        init() {}
    }

    let sender: PeerEngine<Security>
    let receiver: PeerEngine<Security>
    let simulation: Simulation
    private(set) var offer = ""
    private(set) var answer = ""
    private let senderOffers: Bool

    init(_ setup: Setup = Setup(), security: () throws -> Security) throws {
        let start = Instant.zero + .seconds(1)
        func engine(_ address: SocketAddress, sends: Bool, seed: UInt64) throws -> PeerEngine<Security> {
            var configuration = PeerEngineTests.configuration(address, sends: sends)
            configuration.wallClock = setup.wallClock
            return PeerEngine(
                configuration: configuration, security: try security(), pacer: TransactionPacer(),
                random: RandomSource(SeededRandom(seed)), now: start)
        }
        sender = try engine(PeerEngineTests.leftAddress, sends: true, seed: setup.seed)
        receiver = try engine(PeerEngineTests.rightAddress, sends: false, seed: setup.seed &+ 1_000)
        // As a session does, with more than these frames take.
        sender.setMaximumBitrate(.kilobitsPerSecond(2_500), start: .kilobitsPerSecond(2_500), now: start)
        simulation = Simulation(sender, receiver, conditions: setup.conditions, seed: setup.seed)
        senderOffers = setup.senderOffers
        offer = setup.changeOffer(try (senderOffers ? sender : receiver).makeOffer())
        answer = setup.changeAnswer(try (senderOffers ? receiver : sender).answer(offer: offer, now: start))
        try (senderOffers ? sender : receiver).setRemoteAnswer(answer, now: start)
    }

    var areConnected: Bool { sender.connectionState == .connected && receiver.connectionState == .connected }

    /// What each of them said of itself.
    var senderDescription: String { senderOffers ? offer : answer }
    var receiverDescription: String { senderOffers ? answer : offer }

    func connect(within limit: Duration = .seconds(5)) -> Bool {
        simulation.run(until: simulation.now + limit) { areConnected }
    }

    @discardableResult
    func run(_ duration: Duration, until condition: () -> Bool = { false }) -> Bool {
        simulation.run(until: simulation.now + duration, condition)
    }

    /// Frames for that long, one each 33 ms; what arrived, and when it could be taken.
    func stream(_ duration: Duration) throws -> [(at: Instant, frame: ReceivedFrame)] {
        var received: [(at: Instant, frame: ReceivedFrame)] = []
        var wantsKeyFrame = true
        var number = 0
        let end = simulation.now + duration
        func tick(_ now: Instant) {
            while let event = sender.pollEvent() { if event == .keyFrameNeeded { wantsKeyFrame = true } }
            // As an encoder that follows the rate.
            let room = sender.sendDecision.targetBitrate.bitsPerSecond / 8 / 40
            let byteCount = max(200, min(5_000, Int(room)))
            if let frame = try? PeerEngineTests.frame(number, isKeyFrame: wantsKeyFrame, byteCount: byteCount),
                sender.sendVideo(frame, captureTime: now, now: now) == .queued, frame.isKeyFrame
            {
                wantsKeyFrame = false
            }
            number += 1
            if now + .milliseconds(33) < end { simulation.schedule(at: now + .milliseconds(33), tick) }
        }
        simulation.schedule(at: simulation.now, tick)
        simulation.run(until: end) {
            while let frame = receiver.pollVideoFrame(now: simulation.now) { received.append((simulation.now, frame)) }
            return false
        }
        return received
    }
}

extension Call where Security == NullSecurity {
    convenience init(_ setup: Setup = Setup()) throws {
        try self.init(setup) { NullSecurity() }
    }
}

/// The first value of an attribute in a description.
func attribute(_ name: String, of description: String) -> String? {
    description.split(separator: "\r\n").first { $0.hasPrefix("a=\(name):") }
        .map { String($0.dropFirst(name.utf8.count + 3)) }
}

extension PeerEngine {
    /// Hands one datagram in from outside the simulation; gives what it is answered with at once.
    func inject(
        _ bytes: [UInt8], path: ICEPath, now: Instant
    ) -> [(transmit: Transmit, bytes: [UInt8])] {
        var bytes = bytes
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        handle(datagram: &raw, path: path, now: now)
        return drain(now: now)
    }

    func drain(now: Instant) -> [(transmit: Transmit, bytes: [UInt8])] {
        var buffer = [UInt8](repeating: 0, count: 2_048)
        var sent: [(transmit: Transmit, bytes: [UInt8])] = []
        while sent.count < 1_000 {
            var span = buffer.mutableSpan
            var raw = span.mutableBytes
            guard let transmit = pollTransmit(into: &raw, now: now) else { break }
            sent.append((transmit, Array(buffer[..<transmit.byteCount])))
        }
        return sent
    }
}
