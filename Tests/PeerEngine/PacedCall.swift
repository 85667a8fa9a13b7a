import EmisoraCore
import EmisoraCrypto
import EmisoraDTLS
import EmisoraICE
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSTUN
import EmisoraSimulation
import Glibc

/// Two engines with real DTLS, on a path without delay.
///
/// OpenSSL's retransmission timer runs on the machine's clock, so waits are real; but the clock that the engines see
/// moves by their waits alone and stands still while they compute. A slow machine so changes no figure.
final class PacedCall {
    typealias Engine = PeerEngine<DTLSSRTPSecurity>

    let sender: Engine
    let receiver: Engine
    private(set) var now = Instant.zero + .seconds(1)
    /// Datagrams sent so far by each.
    private(set) var sent: [SimulatedSide: Int] = [:]
    /// What each has sent so far, lost datagrams included.
    private(set) var sentDatagrams: [SimulatedSide: [[UInt8]]] = [:]
    /// Which are lost, by who sends them and their number from 0.
    var isLost: (SimulatedSide, Int) -> Bool = { _, _ in false }

    enum SimulatedSide: String, CaseIterable {
        case sender
        case receiver
    }

    /// - Parameter maximumTransmissionUnit: of DTLS, in bytes: how many datagrams its flights take.
    /// - Parameter certificate: of both; else each has one of its own.
    init(
        maximumTransmissionUnit: Int = DTLSTransport.maximumTransmissionUnit, certificate: Certificate? = nil
    ) throws {
        var random = SecureRandom()
        let start = now
        func engine(_ address: SocketAddress, sends: Bool, seed: UInt64) throws -> Engine {
            let context = try DTLSContext(
                certificate: certificate ?? Certificate(unixTime: 1_700_000_000, using: &random))
            return Engine(
                configuration: PeerEngineTests.configuration(address, sends: sends),
                security: try DTLSSRTPSecurity(
                    context: context, maximumTransmissionUnit: maximumTransmissionUnit), pacer: TransactionPacer(),
                random: RandomSource(SeededRandom(seed)), now: start)
        }
        sender = try engine(PeerEngineTests.leftAddress, sends: true, seed: 1)
        receiver = try engine(PeerEngineTests.rightAddress, sends: false, seed: 2)
    }

    var areConnected: Bool { sender.connectionState == .connected && receiver.connectionState == .connected }

    /// Goes on until the condition holds; `false` when it did not within the limit.
    func run(_ limit: Duration, until condition: () -> Bool) -> Bool {
        let end = now + limit
        while true {
            while carry(.sender) || carry(.receiver) {}
            if condition() { return true }
            let next = [sender.nextDeadline, receiver.nextDeadline, end].compactMap { $0 }.min() ?? end
            if next > now {
                usleep(UInt32(clamping: (next - now).nanoseconds / 1_000 + 1))
                now = next
            }
            guard now < end else { return condition() }
            for engine in [sender, receiver] {
                if let deadline = engine.nextDeadline, deadline <= now { engine.handleTimeout(now: now) }
            }
        }
    }

    private func carry(_ side: SimulatedSide) -> Bool {
        let (from, to) = side == .sender ? (sender, receiver) : (receiver, sender)
        var buffer = [UInt8](repeating: 0, count: 2_048)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        guard let transmit = from.pollTransmit(into: &raw, now: now) else { return false }
        let number = sent[side, default: 0]
        sent[side] = number + 1
        sentDatagrams[side, default: []].append(
            raw.bytes.extracting(0..<transmit.byteCount).withUnsafeBytes { Array($0) })
        guard !isLost(side, number) else { return true }
        var datagram = raw._mutatingExtracting(0..<transmit.byteCount)
        to.handle(
            datagram: &datagram, path: ICEPath(local: transmit.destination, remote: transmit.source), now: now)
        return true
    }
}
