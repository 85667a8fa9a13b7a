import EmisoraCore
import EmisoraICE
import EmisoraRTP
import EmisoraSTUN
import EmisoraSimulation

@testable import EmisoraPeerEngine

/// A publisher with three encodings and a peer, in virtual time. An encoding's frames bear its number.
final class SimulcastCall {
    typealias Engine = PeerEngine<NullSecurity>

    /// Sizes of the encodings' frames, the largest first.
    static let byteCounts = [4_000, 1_500, 500]

    let sender: Engine
    let receiver: Engine
    let simulation: Simulation
    let offer: String
    let answer: String
    /// What became of each encoding's frames.
    private(set) var results: [Int: [FrameSendResult: Int]] = [:]
    private(set) var received: [(at: Instant, encoding: Int, frame: ReceivedFrame)] = []
    /// Encodings for which key frames were asked, in order.
    private(set) var keyFrameRequests: [Int] = []
    private(set) var failure: String?
    private var wantsKeyFrame: Set<Int> = [0, 1, 2]
    private var number = 0

    /// - Parameters:
    ///   - names: of the encodings; the first is the one for peers without simulcast.
    ///   - changeOffer: what stands between the two makes of the sender's offer, and of the answer.
    init(
        seed: UInt64 = 1, names: [String] = ["h", "m", "l"], conditions: SimulatedLink.Conditions = .init(),
        changeOffer: (String) -> String = { $0 }, changeAnswer: (String) -> String = { $0 }
    ) throws {
        let start = Instant.zero + .seconds(1)
        func engine(_ address: SocketAddress, sends: Bool, _ seed: UInt64) -> Engine {
            var configuration = PeerEngineTests.configuration(address, sends: sends)
            if sends { configuration.media[1].encodings = names }
            return Engine(
                configuration: configuration, security: NullSecurity(), pacer: TransactionPacer(),
                random: RandomSource(SeededRandom(seed)), now: start)
        }
        sender = engine(PeerEngineTests.leftAddress, sends: true, seed)
        receiver = engine(PeerEngineTests.rightAddress, sends: false, seed &+ 1_000)
        // What the three take, and room for retransmissions, as a session has it.
        sender.setMaximumBitrate(.kilobitsPerSecond(1_900), start: .kilobitsPerSecond(1_900), now: start)
        simulation = Simulation(sender, receiver, conditions: conditions, seed: seed)
        offer = try sender.makeOffer()
        answer = try receiver.answer(offer: changeOffer(offer), now: start)
        try sender.setRemoteAnswer(changeAnswer(answer), now: start)
        simulation.run(until: simulation.now + .seconds(5)) { [sender, receiver] in
            sender.connectionState == .connected && receiver.connectionState == .connected
        }
    }

    /// Sends pictures of all encodings for that long, one each 33 ms.
    func stream(_ duration: Duration) {
        let end = simulation.now + duration
        func tick(_ now: Instant) {
            send(now)
            if now + .milliseconds(33) < end { simulation.schedule(at: now + .milliseconds(33), tick) }
        }
        simulation.schedule(at: simulation.now, tick)
        simulation.run(until: end) { [self] in
            while let frame = receiver.pollVideoFrame(now: simulation.now) {
                received.append((simulation.now, Int(frame.payload[2]), frame))
            }
            return false
        }
    }

    private func send(_ now: Instant) {
        takeEvents()
        for (encoding, byteCount) in Self.byteCounts.enumerated() {
            let isKeyFrame = wantsKeyFrame.contains(encoding)
            guard let frame = try? Self.frame(number, encoding, isKeyFrame: isKeyFrame, byteCount) else { continue }
            let result = sender.sendVideo(frame, encoding: encoding, captureTime: now, now: now)
            results[encoding, default: [:]][result, default: 0] += 1
            if result == .queued, isKeyFrame { wantsKeyFrame.remove(encoding) }
        }
        number += 1
    }

    func takeEvents() {
        while let event = sender.pollEvent() {
            switch event {
            case .keyFrameNeeded: request(0)
            case .layerKeyFrameNeeded(let encoding): request(encoding)
            case .stateChanged(.failed, let reason): failure = reason
            default: break
            }
        }
    }

    private func request(_ encoding: Int) {
        wantsKeyFrame.insert(encoding)
        keyFrameRequests.append(encoding)
    }

    private static func frame(_ number: Int, _ encoding: Int, isKeyFrame: Bool, _ byteCount: Int) throws
        -> PacketizedFrame
    {
        var payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: byteCount)
        // A VP8 frame header: bit 0 is 0 for key frames.
        payload[0] = isKeyFrame ? 0x10 : 0x11
        payload[2] = UInt8(encoding)
        return try VP8Packetizer.packetize(
            payload: payload, isKeyFrame: isKeyFrame, pictureID: UInt16(number & 0x7FFF),
            maxPayloadSize: Engine.maximumPayloadByteCount)
    }
}
