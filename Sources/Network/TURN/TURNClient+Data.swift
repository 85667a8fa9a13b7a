import EmisoraCore
import EmisoraSTUN

/// Datagrams that go through the allocation, both ways.
extension TURNClient {
    private static let channelHeaderByteCount = 4

    /// Wraps the first `byteCount` bytes of `buffer`, which are for `peer`, so that they can be sent to the server; gives
    /// the new number of bytes. The buffer needs room for 60 more, of which a channel takes 4.
    ///
    /// `nil`: not now. The datagram is kept until the server permits to send to that address, and then comes out of
    /// `pollTransmit`; or it is lost, because the server refuses or too many wait.
    package mutating func wrap(
        _ buffer: inout MutableRawSpan, byteCount: Int, to peer: SocketAddress, now: Instant
    ) -> Int? {
        guard relayedAddress != nil, byteCount > 0, byteCount <= min(buffer.byteCount, Int(UInt16.max)),
            peer.ip.family == configuration.family, peer.port != 0, let index = index(of: peer, now: now)
        else { return nil }
        peers[index].lastUsedAt = now
        keepaliveAt = now + Self.keepaliveInterval
        if case .bound(let number) = peers[index].channel {
            if now < peers[index].permittedUntil { return wrapInChannel(&buffer, byteCount: byteCount, number) }
            // It was not used for minutes; it is bound anew, with a permission first.
            peers[index].channel = .none
            peers[index].renewAt = .distantFuture
        }
        let payload = buffer.bytes.extracting(0..<byteCount).withUnsafeBytes { Array($0) }
        guard permit(peer.ip, now: now) else {
            hold(payload, for: peer)
            return nil
        }
        if peers[index].hasAnswered { bindChannel(peerAt: index, now: now) }
        guard let message = sendIndication(payload, to: peer), message.count <= buffer.byteCount else { return nil }
        buffer.withUnsafeMutableBytes { to in message.withUnsafeBytes { to.copyMemory(from: $0) } }
        return message.count
    }

    private func wrapInChannel(_ buffer: inout MutableRawSpan, byteCount: Int, _ number: UInt16) -> Int? {
        let header = Self.channelHeaderByteCount
        // RFC 8656 §12.5: over a stream to a multiple of four; the length does not count it.
        let padding = configuration.isStream ? (4 - byteCount % 4) % 4 : 0
        guard buffer.byteCount >= header + byteCount + padding else { return nil }
        buffer.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            (start + header).copyMemory(from: start, byteCount: byteCount)
            for index in header + byteCount..<header + byteCount + padding { bytes[index] = 0 }
        }
        buffer.storeBytes(of: number.bigEndian, toByteOffset: 0, as: UInt16.self)
        buffer.storeBytes(of: UInt16(byteCount).bigEndian, toByteOffset: 2, as: UInt16.self)
        return header + byteCount + padding
    }

    private mutating func sendIndication(_ payload: [UInt8], to peer: SocketAddress) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: payload.count + 64)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        let byteCount: Int
        do throws(STUNError) {
            var builder = try STUNMessageBuilder(
                &buffer, type: STUNMessageType(.indication, .send), transactionID: STUNTransactionID(using: &random))
            try builder.add(STUNAttribute.xorPeerAddress, xorAddress: peer)
            try builder.add(attribute: STUNAttribute.data, bytes: payload.span.bytes)
            byteCount = try builder.finish(integrity: nil)
        } catch {
            return nil
        }
        return Array(bytes[..<byteCount])
    }

    /// A Binding indication, which is not answered.
    mutating func keepalive() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 64)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        do throws(STUNError) {
            let builder = try STUNMessageBuilder(
                &buffer, type: STUNMessageType(.indication), transactionID: STUNTransactionID(using: &random))
            let byteCount = try builder.finish(integrity: nil)
            return Array(bytes[..<byteCount])
        } catch {
            return nil
        }
    }

    // MARK: Waiting for the permission

    private mutating func hold(_ payload: [UInt8], for peer: SocketAddress) {
        guard permissions.first(where: { $0.ip == peer.ip })?.state == .requested, held.count < Self.maximumHeld,
            payload.count <= Self.heldDatagramByteLimit,
            held.count(where: { $0.peer == peer }) < Self.maximumHeldForOnePeer
        else { return }
        held.append((peer, payload))
    }

    mutating func releaseHeld(for ip: IPAddress) {
        for (peer, bytes) in held where peer.ip == ip {
            if let message = sendIndication(bytes, to: peer) { ready.append(message) }
        }
        held.removeAll { $0.peer.ip == ip }
    }

    // MARK: From peers

    mutating func handleIndication(_ message: STUNMessage, now: Instant) -> Input {
        guard relayedAddress != nil, message.type == STUNMessageType(.indication, .data),
            message.unknownRequired.isEmpty, let peer = message.turn.peerAddress, let data = message.turn.data,
            !data.isEmpty
        else { return .ignored }
        // RFC 8656 §11.4: only from those who were let in.
        guard permissions.contains(where: { $0.ip == peer.ip && $0.state == .active }) else { return .ignored }
        if let index = indexOfPeer[peer] { peers[index].hasAnswered = true }
        return .data(data, peer: peer)
    }

    mutating func handleChannelData(_ datagram: RawSpan, now: Instant) -> Input {
        let number = UInt16(bigEndian: datagram.unsafeLoadUnaligned(as: UInt16.self))
        let length = Int(UInt16(bigEndian: datagram.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        let header = Self.channelHeaderByteCount
        // A length beyond the datagram's end is to be discarded; what lies behind it is padding (RFC 8656 §12.6).
        guard length > 0, length <= datagram.byteCount - header, let peer = peerOfChannel[number],
            let index = indexOfPeer[peer]
        else { return .ignored }
        switch peers[index].channel {
        case .none: return .ignored
        // The server uses the channel from the moment it has granted it, which its answer may tell later.
        case .requested, .bound: break
        }
        peers[index].hasAnswered = true
        return .data(header..<header + length, peer: peer)
    }
}
