import EmisoraCore
import EmisoraSTUN

/// Servers that send their clients on to others, so that each of many gets its share (RFC 8489 §10).
extension CandidateGatherer {
    /// RFC 8489 §10: on from the same socket, or by another connection, but never back and not for ever.
    mutating func follow(_ alternate: SocketAddress, _ index: Int, now: Instant) -> Bool {
        let relay = relays[index]
        let isInUse = relays.contains {
            $0.client.configuration.server == alternate && $0.client.configuration.local == relay.server.local
        }
        guard alternate.ip.family == relay.server.local.ip.family, alternate.port != 0,
            relay.visited.count <= Self.maximumRedirections, !relay.visited.contains(alternate), !isInUse
        else { return false }
        relays[index].visited.insert(alternate)
        guard !relay.server.isStream else {
            relays[index].isMoving = true
            events.append(.redirected(relay.server, to: alternate))
            return true
        }
        var configuration = relay.client.configuration
        configuration.server = alternate
        restart(index, configuration, now: now)
        return true
    }

    /// The connection to the server that `redirected` named is being made, from `local`.
    package mutating func move(_ server: Server, to address: SocketAddress, local: SocketAddress, now: Instant)
        -> Server?
    {
        guard let index = relays.firstIndex(where: { $0.isMoving && $0.server == server }) else { return nil }
        relays[index].isMoving = false
        relays[index].server.address = address
        relays[index].server.local = local
        var configuration = relays[index].client.configuration
        configuration.server = address
        configuration.local = local
        restart(index, configuration, now: now)
        return relays[index].server
    }

    package mutating func moveFailed(_ server: Server, reason: String, now: Instant) {
        guard let index = relays.firstIndex(where: { $0.isMoving && $0.server == server }) else { return }
        relays[index].isMoving = false
        events.append(.serverFailed(server, reason: reason))
        finishIfDone(now: now)
    }

    private mutating func restart(_ index: Int, _ configuration: TURNClient.Configuration, now: Instant) {
        relays[index].client = TURNClient(configuration, pacer: pacer, random: random.split())
        relays[index].client.start(now: now)
    }
}
