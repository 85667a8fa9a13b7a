import CEmisoraLinux
import EmisoraCore

/// The addresses of this machine.
package enum NetworkInterfaces {
    package struct Address: Hashable, Sendable {
        package let interfaceName: String
        package let ip: IPAddress
        /// Of IPv6's privacy extensions (RFC 8981): changed every day, so that nobody can be followed by it.
        package let isTemporary: Bool

        package init(interfaceName: String, ip: IPAddress, isTemporary: Bool = false) {
            self.interfaceName = interfaceName
            self.ip = ip
            self.isTemporary = isTemporary
        }
    }

    private static let limit = 64

    /// Addresses of interfaces that are up, in the system's order, without those that IPv6 forbids to use for something
    /// new: deprecated, or not yet found to be unique (RFC 8445 §5.1.1.1, RFC 4862 §5.4 and §5.5.4).
    package static func addresses() throws(SystemError) -> [Address] {
        var raw = [emisora_address](repeating: emisora_address(), count: limit)
        var names = [CChar](repeating: 0, count: 16 * limit)
        var areTemporary = [UInt8](repeating: 0, count: limit)
        let count = emisora_interface_addresses(&raw, &names, &areTemporary, Int32(limit))
        guard count >= 0 else { throw SystemError("getifaddrs") }
        return (0..<Int(count)).map { index in
            let name = names[16 * index..<16 * (index + 1)].prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            return Address(
                interfaceName: String(decoding: name, as: UTF8.self), ip: IPAddress(raw[index]),
                isTemporary: areTemporary[index] != 0)
        }
    }

    /// Which of our addresses the system sends to `destination` from; `nil` where there is no route.
    package static func source(towards destination: SocketAddress) -> IPAddress? {
        var to = emisora_address(destination)
        var from = emisora_address()
        return emisora_source_address(&to, &from) == 0 ? IPAddress(from) : nil
    }
}
