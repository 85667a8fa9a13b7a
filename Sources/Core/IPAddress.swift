/// An IPv4 or IPv6 address, without a port.
public struct IPAddress: Hashable, Sendable {
    public enum Family: Hashable, Sendable {
        case v4
        case v6
    }

    public let family: Family
    /// The 128 bits, most significant first; an IPv4 address stands in the low 32 bits of `low`.
    package let high: UInt64
    package let low: UInt64

    package init(v4 bits: UInt32) {
        family = .v4
        high = 0
        low = UInt64(bits)
    }

    package init(v6High high: UInt64, low: UInt64) {
        family = .v6
        self.high = high
        self.low = low
    }

    package var v4Bits: UInt32 { UInt32(truncatingIfNeeded: low) }

    package static let loopbackV4 = IPAddress(v4: 0x7F00_0001)
    package static let loopbackV6 = IPAddress(v6High: 0, low: 1)

    /// Whether it can be one host's address: not the unspecified one, which systems take for themselves, no multicast, and
    /// no IPv4 address in IPv6's clothes.
    package var isOfAHost: Bool {
        switch family {
        case .v4: v4Bits >> 24 != 0 && v4Bits >> 28 != 0xE && v4Bits != .max
        case .v6: high >> 56 != 0xFF && !(high == 0 && (low == 0 || low >> 32 == 0xFFFF))
        }
    }

    /// Whom to hold to account for what comes from here: the address itself, or the /64 of IPv6, since who has one address
    /// of it has 2⁶⁴.
    package var site: IPAddress {
        guard family == .v6 else { return self }
        // ::ffff:a.b.c.d is IPv4 on a socket of both families.
        if high == 0, low >> 32 == 0xFFFF { return IPAddress(v4: UInt32(truncatingIfNeeded: low)) }
        return isLoopback ? self : IPAddress(v6High: high, low: 0)
    }

    public var isLoopback: Bool {
        switch family {
        case .v4: v4Bits >> 24 == 127
        case .v6: high == 0 && low == 1
        }
    }

    /// fe80::/10 or 169.254.0.0/16.
    public var isLinkLocal: Bool {
        switch family {
        case .v4: v4Bits >> 16 == 0xA9FE
        case .v6: high >> 54 == 0x3FA
        }
    }
}

extension IPAddress: LosslessStringConvertible {
    /// Reads dotted IPv4 (`192.0.2.1`) or IPv6 text (RFC 4291 §2.2, without a zone). Host names give `nil`.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= 45 else { return nil }
        if bytes.contains(UInt8(ascii: ":")) {
            guard let address = Self.parseV6(bytes[...]) else { return nil }
            self = address
        } else {
            guard let bits = Self.parseV4(bytes[...]) else { return nil }
            self.init(v4: bits)
        }
    }

    private static func parseV4(_ bytes: ArraySlice<UInt8>) -> UInt32? {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bits: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0") else { return nil }
            var value: UInt32 = 0
            for byte in part {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                value = value * 10 + UInt32(byte - UInt8(ascii: "0"))
            }
            guard value <= 255 else { return nil }
            bits = bits << 8 | value
        }
        return bits
    }

    private static func parseV6(_ bytes: ArraySlice<UInt8>) -> IPAddress? {
        /// The groups of one side of `::`; the last group of an address may be a dotted IPv4 address.
        func groups(_ side: ArraySlice<UInt8>, isLast: Bool) -> [UInt16]? {
            if side.isEmpty { return [] }
            var result: [UInt16] = []
            let parts = side.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard parts.count <= 8 else { return nil }
            for (index, part) in parts.enumerated() {
                if part.contains(UInt8(ascii: ".")) {
                    guard isLast, index == parts.count - 1, let bits = parseV4(part) else { return nil }
                    result.append(UInt16(bits >> 16))
                    result.append(UInt16(truncatingIfNeeded: bits))
                } else {
                    guard (1...4).contains(part.count), let text = String(validating: part, as: UTF8.self),
                        !text.hasPrefix("+"), !text.hasPrefix("-"), let value = UInt16(text, radix: 16)
                    else { return nil }
                    result.append(value)
                }
            }
            return result
        }
        let colon = UInt8(ascii: ":")
        let gap = bytes.indices.first { $0 + 1 < bytes.endIndex && bytes[$0] == colon && bytes[$0 + 1] == colon }
        var all: [UInt16]
        if let gap {
            guard let left = groups(bytes[..<gap], isLast: false),
                let right = groups(bytes[(gap + 2)...], isLast: true),
                left.count + right.count <= 7
            else { return nil }
            all = left + Array(repeating: 0, count: 8 - left.count - right.count) + right
        } else {
            guard let exact = groups(bytes, isLast: true), exact.count == 8 else { return nil }
            all = exact
        }
        let words = all.map(UInt64.init)
        return IPAddress(
            v6High: words[0] << 48 | words[1] << 32 | words[2] << 16 | words[3],
            low: words[4] << 48 | words[5] << 32 | words[6] << 16 | words[7])
    }

    /// Canonical text: dotted for IPv4, RFC 5952 for IPv6.
    public var description: String {
        switch family {
        case .v4:
            return "\(v4Bits >> 24).\(v4Bits >> 16 & 255).\(v4Bits >> 8 & 255).\(v4Bits & 255)"
        case .v6:
            let groups = [high, low].flatMap { half in
                (0..<4).map { UInt16(truncatingIfNeeded: half >> (48 - 16 * $0)) }
            }
            // RFC 5952 §4.2.3: `::` stands for the first longest run of at least two zero groups.
            var best = 0..<0
            var index = 0
            while index < 8 {
                guard groups[index] == 0 else {
                    index += 1
                    continue
                }
                var end = index
                while end < 8, groups[end] == 0 { end += 1 }
                if end - index >= 2, end - index > best.count { best = index..<end }
                index = end
            }
            func text(_ range: Range<Int>) -> String {
                groups[range].map { String($0, radix: 16) }.joined(separator: ":")
            }
            return best.isEmpty ? text(0..<8) : text(0..<best.lowerBound) + "::" + text(best.upperBound..<8)
        }
    }
}
