import EmisoraCore

/// The elements of an RTP header extension, in the one-byte or two-byte form (RFC 8285 §4.2, §4.3), read in place.
///
/// ```swift
/// let extensions = HeaderExtensions(of: header, in: packet)
/// if let mid = extensions.value(of: midID) { … }
/// ```
package struct HeaderExtensions: ~Escapable {
    private let elements: RawSpan
    private let hasTwoByteHeads: Bool
    private var position = 0

    /// The elements of `packet`, whose header was parsed to `header`. An extension of another kind has none.
    @_lifetime(copy packet)
    package init(of header: RTPHeader, in packet: RawSpan) {
        let profile = header.extensionProfile ?? 0
        // The low four bits of a two-byte form's profile are application bits.
        hasTwoByteHeads = profile & 0xFFF0 == 0x1000
        let isKnown = hasTwoByteHeads || profile == 0xBEDE
        let isInside = header.extensionRange.upperBound <= packet.byteCount
        elements = packet.extracting(isKnown && isInside ? header.extensionRange : 0..<0)
    }

    /// One element: its id and where its value lies, counted from the start of the extension's elements.
    package struct Element: Equatable, Sendable {
        package var id: UInt8
        package var range: Range<Int>
    }

    /// The next element, `nil` after the last. An element that runs over the end stops the iteration.
    @_lifetime(self: copy self)
    package mutating func next() -> Element? {
        while position < elements.byteCount {
            let head = elements.unsafeLoad(fromByteOffset: position, as: UInt8.self)
            let id = hasTwoByteHeads ? head : head >> 4
            // A zero byte is padding in both forms; in the one-byte form so is any id 0, whatever its length says.
            if id == 0 {
                let length = hasTwoByteHeads ? 0 : Int(head & 0x0F)
                position += length == 0 ? 1 : length + 2
                continue
            }
            // Id 15 of the one-byte form ends the extension, what follows is to be ignored.
            if !hasTwoByteHeads && id == 15 { break }
            let start: Int
            let length: Int
            if hasTwoByteHeads {
                guard position + 1 < elements.byteCount else { break }
                start = position + 2
                length = Int(elements.unsafeLoad(fromByteOffset: position + 1, as: UInt8.self))
            } else {
                start = position + 1
                length = Int(head & 0x0F) + 1
            }
            guard start + length <= elements.byteCount else { break }
            position = start + length
            return Element(id: id, range: start..<position)
        }
        position = elements.byteCount
        return nil
    }

    /// The value of an element, in place.
    @_lifetime(copy self)
    package func value(of element: Element) -> RawSpan {
        elements.extracting(element.range.clamped(to: 0..<elements.byteCount))
    }

    /// The value of the first element with this id, `nil` without one.
    @_lifetime(copy self)
    package func value(of id: UInt8) -> RawSpan? {
        var iterator = HeaderExtensions(copyOf: self)
        while let element = iterator.next() {
            if element.id == id { return value(of: element) }
        }
        return nil
    }

    @_lifetime(copy other)
    private init(copyOf other: borrowing HeaderExtensions) {
        elements = other.elements
        hasTwoByteHeads = other.hasTwoByteHeads
    }

    /// The value of an element that holds text, such as `sdes:mid`; at most 255 bytes, `nil` unless it is UTF-8.
    package func text(of id: UInt8) -> String? {
        guard let value = value(of: id) else { return nil }
        return String(validating: Array(copying: value), as: UTF8.self)
    }
}

/// A header extension ready to be written: encoded once, then copied into each packet.
package struct HeaderExtensionBlock: Equatable, Sendable {
    /// 0xBEDE for the one-byte form, 0x1000 for the two-byte form.
    package let profile: UInt16
    /// The elements, padded to a multiple of four bytes.
    package let bytes: [UInt8]

    /// Bytes the block takes in a packet, its four bytes of head included.
    package var byteCount: Int { 4 + bytes.count }

    /// Encodes elements in the one-byte form if ids (1…14) and lengths (1…16) allow it, else in the two-byte form, which
    /// the peer must have accepted for every stream (`extmap-allow-mixed`) or by using an id above 14 itself.
    package init(_ elements: [(id: UInt8, value: [UInt8])]) throws(RTPError) {
        guard elements.allSatisfy({ $0.id != 0 && $0.value.count <= 255 }) else {
            throw .valueOutOfRange(field: "header extension id or length")
        }
        let isOneByteForm = elements.allSatisfy { $0.id < 15 && (1...16).contains($0.value.count) }
        var bytes: [UInt8] = []
        for (id, value) in elements {
            if isOneByteForm {
                bytes.append(id << 4 | UInt8(value.count - 1))
            } else {
                bytes += [id, UInt8(value.count)]
            }
            bytes += value
        }
        while bytes.count % 4 != 0 { bytes.append(0) }
        guard bytes.count / 4 <= Int(UInt16.max) else { throw .valueOutOfRange(field: "header extension length") }
        profile = isOneByteForm ? 0xBEDE : 0x1000
        self.bytes = bytes
    }

    /// A block that carries only the media's identification, `urn:ietf:params:rtp-hdrext:sdes:mid` (RFC 9143 §15).
    package init(midExtensionID id: UInt8, mid: String) throws(RTPError) {
        try self.init([(id, Array(mid.utf8))])
    }
}

extension Array where Element == UInt8 {
    /// The bytes of a span, copied.
    package init(copying bytes: RawSpan) {
        self = bytes.withUnsafeBytes { [UInt8]($0) }
    }
}
