import EmisoraCore
import EmisoraEventLoop

/// Notices changes of the machine's addresses; several of them at once, as when a cable is plugged in, are one.
struct AddressWatch {
    static let settlingTime: Duration = .milliseconds(50)
    var monitor: AddressMonitor?
    /// When the addresses are to be read again.
    var deadline: Instant?

    mutating func close() {
        monitor?.close()
        monitor = nil
        deadline = nil
    }
}

/// Addresses that come and go: each has its socket and its candidates, as long as it is there.
extension PeerHub {
    /// Whether there is an address that leads beyond this machine, or that was asked for.
    var isOnNetwork: Bool {
        if case .automatic = options.addresses { addresses.contains { !$0.isLoopback } } else { !addresses.isEmpty }
    }

    /// Without netlink, as in some sandboxes, the addresses stay those of the beginning.
    func watchAddresses() {
        addressWatch.monitor = try? AddressMonitor(on: loop) { [weak self] in
            guard let self, addressWatch.deadline == nil else { return }
            addressWatch.deadline = SystemClock.now() + AddressWatch.settlingTime
        }
    }

    func updateAddressesIfDue(now: Instant) {
        guard let deadline = addressWatch.deadline, now >= deadline else { return }
        addressWatch.deadline = nil
        // A route may have come for addresses that stay.
        defer { for peer in peers { peer.engine.networkDidChange(now: now) } }
        guard let all = try? NetworkInterfaces.addresses() else { return }
        var wanted = options.addresses.choose(from: all)
        if case .explicit = options.addresses { wanted.removeAll { ip in !all.contains { $0.ip == ip } } }
        guard Set(wanted) != Set(addresses) else { return }
        let gone = addresses.filter { !wanted.contains($0) }
        let new = wanted.filter { !addresses.contains($0) }
        addresses = wanted
        // What is new first, so that a peer whose path goes away has another one to try.
        add(new, now: now)
        remove(gone, now: now)
        guard !endpoints.isEmpty else { return }
        // Names may have other addresses in the new network.
        names.forget()
        regatherAfterChange(to: new, now: now)
    }

    private func add(_ new: [IPAddress], now: Instant) {
        guard let shared = try? bind(new) else { return }
        sockets += shared
        for peer in peers {
            let added: [UDPSocket]
            switch peer.use {
            case .shared: added = shared
            case .own:
                added = (try? bind(new)) ?? []
                peer.ownSockets += added
            }
            for socket in added { peer.engine.addLocalHost(socket.localAddress, now: now) }
        }
        addListeners(on: new, now: now)
    }

    private func remove(_ gone: [IPAddress], now: Instant) {
        for ip in gone {
            for gathering in gatherings { gathering.removeLocal(ip, now: now) }
            let lost = sockets.filter { $0.localAddress.ip == ip }
            sockets.removeAll { $0.localAddress.ip == ip }
            for peer in peers {
                let own = peer.ownSockets.filter { $0.localAddress.ip == ip }
                peer.ownSockets.removeAll { $0.localAddress.ip == ip }
                for socket in peer.use == .shared ? lost : own {
                    peer.engine.removeLocal(base: socket.localAddress, now: now)
                }
                own.forEach(close)
            }
            for socket in lost {
                forgetPaths(base: socket.localAddress)
                close(socket)
            }
            removeListener(on: ip, now: now)
        }
    }

    private func regatherAfterChange(to new: [IPAddress], now: Instant) {
        if gatherings.contains(where: \.isShared) {
            let hasRelay = gatherings.contains { $0.isShared && $0.hasRelayedAddress }
            for peer in peers where peer.use == .shared { peer.engine.reopenLocalCandidates() }
            gather(
                hosts: sockets.map(\.localAddress).filter { new.contains($0.ip) }, asksRelays: !hasRelay, peer: nil,
                now: now)
        }
        for peer in peers where peer.use == .own {
            let hasRelay = gatherings.contains { $0.peer === peer && $0.hasRelayedAddress }
            peer.engine.reopenLocalCandidates()
            gather(
                hosts: peer.ownSockets.map(\.localAddress).filter { new.contains($0.ip) }, asksRelays: !hasRelay,
                peer: peer, now: now)
        }
    }
}
