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

extension Array where Element == UInt8 {
    /// The bytes of a span, copied.
    package init(copying bytes: RawSpan) {
        self = bytes.withUnsafeBytes { [UInt8]($0) }
    }
}
