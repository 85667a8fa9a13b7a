import EmisoraCore
import EmisoraSTUN

/// One relayed address of a TURN server (RFC 8656): an allocation on one five-tuple, its permissions and channels,
/// without socket, thread or clock.
///
/// ```
/// idle ──start──▶ allocating ──success──▶ allocated ──close──▶ closing ──▶ closed
///                     └────────refused────────┴──lost──▶ failed
/// ```
///
/// Call one mutating method, then drain `pollTransmit` and `pollEvent`, then wait until `nextDeadline`. What is to leave
/// from the relayed address goes through `wrap`; what arrived there comes out of `handle`. The permission that a peer
/// needs and the channel that saves bytes are asked for when they are needed; datagrams wait for the permission.
///
/// A client serves one allocation: after `failed` or `closed` another one is made, on another socket where the error
/// says so. So a five-tuple never sees a second Allocate (RFC 8656 §5).
package struct TURNClient {
    package struct Configuration: Sendable {
        /// Where the datagrams leave from: with `server`, the five-tuple.
        package var local: SocketAddress
        package var server: SocketAddress
        /// TCP or TLS: nothing is repeated, and messages are padded.
        package var isStream: Bool
        package var credentials: STUNLongTermCredentials?
        /// The kind of relayed address.
        package var family: IPAddress.Family

        package init(
            local: SocketAddress, server: SocketAddress, isStream: Bool = false,
            credentials: STUNLongTermCredentials?, family: IPAddress.Family = .v4
        ) {
            self.local = local
            self.server = server
            self.isStream = isStream
            self.credentials = credentials
            self.family = family
        }
    }

    package enum State: Hashable, Sendable {
        case idle
        case allocating
        case allocated(relayed: SocketAddress)
        /// The server is being told that the allocation is no longer needed.
        case closing
        case closed
        case failed(TURNError)
    }

    package enum Event: Hashable, Sendable {
        /// `mapped` is where the server sees our socket, which is a server-reflexive address too.
        case allocated(relayed: SocketAddress, mapped: SocketAddress?)
        case failed(TURNError)
        /// The server does not let us send to that address.
        case peerRefused(IPAddress, TURNError)
    }

    /// What became of a datagram that was handed in.
    package enum Input: Hashable, Sendable {
        /// Not from the server, damaged or forged: nothing changed.
        case ignored
        case handled
        /// These bytes of the datagram came from `peer` to the relayed address.
        case data(Range<Int>, peer: SocketAddress)
    }

    /// RFC 8656 §9: how long a permission lives, §12: a channel. Both are renewed a minute before.
    static let permissionLifetime: Duration = .seconds(300)
    static let channelLifetime: Duration = .seconds(600)
    static let renewalMargin: Duration = .seconds(60)
    /// After that much silence the NAT in front of us is reminded of our mapping (RFC 8445 §11).
    static let keepaliveInterval: Duration = .seconds(15)
    static let refusalPause: Duration = .seconds(60)
    static let maximumPermissions = 256
    static let maximumPeers = 512
    static let maximumHeld = 64
    static let maximumHeldForOnePeer = 8
    static let heldDatagramByteLimit = 1_500
    static let channelNumbers: ClosedRange<UInt16> = 0x4000...0x4FFF

    package let configuration: Configuration
    package internal(set) var state: State = .idle

    let pacer: TransactionPacer
    var random: RandomSource
    /// How long the server takes to answer.
    var roundTrip = STUNRoundTrip()
    /// The realm and nonce that the server has accepted; requests begin with them.
    var authentication: TURNAuthentication?
    var requests: [TURNRequest] = []
    var due: [STUNTransactionID] = []
    /// Datagrams that are ready to leave: wrapped, after their permission came.
    var ready: [[UInt8]] = []
    /// Payloads that wait for a permission.
    var held: [(peer: SocketAddress, bytes: [UInt8])] = []
    var permissions: [TURNPermission] = []
    var peers: [TURNPeer] = []
    var indexOfPeer: [SocketAddress: Int] = [:]
    var peerOfChannel: [UInt16: SocketAddress] = [:]
    var nextChannel = channelNumbers.lowerBound
    var expiresAt = Instant.distantFuture
    var refreshAt = Instant.distantFuture
    var keepaliveAt = Instant.distantFuture
    var isCloseWanted = false
    var events: [Event] = []

    package init(_ configuration: Configuration, pacer: TransactionPacer, random: RandomSource) {
        self.configuration = configuration
        self.pacer = pacer
        self.random = random
    }

    /// Asks for the allocation; once in a client's life.
    package mutating func start(now: Instant) {
        guard state == .idle else { return }
        state = .allocating
        begin(.allocate, now: now)
    }

    /// Gives the allocation back (RFC 8656 §7: a lifetime of zero). Drain `pollTransmit` afterwards; until the state is
    /// `closed`, later calls repeat it.
    package mutating func close(now: Instant) {
        switch state {
        case .idle: state = .closed
        case .allocating:
            // An Allocate under way may have made an allocation already; its answer is waited for.
            if requests.contains(where: { $0.authentication != nil && $0.transmissions > 0 }) {
                isCloseWanted = true
            } else {
                end(.closed)
            }
        case .allocated: deallocate(now: now)
        case .closing, .closed, .failed: break
        }
    }

    /// Whether it is over: nothing more is sent or accepted.
    package var hasEnded: Bool {
        switch state {
        case .closed, .failed: true
        case .idle, .allocating, .allocated, .closing: false
        }
    }

    package var relayedAddress: SocketAddress? {
        if case .allocated(let relayed) = state { relayed } else { nil }
    }

    // MARK: Outputs

    package mutating func pollEvent() -> Event? {
        events.isEmpty ? nil : events.removeFirst()
    }

    /// Writes the next datagram for the server, or the next message for its stream, into `buffer`.
    package mutating func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        while !due.isEmpty {
            let id = due.removeFirst()
            guard let request = requests.first(where: { $0.id == id }) else { continue }
            if let transmit = write(request.bytes, into: &buffer, now: now) { return transmit }
        }
        while !ready.isEmpty {
            if let transmit = write(ready.removeFirst(), into: &buffer, now: now) { return transmit }
        }
        return nil
    }

    private mutating func write(_ bytes: [UInt8], into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        guard !bytes.isEmpty, bytes.count <= buffer.byteCount else { return nil }
        buffer.withUnsafeMutableBytes { to in bytes.withUnsafeBytes { to.copyMemory(from: $0) } }
        keepaliveAt = now + Self.keepaliveInterval
        return Transmit(byteCount: bytes.count, source: configuration.local, destination: configuration.server)
    }

    package var nextDeadline: Instant? {
        var deadline = Instant.distantFuture
        for request in requests { deadline = min(deadline, request.deadline) }
        if relayedAddress != nil {
            deadline = min(deadline, refreshAt, expiresAt, keepaliveAt)
            for permission in permissions { deadline = min(deadline, permission.deadline) }
            for peer in peers { deadline = min(deadline, peer.deadline) }
        }
        return deadline == .distantFuture ? nil : deadline
    }

    package mutating func handleTimeout(now: Instant) {
        guard !hasEnded else { return }
        repeatRequests(now: now)
        guard relayedAddress != nil else { return }
        guard now < expiresAt else { return fail(.allocationLost) }
        if now >= refreshAt {
            refreshAt = .distantFuture
            begin(.refresh, now: now)
        }
        renewPermissions(now: now)
        renewChannels(now: now)
        if now >= keepaliveAt {
            keepaliveAt = now + Self.keepaliveInterval
            if let bytes = keepalive() { ready.append(bytes) }
        }
    }

    /// The connection to the server is gone, and with it the allocation (RFC 8656 §3.1).
    package mutating func connectionFailed(reason: String) {
        fail(.connectionFailed(reason: reason))
    }

    /// Asks the server at once whether the allocation still stands, since our address may have changed: to the server
    /// that would be somebody else's five-tuple.
    package mutating func verify(now: Instant) {
        guard relayedAddress != nil, !requests.contains(where: { $0.purpose == .refresh }) else { return }
        refreshAt = .distantFuture
        begin(.refresh, now: now)
    }

    // MARK: Inside

    mutating func fail(_ error: TURNError) {
        guard !hasEnded else { return }
        if state == .closing || isCloseWanted { return end(.closed) }
        end(.failed(error))
        events.append(.failed(error))
    }

    mutating func end(_ new: State) {
        state = new
        requests.removeAll()
        due.removeAll()
        ready.removeAll()
        held.removeAll()
        permissions.removeAll()
        peers.removeAll()
        indexOfPeer.removeAll()
        peerOfChannel.removeAll()
    }

    mutating func deallocate(now: Instant) {
        end(.closing)
        begin(.deallocate, now: now)
    }
}
