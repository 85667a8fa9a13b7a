import EmisoraCore
import EmisoraSTUN

/// Finds the addresses that our sockets have beyond this machine, by asking STUN and TURN servers (RFC 8445 §5.1.1.2),
/// and carries the datagrams of relayed ones; without socket or clock.
///
/// It serves all sockets of a session: an address that it finds is one for all peers of that socket. What it means for
/// them:
///
/// ```
/// serverReflexive(…), relayed(…) ─▶ ICEAgent.addServerReflexive, addRelayed     finished ─▶ localCandidatesEnded
/// datagram from the network      ─▶ handle ─▶ .data(range, relayed, peer): hand on as if it had come by that path
/// datagram of a peer's engine    ─▶ where `isRelayed(transmit.source)`: wrap, and send what it gives
/// ```
///
/// Call one mutating method, then drain `pollTransmit` and `pollEvent`, then wait until `nextDeadline`.
package struct CandidateGatherer {
    /// A server to ask, its name resolved, and the socket to ask from.
    package struct Server: Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            case stun
            case turn(STUNLongTermCredentials?, family: IPAddress.Family)
        }

        package var kind: Kind
        package var address: SocketAddress
        /// The socket's address; for a TCP or TLS connection to the server its own, of which there is one a server.
        package var local: SocketAddress
        package var isStream: Bool

        package init(_ kind: Kind, address: SocketAddress, local: SocketAddress, isStream: Bool = false) {
            self.kind = kind
            self.address = address
            self.local = local
            self.isStream = isStream
        }
    }

    package enum Event: Hashable, Sendable {
        /// The NAT in front of `base` shows it as `address`.
        case serverReflexive(SocketAddress, base: SocketAddress, server: IPAddress)
        /// Datagrams to `address` come to us through the server. `mapped` is where the server sees our socket.
        /// `preference`: better is greater; UDP before streams, which delay what follows a loss.
        case relayed(SocketAddress, mapped: SocketAddress, server: IPAddress, preference: UInt16)
        case serverFailed(Server, reason: String)
        /// A server that a stream leads to asks to use another one: connect there and call `move`, or `moveFailed`.
        case redirected(Server, to: SocketAddress)
        /// A relayed address ended though it was to be kept.
        case relayedAddressLost(SocketAddress, reason: String)
        /// All servers have answered or had their time. No address comes after this one; but where a NAT was restarted,
        /// `serverReflexive` tells the new address, which calls for an ICE restart.
        case finished
    }

    /// What became of a datagram that was handed in.
    package enum Input: Hashable, Sendable {
        /// Not from a server of ours.
        case ignored
        case handled
        /// These bytes came from `peer` to the relayed address.
        case data(Range<Int>, relayed: SocketAddress, peer: SocketAddress)
    }

    /// Who has not answered by then is not waited for.
    package static let patience: Duration = .seconds(10)
    static let maximumRedirections = 3

    let pacer: TransactionPacer
    private let line: TransactionPacer.Line
    var random: RandomSource
    private var waiting: [Server] = []
    private var bindings: [STUNBinding] = []
    var relays: [Relay] = []
    private var hasBegun = false
    private var endsAt = Instant.distantFuture
    private var mapped: [SocketAddress: Set<SocketAddress>] = [:]
    private var indexOfRelayed: [SocketAddress: Int] = [:]
    var events: [Event] = []

    struct Relay {
        var server: Server
        var client: TURNClient
        let preference: UInt16
        /// Servers that have sent us on, so that they cannot do so in a circle.
        var visited: Set<SocketAddress>
        /// A connection to the server that it was sent on to is being made.
        var isMoving = false
    }

    /// - Parameter servers: In the order of preference. Of those that would use one five-tuple twice, such as a relay's
    ///   IPv4 and IPv6 addresses from one socket, the first counts.
    package init(servers: [Server], pacer: TransactionPacer, random: RandomSource) {
        self.pacer = pacer
        line = TransactionPacer.Line(pacer)
        self.random = random
        for server in servers where server.address.ip.family == server.local.ip.family {
            let isKnown = waiting.contains {
                $0.address == server.address && $0.local == server.local && $0.isRelay == server.isRelay
            }
            if !isKnown { waiting.append(server) }
        }
    }

    /// Begins; once.
    package mutating func start(now: Instant) {
        guard !hasBegun else { return }
        hasBegun = true
        endsAt = now + Self.patience
        startNext(now: now)
        finishIfDone(now: now)
    }

    /// Gives all relayed addresses back. Drain `pollTransmit` afterwards; whoever can goes on until `hasEnded`, so that
    /// what was lost is repeated.
    package mutating func close(now: Instant) {
        waiting.removeAll()
        hasBegun = true
        endsAt = .distantFuture
        line.update(0)
        for index in bindings.indices { bindings[index].stop() }
        for index in relays.indices { relays[index].client.close(now: now) }
        indexOfRelayed.removeAll()
    }

    package var hasEnded: Bool { relays.allSatisfy { $0.client.hasEnded } }

    // MARK: Datagrams

    /// Whether an allocation is asked for there, by ourselves or because a server sent us on (RFC 8489 §10).
    package func isRelayServer(_ address: SocketAddress) -> Bool {
        relays.contains { $0.client.configuration.server == address }
    }

    /// Whether that is a relayed address of ours, whose datagrams have to go through `wrap`.
    package func isRelayed(_ address: SocketAddress) -> Bool { indexOfRelayed[address] != nil }

    /// The socket whose allocation that relayed address is.
    package func base(ofRelayed address: SocketAddress) -> SocketAddress? {
        indexOfRelayed[address].map { relays[$0].server.local }
    }

    /// Wraps a datagram that is to leave from a relayed address, in place; gives where it goes instead. The buffer needs
    /// room for 60 bytes more. `nil`: not now; it comes out of `pollTransmit` later, or is lost.
    package mutating func wrap(_ transmit: Transmit, in buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        guard let index = indexOfRelayed[transmit.source],
            let byteCount = relays[index].client.wrap(
                &buffer, byteCount: transmit.byteCount, to: transmit.destination, now: now)
        else { return nil }
        let configuration = relays[index].client.configuration
        return Transmit(byteCount: byteCount, source: configuration.local, destination: configuration.server)
    }

    /// Takes a datagram, or a message of a stream, that came from `source` to the socket `local`.
    package mutating func handle(
        datagram: RawSpan, from source: SocketAddress, to local: SocketAddress, now: Instant
    ) -> Input {
        for index in relays.indices
        where relays[index].client.configuration.server == source && relays[index].client.configuration.local == local {
            let input = relays[index].client.handle(datagram: datagram, from: source, now: now)
            let relayed = relays[index].client.relayedAddress
            collectRelay(index, now: now)
            switch input {
            case .ignored: continue
            case .handled: return .handled
            case .data(let range, let peer):
                guard let relayed else { return .handled }
                return .data(range, relayed: relayed, peer: peer)
            }
        }
        for index in bindings.indices where bindings[index].server == source && bindings[index].local == local {
            if bindings[index].handle(datagram: datagram, from: source, now: now) {
                collectBinding(index, now: now)
                return .handled
            }
        }
        return .ignored
    }

    /// The socket or connection with that local address could not be made, or ended: so do its relayed addresses.
    package mutating func socketFailed(local: SocketAddress, reason: String, now: Instant) {
        waiting.removeAll { server in
            guard server.local == local else { return false }
            events.append(.serverFailed(server, reason: reason))
            return true
        }
        for index in bindings.indices where bindings[index].local == local { bindings[index].stop() }
        for index in relays.indices where relays[index].server.local == local {
            relays[index].client.connectionFailed(reason: reason)
            collectRelay(index, now: now)
        }
        finishIfDone(now: now)
    }

    package mutating func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        for index in bindings.indices {
            if let transmit = bindings[index].pollTransmit(into: &buffer, now: now) { return transmit }
        }
        for index in relays.indices {
            if let transmit = relays[index].client.pollTransmit(into: &buffer, now: now) { return transmit }
        }
        return nil
    }

    package mutating func pollEvent() -> Event? {
        events.isEmpty ? nil : events.removeFirst()
    }

    package var nextDeadline: Instant? {
        var deadline = min(endsAt, !hasBegun || waiting.isEmpty ? .distantFuture : pacer.nextSlot)
        for binding in bindings { if let other = binding.nextDeadline { deadline = min(deadline, other) } }
        for relay in relays { if let other = relay.client.nextDeadline { deadline = min(deadline, other) } }
        return deadline == .distantFuture ? nil : deadline
    }

    package mutating func handleTimeout(now: Instant) {
        for index in bindings.indices {
            bindings[index].handleTimeout(now: now)
            collectBinding(index, now: now)
        }
        for index in relays.indices {
            relays[index].client.handleTimeout(now: now)
            collectRelay(index, now: now)
        }
        // Who was asked already comes first, since a server wants its question repeated with a proof.
        startNext(now: now)
        finishIfDone(now: now)
    }

    // MARK: Inside

    private mutating func startNext(now: Instant) {
        updateLine()
        guard hasBegun, !waiting.isEmpty, now >= pacer.nextSlot else { return }
        let server = waiting.removeFirst()
        switch server.kind {
        case .stun:
            var binding = STUNBinding(
                local: server.local, server: server.address, pacer: pacer, random: random.split())
            binding.start(now: now)
            bindings.append(binding)
        case .turn(let credentials, let family):
            let configuration = TURNClient.Configuration(
                local: server.local, server: server.address, isStream: server.isStream, credentials: credentials,
                family: family)
            var client = TURNClient(configuration, pacer: pacer, random: random.split())
            client.start(now: now)
            let best: UInt16 = server.isStream ? 0x3FFF : 0x7FFF
            relays.append(
                Relay(
                    server: server, client: client, preference: best - UInt16(min(relays.count, 0x3FFF)),
                    visited: [server.address]))
        }
    }

    /// How many servers are still to be asked or to answer.
    private var questions: Int {
        waiting.count + bindings.count { $0.mappedAddress == nil && $0.nextDeadline != nil }
            + relays.count { $0.client.state == .allocating }
    }

    /// RFC 8445 §14.3: while gathering, what counts is with how many servers there is something to do.
    private func updateLine() {
        if endsAt != .distantFuture { line.update(questions) }
    }

    private mutating func collectBinding(_ index: Int, now: Instant) {
        while let event = bindings[index].pollEvent() {
            switch event {
            case .mapped(let address):
                let binding = bindings[index]
                // One server's questions are enough to keep a mapping.
                let isKept = bindings.indices.contains { other in
                    other != index && bindings[other].local == binding.local
                        && bindings[other].mappedAddress == address && bindings[other].nextDeadline != nil
                }
                if isKept { bindings[index].stop() }
                guard mapped[binding.local, default: []].insert(address).inserted else { continue }
                events.append(.serverReflexive(address, base: binding.local, server: binding.server.ip))
                // A mapping that has moved may have moved for the relays too.
                if endsAt == .distantFuture {
                    for relay in relays.indices where relays[relay].server.local == binding.local {
                        relays[relay].client.verify(now: now)
                    }
                }
            case .failed(let reason):
                events.append(
                    .serverFailed(
                        Server(.stun, address: bindings[index].server, local: bindings[index].local), reason: reason))
            }
        }
        finishIfDone(now: now)
    }

    private mutating func collectRelay(_ index: Int, now: Instant) {
        while let event = relays[index].client.pollEvent() {
            let relay = relays[index]
            switch event {
            case .allocated(let relayed, let mappedAddress):
                indexOfRelayed[relayed] = index
                // The mapping to the TURN server is an address of ours as good as what a STUN server tells.
                if let mappedAddress, !relay.server.isStream,
                    mapped[relay.server.local, default: []].insert(mappedAddress).inserted
                {
                    events.append(
                        .serverReflexive(mappedAddress, base: relay.server.local, server: relay.server.address.ip))
                }
                events.append(
                    .relayed(
                        relayed, mapped: mappedAddress ?? relay.server.local, server: relay.server.address.ip,
                        preference: relay.preference))
            case .failed(let error):
                if let lost = indexOfRelayed.first(where: { $0.value == index })?.key {
                    indexOfRelayed[lost] = nil
                    events.append(.relayedAddressLost(lost, reason: error.description))
                } else if case .redirected(let alternate) = error, follow(alternate, index, now: now) {
                    break
                } else {
                    events.append(.serverFailed(relay.server, reason: error.description))
                }
            case .peerRefused: break
            }
        }
        finishIfDone(now: now)
    }

    mutating func finishIfDone(now: Instant) {
        guard endsAt != .distantFuture else { return }
        updateLine()
        let isAsking = questions > 0 || relays.contains { $0.isMoving }
        guard !isAsking || now >= endsAt else { return }
        endsAt = .distantFuture
        waiting.removeAll()
        line.update(0)
        // An address that comes after the end could not be told to anybody (RFC 8838 §13).
        for index in bindings.indices where bindings[index].mappedAddress == nil { bindings[index].stop() }
        for index in relays.indices where relays[index].client.state == .allocating {
            relays[index].client.close(now: now)
            events.append(.serverFailed(relays[index].server, reason: TURNError.timedOut.description))
        }
        events.append(.finished)
    }
}

extension CandidateGatherer.Server {
    var isRelay: Bool { if case .turn = kind { true } else { false } }
}
