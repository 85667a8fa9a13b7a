import EmisoraCore

/// The user name of ICE's checks: the receiver's fragment, a colon, the sender's (RFC 8445 §7.2.2).
package enum STUNUsername {
    /// The receiver's fragment in a check that has not been authenticated, so that a socket shared by many peers finds
    /// the one whose password can judge it. Nothing but that may follow from it.
    ///
    /// Looks at the attributes' headers alone: no checksum, and no memory for anything but the fragment. `nil`: no
    /// request, no USERNAME before the message's end or its MESSAGE-INTEGRITY, or one without a colon.
    ///
    /// Responses name nobody: some agents (libnice) repeat the request's USERNAME in them, which begins with their own
    /// fragment, not with ours.
    package static func localFragment(of datagram: RawSpan) -> String? {
        guard STUNMessage.looksLikeSTUN(datagram),
            STUNMessageType(
                rawValue: UInt16(bigEndian: datagram.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt16.self))
            ).messageClass == .request
        else { return nil }
        var offset = STUNMessage.headerByteCount
        while datagram.byteCount - offset >= 4 {
            let type = UInt16(bigEndian: datagram.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
            let length = Int(
                UInt16(bigEndian: datagram.unsafeLoadUnaligned(fromByteOffset: offset + 2, as: UInt16.self)))
            guard datagram.byteCount - offset - 4 >= length, type != STUNAttribute.messageIntegrity else { return nil }
            if type == STUNAttribute.username {
                guard length <= STUNMessage.maximumUsernameByteCount else { return nil }
                return fragment(datagram.extracting(offset + 4..<offset + 4 + length))
            }
            offset += 4 + (length + 3) & ~3
        }
        return nil
    }

    private static func fragment(_ username: RawSpan) -> String? {
        username.withUnsafeBytes { bytes in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
            return String(validating: bytes[..<colon], as: UTF8.self)
        }
    }
}
