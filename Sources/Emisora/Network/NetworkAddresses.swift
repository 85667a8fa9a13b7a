import EmisoraCore
import EmisoraEventLoop

/// Which of the machine's addresses media uses.
public enum NetworkAddresses: Sendable {
    /// Those of all interfaces that are up, as they come and go; loopback only when there is no other (RFC 8445
    /// §5.1.1.1). Of IPv6 networks that give temporary addresses (RFC 8981) those alone.
    case automatic
    /// Those of these interfaces, such as `eth0`, as they come and go.
    case interfaces([String])
    /// Loopback alone: for tests, and peers on the same machine.
    case loopback
    case explicit([IPAddress])

    /// What is there now, best first.
    func resolve() throws(SessionError) -> [IPAddress] {
        do throws(SystemError) {
            return choose(from: try NetworkInterfaces.addresses())
        } catch {
            throw .system("The machine's addresses cannot be read. \(error)")
        }
    }

    func choose(from all: [NetworkInterfaces.Address]) -> [IPAddress] {
        switch self {
        case .explicit(let addresses): return addresses
        case .loopback: return all.map(\.ip).filter { $0.isLoopback && $0.family == .v4 }
        case .interfaces(let names):
            return Self.usable(all.filter { names.contains($0.interfaceName) }, allowsLoopback: true)
        case .automatic:
            let usable = Self.usable(all, allowsLoopback: false)
            return usable.isEmpty ? all.map(\.ip).filter(\.isLoopback) : usable
        }
    }

    /// Without link-local IPv6, which needs a scope that candidates cannot carry, and without the addresses that a
    /// temporary one of the same network stands for.
    private static func usable(_ all: [NetworkInterfaces.Address], allowsLoopback: Bool) -> [IPAddress] {
        let usable = all.filter { !$0.ip.isLinkLocal && (allowsLoopback || !$0.ip.isLoopback) }
        let temporary = usable.filter(\.isTemporary)
        return usable.filter { address in
            address.isTemporary || address.ip.family == .v4
                || !temporary.contains {
                    $0.interfaceName == address.interfaceName && $0.ip.high == address.ip.high
                }
        }.map(\.ip)
    }
}

extension NetworkInterfaces {
    /// Where the system would send from, if that may be used; else the first address of that family that may.
    static func source(towards remote: SocketAddress, among usable: [IPAddress]) -> IPAddress? {
        guard let routed = source(towards: remote) else { return nil }
        if usable.contains(routed) || remote.ip.isLoopback { return routed }
        return usable.first { $0.family == remote.ip.family && !$0.isLoopback }
    }
}
