import EmisoraCore
import EmisoraCrypto
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import EmisoraTURN

/// Addresses of the documentation networks (RFC 5737), and private ones behind NATs.
enum Addresses {
    static let left = SocketAddress(ip: IPAddress(v4: 0x0A00_0001), port: 5_000)
    static let right = SocketAddress(ip: IPAddress(v4: 0x0A01_0001), port: 6_000)
    static let leftNAT = IPAddress(v4: 0xC000_0201)
    static let rightNAT = IPAddress(v4: 0xC633_6401)
    static let server = SocketAddress(ip: IPAddress(v4: 0xCB00_7101), port: 3_478)
    static let relay = IPAddress(v4: 0xCB00_7102)
    static let peer = SocketAddress(ip: IPAddress(v4: 0xC633_6407), port: 7_000)
    static let stranger = SocketAddress(ip: IPAddress(v4: 0xC633_6409), port: 9_999)
}

let credentials = STUNLongTermCredentials(username: "lab", password: "labpass")

func makeServer(seed: UInt64 = 1) -> SimulatedTURNServer {
    SimulatedTURNServer(
        address: Addresses.server, relayIP: Addresses.relay, credentials: credentials, seed: seed)
}

/// A client and its server, driven step by step without a network between: what one sends the other has at once, unless
/// it is lost.
final class ClientAndServer {
    var client: TURNClient
    let server: SimulatedTURNServer
    var now = Instant.zero + .seconds(1)
    private(set) var events: [TURNClient.Event] = []
    private(set) var received: [(bytes: [UInt8], peer: SocketAddress)] = []
    /// What the server sent to peers.
    private(set) var delivered: [(bytes: [UInt8], transmit: Transmit)] = []
    /// All that the client sent.
    private(set) var sent: [[UInt8]] = []
    /// Sees what the server answers before the client does; `nil` loses it.
    var onAnswer: (([UInt8]) -> [UInt8]?)?
    /// Whether what the client sends gets through.
    var isConnected = true

    init(
        server: SimulatedTURNServer = makeServer(), credentials: STUNLongTermCredentials? = credentials,
        pacer: TransactionPacer = TransactionPacer()
    ) {
        self.server = server
        client = TURNClient(
            .init(local: Addresses.left, server: Addresses.server, credentials: credentials),
            pacer: pacer, random: RandomSource(SeededRandom(5)))
    }

    func start() {
        client.start(now: now)
        exchange()
    }

    /// Carries datagrams until both are silent, and nothing waits for its turn.
    func exchange() {
        for _ in 0..<1_000 {
            let fromClient = drain { client.pollTransmit(into: &$0, now: now) }
            for (bytes, _) in fromClient {
                sent.append(bytes)
                if isConnected { toServer(bytes, from: Addresses.left, to: Addresses.server) }
            }
            let fromServer = drain { server.pollTransmit(into: &$0, now: now) }
            for (bytes, transmit) in fromServer {
                if transmit.destination == Addresses.left {
                    toClient(bytes)
                } else {
                    delivered.append((bytes, transmit))
                }
            }
            guard fromClient.isEmpty, fromServer.isEmpty else { continue }
            // What waits for its turn has it after 5 ms.
            guard let deadline = client.nextDeadline, deadline <= now + .milliseconds(5) else { break }
            now = max(now, deadline)
            client.handleTimeout(now: now)
        }
        while let event = client.pollEvent() { events.append(event) }
    }

    private func toClient(_ bytes: [UInt8]) {
        guard let bytes = onAnswer == nil ? bytes : onAnswer?(bytes) else { return }
        if case .data(let range, let peer) = inject(bytes) { received.append((Array(bytes[range]), peer)) }
    }

    /// Hands the client a datagram from the server's address.
    @discardableResult
    func inject(_ bytes: [UInt8], from source: SocketAddress = Addresses.server) -> TURNClient.Input {
        client.handle(datagram: bytes.span.bytes, from: source, now: now)
    }

    func toServer(_ bytes: [UInt8], from source: SocketAddress, to destination: SocketAddress) {
        var bytes = bytes
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        server.handle(datagram: &raw, from: source, to: destination, now: now)
    }

    /// A peer sends to the relayed address.
    func receive(_ bytes: [UInt8], from peer: SocketAddress) {
        guard let relayed = client.relayedAddress else { return }
        toServer(bytes, from: peer, to: relayed)
        exchange()
    }

    /// Sends from the relayed address; answers whether it went out at once.
    @discardableResult
    func send(_ payload: [UInt8], to peer: SocketAddress) -> Bool {
        guard let wrapped = wrap(payload, to: peer) else {
            exchange()
            return false
        }
        sent.append(wrapped)
        if isConnected { toServer(wrapped, from: Addresses.left, to: Addresses.server) }
        exchange()
        return true
    }

    func wrap(_ payload: [UInt8], to peer: SocketAddress) -> [UInt8]? {
        var buffer = payload + [UInt8](repeating: 0xEE, count: 64)
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        let byteCount = client.wrap(&raw, byteCount: payload.count, to: peer, now: now)
        return byteCount.map { Array(buffer[..<$0]) }
    }

    /// Lets time pass, deadline by deadline.
    func run(_ duration: Duration, until condition: () -> Bool = { false }) {
        let end = now + duration
        var steps = 0
        while !condition(), let deadline = client.nextDeadline, deadline <= end, steps < 100_000 {
            steps += 1
            now = max(now, deadline)
            client.handleTimeout(now: now)
            exchange()
        }
        if !condition() { now = end }
    }

    /// All that a forged message must leave as it is.
    var fingerprint: [String] {
        ["\(client.state)", "\(String(describing: client.nextDeadline))", "\(events)", "\(received.count)"]
    }
}

func drain(_ poll: (inout MutableRawSpan) -> Transmit?) -> [(bytes: [UInt8], transmit: Transmit)] {
    var buffer = [UInt8](repeating: 0, count: 2_048)
    var result: [(bytes: [UInt8], transmit: Transmit)] = []
    while result.count < 1_000 {
        var span = buffer.mutableSpan
        var raw = span.mutableBytes
        guard let transmit = poll(&raw) else { break }
        result.append((Array(buffer[..<transmit.byteCount]), transmit))
    }
    return result
}

func parse(_ bytes: [UInt8]) throws -> STUNMessage {
    try STUNMessage(parsing: bytes.span.bytes)
}
