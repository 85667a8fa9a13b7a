import CEmisoraLinux
import EmisoraCore

/// The addresses of this machine.
package enum NetworkInterfaces {
    package struct Address: Hashable, Sendable {
        package let interfaceName: String
        package let ip: IPAddress
    }

    private static let limit = 64

    /// Addresses of interfaces that are up, in the system's order.
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
