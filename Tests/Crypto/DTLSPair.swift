import EmisoraCore
import EmisoraCrypto
import EmisoraDTLS
import Glibc

/// Two ends of a DTLS association and the network between them.
///
/// OpenSSL's retransmission timer runs on the machine's clock, so this pair does too: where nothing is under way it
/// waits for the earliest deadline that one of the ends gave.
final class DTLSPair {
    enum Side: Int {
        case client = 0
        case server = 1
    }

    /// What becomes of a datagram on its way.
    enum Fate {
        case delivered
        case lost
        case duplicated
    }

    let client: DTLSTransport
    let server: DTLSTransport
    let clientCertificate: Certificate
    let serverCertificate: Certificate
    private(set) var events: [[DTLSTransport.Event]] = [[], []]
    /// Datagrams that were sent so far, in both directions together, the lost ones included.
    private(set) var datagrams: [(from: Side, bytes: [UInt8])] = []
    /// Asked with the number of the datagram.
    var fate: (Int) -> Fate = { _ in .delivered }
    /// Longer datagrams are lost on the way, unseen.
    var longestThatPasses = Int.max
    /// Given a whole batch that travels one way together; gives the order of arrival.
    var order: ([[UInt8]]) -> [[UInt8]] = { $0 }

    private let start = ContinuousClock.now

    init(
        mtu: Int = DTLSTransport.maximumTransmissionUnit,
        clientProfiles: [SRTPKeyingMaterial.Profile] = [.aeadAes128Gcm, .aeadAes256Gcm, .aes128CmHmacSha1_80],
        serverProfiles: [SRTPKeyingMaterial.Profile] = [.aeadAes128Gcm, .aeadAes256Gcm, .aes128CmHmacSha1_80]
    ) throws {
        var random = SecureRandom()
        clientCertificate = try Certificate(unixTime: 1_800_000_000, using: &random)
        serverCertificate = try Certificate(unixTime: 1_800_000_000, using: &random)
        client = try DTLSTransport(
            context: DTLSContext(certificate: clientCertificate, profiles: clientProfiles),
            maximumTransmissionUnit: mtu)
        server = try DTLSTransport(
            context: DTLSContext(certificate: serverCertificate, profiles: serverProfiles),
            maximumTransmissionUnit: mtu)
    }

    var now: Instant { Instant(nanoseconds: 1_000_000_000) + (ContinuousClock.now - start) }

    func exchangeFingerprints() {
        client.setExpectedFingerprints([serverCertificate.fingerprint], now: now)
        server.setExpectedFingerprints([clientCertificate.fingerprint], now: now)
    }

    func startBoth() {
        server.start(role: .server, now: now)
        client.start(role: .client, now: now)
    }

    func transport(_ side: Side) -> DTLSTransport {
        side == .client ? client : server
    }

    func events(of side: Side) -> [DTLSTransport.Event] {
        events[side.rawValue]
    }

    func keys(of side: Side) -> SRTPKeyingMaterial? {
        for case .connected(let keys) in events(of: side) { return keys }
        return nil
    }

    /// Carries what both ends have to say until nobody has anything.
    func exchange() {
        while carry(from: .client) || carry(from: .server) {}
        collectEvents()
    }

    /// Goes on, with retransmissions, until `condition` holds; false where that takes more than `limit` expired timers.
    ///
    /// Counts timers rather than seconds: a busy machine makes them late, which changes nothing. Waits in place, since
    /// a suspended task would be resumed only after other tests' long computations.
    func run(timers limit: Int, until condition: () -> Bool) -> Bool {
        var expired = 0
        while true {
            exchange()
            if condition() { return true }
            guard let deadline = [client.nextDeadline, server.nextDeadline].compactMap({ $0 }).min() else {
                return false
            }
            if deadline > now { usleep(UInt32(clamping: (deadline - now).nanoseconds / 1000 + 1)) }
            for transport in [client, server] {
                guard let due = transport.nextDeadline, due <= now else { continue }
                expired += 1
                guard expired <= limit else { return false }
                transport.handleTimeout(now: now)
            }
        }
    }

    func bothConnected() -> Bool {
        keys(of: .client) != nil && keys(of: .server) != nil
    }

    private func carry(from side: Side) -> Bool {
        var arriving: [[UInt8]] = []
        var sentAny = false
        while let datagram = poll(side) {
            sentAny = true
            let number = datagrams.count
            datagrams.append((side, datagram))
            switch datagram.count > longestThatPasses ? .lost : fate(number) {
            case .delivered: arriving.append(datagram)
            case .lost: break
            case .duplicated: arriving += [datagram, datagram]
            }
        }
        let receiver = transport(side == .client ? .server : .client)
        for datagram in order(arriving) { receiver.handle(datagram.span.bytes, now: now) }
        return sentAny
    }

    private func poll(_ side: Side) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        let count = transport(side).pollTransmit(into: &bytes)
        return count.map { Array(buffer[..<$0]) }
    }

    private func collectEvents() {
        for side in [Side.client, .server] {
            while let event = transport(side).pollEvent() { events[side.rawValue].append(event) }
        }
    }
}
