import EmisoraCore
import EmisoraEventLoop

/// Which of the machine's addresses media uses.
public enum NetworkAddresses: Sendable {
    /// Those of all interfaces that are up; loopback only when there is no other (RFC 8445 §5.1.1.1).
    case automatic
    /// Loopback alone: for tests, and peers on the same machine.
    case loopback
    case explicit([IPAddress])

    func resolve() throws(SessionError) -> [IPAddress] {
        let all: [NetworkInterfaces.Address]
        do throws(SystemError) {
            all = try NetworkInterfaces.addresses()
        } catch {
            throw .system("The machine's addresses cannot be read. \(error)")
        }
        switch self {
        case .explicit(let addresses): return addresses
        case .loopback: return all.map(\.ip).filter { $0.isLoopback && $0.family == .v4 }
        case .automatic:
            // Link-local IPv6 needs a scope that candidates cannot carry.
            let usable = all.map(\.ip).filter { !$0.isLoopback && !$0.isLinkLocal }
            return usable.isEmpty ? all.map(\.ip).filter(\.isLoopback) : usable
        }
    }
}
