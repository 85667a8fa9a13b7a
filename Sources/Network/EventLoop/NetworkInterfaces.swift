import CEmisoraLinux
import EmisoraCore

/// The addresses of this machine.
package enum NetworkInterfaces {
    package struct Address: Hashable, Sendable {
        package let interfaceName: String
        package let ip: IPAddress
    }

    private static let limit = 64

    /// Addresses of interfaces that are up, in the system's order, without those that IPv6 forbids to use for something
    /// new: deprecated, or not yet found to be unique (RFC 8445 §5.1.1.1, RFC 4862 §5.4 and §5.5.4).
    package static func addresses() throws(SystemError) -> [Address] {
        var raw = [emisora_address](repeating: emisora_address(), count: limit)
        var names = [CChar](repeating: 0, count: 16 * limit)
        let count = emisora_interface_addresses(&raw, &names, Int32(limit))
        guard count >= 0 else { throw SystemError("getifaddrs") }
        return (0..<Int(count)).map { index in
            let name = names[16 * index..<16 * (index + 1)].prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            return Address(interfaceName: String(decoding: name, as: UTF8.self), ip: IPAddress(raw[index]))
        }
    }
}
