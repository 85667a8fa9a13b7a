import EmisoraCore

/// Permissions and channels: asked for when they are needed, renewed while they are used.
extension TURNClient {
    /// Whether that address may be sent to now; if not, the permission is asked for.
    mutating func permit(_ ip: IPAddress, now: Instant) -> Bool {
        if let index = permissions.firstIndex(where: { $0.ip == ip }) {
            permissions[index].lastUsedAt = now
            return permissions[index].state == .active
        }
        if permissions.count >= Self.maximumPermissions {
            guard let oldest = leastRecent(permissions.map(\.lastUsedAt), now: now) else { return false }
            permissions.remove(at: oldest)
        }
        permissions.append(TURNPermission(ip: ip, lastUsedAt: now))
        begin(.permission(ip), now: now)
        return false
    }

    mutating func permissionWasGranted(_ ip: IPAddress, now: Instant) {
        guard let index = permissions.firstIndex(where: { $0.ip == ip }) else { return }
        permissions[index].state = .active
        permissions[index].expiresAt = now + Self.permissionLifetime
        permissions[index].renewAt = now + Self.permissionLifetime - Self.renewalMargin
        releaseHeld(for: ip)
    }

    mutating func permissionWasRefused(_ ip: IPAddress, _ error: TURNError, now: Instant) {
        guard let index = permissions.firstIndex(where: { $0.ip == ip }) else { return }
        permissions[index].renewAt = .distantFuture
        // One that is merely not renewed lives on until its end.
        guard permissions[index].state == .requested else { return }
        permissions[index].state = .refused
        permissions[index].expiresAt = now + Self.refusalPause
        held.removeAll { $0.peer.ip == ip }
        events.append(.peerRefused(ip, error))
    }

    mutating func renewPermissions(now: Instant) {
        permissions.removeAll { $0.expiresAt <= now }
        for index in permissions.indices where permissions[index].renewAt <= now {
            permissions[index].renewAt = .distantFuture
            let isUsed = now - permissions[index].lastUsedAt < Self.permissionLifetime - Self.renewalMargin
            if isUsed { begin(.permission(permissions[index].ip), now: now) }
        }
    }

    // MARK: Channels

    /// Where the peer stands in the list, put there if need be; `nil`: too many are in use.
    mutating func index(of address: SocketAddress, now: Instant) -> Int? {
        if let known = indexOfPeer[address] { return known }
        if peers.count >= Self.maximumPeers {
            guard let oldest = leastRecent(peers.map(\.lastUsedAt), now: now) else { return nil }
            removePeer(at: oldest)
        }
        peers.append(TURNPeer(address: address, lastUsedAt: now))
        indexOfPeer[address] = peers.count - 1
        return peers.count - 1
    }

    mutating func bindChannel(peerAt index: Int, now: Instant) {
        guard case .none = peers[index].channel, peers[index].renewAt == .distantFuture else { return }
        let number: UInt16
        if let own = peers[index].number {
            number = own
        } else {
            // All have been used: Send indications do as well.
            guard Self.channelNumbers.contains(nextChannel) else { return }
            number = nextChannel
            nextChannel += 1
        }
        peers[index].number = number
        peers[index].channel = .requested(number)
        peerOfChannel[number] = peers[index].address
        begin(.channel(number, peers[index].address), now: now)
    }

    mutating func channelWasBound(_ peer: SocketAddress, now: Instant) {
        guard let index = indexOfPeer[peer], let number = peers[index].number else { return }
        peers[index].channel = .bound(number)
        peers[index].expiresAt = now + Self.channelLifetime
        // It renews the permission too (RFC 8656 §12.2), so it has to come as often.
        peers[index].renewAt = now + Self.permissionLifetime - Self.renewalMargin
        peers[index].permittedUntil = now + Self.permissionLifetime
        permissionWasGranted(peer.ip, now: now)
    }

    mutating func channelWasRefused(_ peer: SocketAddress, now: Instant) {
        guard let index = indexOfPeer[peer] else { return }
        switch peers[index].channel {
        case .none: break
        case .requested:
            peers[index].channel = .none
            // Not again at once; until then there are Send indications.
            peers[index].renewAt = now + Self.refusalPause
        // It lives on until its end; try again before.
        case .bound: peers[index].renewAt = now + Self.refusalPause / 2
        }
    }

    mutating func renewChannels(now: Instant) {
        for index in peers.indices {
            if peers[index].expiresAt <= now {
                peers[index].channel = .none
                peers[index].expiresAt = .distantFuture
                peers[index].renewAt = .distantFuture
            }
            guard peers[index].renewAt <= now else { continue }
            peers[index].renewAt = .distantFuture
            let isUsed = now - peers[index].lastUsedAt < Self.permissionLifetime - Self.renewalMargin
            if isUsed, case .bound(let number) = peers[index].channel {
                begin(.channel(number, peers[index].address), now: now)
            }
        }
    }

    private mutating func removePeer(at index: Int) {
        if let number = peers[index].number { peerOfChannel[number] = nil }
        peers.remove(at: index)
        indexOfPeer.removeAll(keepingCapacity: true)
        for (index, peer) in peers.enumerated() { indexOfPeer[peer.address] = index }
    }

    /// The one that was not used for the longest time, if that is long ago.
    private func leastRecent(_ uses: [Instant], now: Instant) -> Int? {
        guard let oldest = uses.indices.min(by: { uses[$0] < uses[$1] }), now - uses[oldest] >= .seconds(30) else {
            return nil
        }
        return oldest
    }
}
