import CEmisoraOpenSSL

/// What OpenSSL said last, taken from its per-thread error stack, which is left empty.
package struct OpenSSLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was being tried.
    package let operation: String
    /// OpenSSL's own words, oldest first; empty where it gave none.
    package let details: [String]

    package init(_ operation: String) {
        self.operation = operation
        var details: [String] = []
        while case let code = ERR_get_error(), code != 0 {
            // A peer can make OpenSSL stack errors; a handful says enough.
            guard details.count < 8 else { continue }
            var buffer = [CChar](repeating: 0, count: 256)
            ERR_error_string_n(code, &buffer, buffer.count)
            details.append(String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
        }
        self.details = details
    }

    package var description: String {
        details.isEmpty ? "\(operation) failed" : "\(operation) failed: \(details.joined(separator: "; "))"
    }
}
