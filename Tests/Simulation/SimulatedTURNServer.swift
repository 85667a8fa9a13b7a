import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN

/// A STUN and TURN server (RFC 8489, RFC 8656) for the simulator: strict, so that a client's mistakes show.
///
/// It counts what must not happen: a second Allocate on a five-tuple, and datagrams without permission.
package final class SimulatedTURNServer: SimulatedPeer {
    package struct Allocation {
        package let relayed: SocketAddress
        let transactionID: STUNTransactionID
        package var expiresAt: Instant
        package var permissions: [IPAddress: Instant] = [:]
        package var channels: [UInt16: (peer: SocketAddress, expiresAt: Instant)] = [:]
    }

    package enum Authentication {
        case none
        case md5
        /// RFC 8489: offered in the nonce and PASSWORD-ALGORITHMS.
        case sha256
        /// The same, with user names hidden.
        case sha256WithUserhash
    }

    package let address: SocketAddress
    package let relayIP: IPAddress
    package var authentication = Authentication.md5
    /// A nonce is stale after this.
    package var nonceLifetime: Duration = .seconds(3_600)
    package var lifetime: UInt32 = 600
    /// What Allocate is refused with, signed or not.
    package var refusal: (code: UInt16, isSigned: Bool)?
    package var alternate: SocketAddress?
    package var forbidden: Set<IPAddress> = []
    /// Out of order: nothing is answered or relayed.
    package var isDown = false

    package private(set) var allocations: [SocketAddress: Allocation] = [:]
    package private(set) var requests: [STUNMessageType.Method: Int] = [:]
    package private(set) var secondAllocates = 0
    package private(set) var unpermitted = 0
    package private(set) var sendIndications = 0
    package private(set) var channelMessages = 0
    package private(set) var staleNonces = 0

    private let credentials: STUNLongTermCredentials
    private let realm = Array("lab.test".utf8)
    private var nonces: [[UInt8]: Instant] = [:]
    private var nextPort: UInt16 = 50_000
    private var random: SeededRandom
    private var outgoing: [(bytes: [UInt8], transmit: Transmit)] = []

    package init(address: SocketAddress, relayIP: IPAddress, credentials: STUNLongTermCredentials, seed: UInt64 = 1) {
        self.address = address
        self.relayIP = relayIP
        self.credentials = credentials
        random = SeededRandom(seed)
    }

    /// Forgets everything, as after a restart.
    package func restart() {
        allocations.removeAll()
        nonces.removeAll()
    }

    package var nextDeadline: Instant? { nil }
    package func handleTimeout(now: Instant) {}

    package func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        guard !outgoing.isEmpty else { return nil }
        let (bytes, transmit) = outgoing.removeFirst()
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
        return transmit
    }

    package func handle(
        datagram: inout MutableRawSpan, from remote: SocketAddress, to local: SocketAddress, now: Instant
    ) {
        guard !isDown else { return }
        let bytes = datagram.withUnsafeMutableBytes { Array($0) }
        if local.ip == relayIP { return relay(bytes, from: remote, to: local, now: now) }
        guard local == address, bytes.count >= 4 else { return }
        if bytes[0] >> 6 == 1 { return fromChannel(bytes, client: remote, now: now) }
        guard let message = try? STUNMessage(parsing: bytes.span.bytes),
            let method = STUNMessageType.Method(rawValue: message.type.method)
        else { return }
        switch message.type.messageClass {
        case .request:
            requests[method, default: 0] += 1
            request(message, bytes, method, client: remote, now: now)
        case .indication:
            guard method == .send, let peer = message.turn.peerAddress, let data = message.turn.data else { return }
            sendIndications += 1
            forward(Array(bytes[data]), client: remote, peer: peer, now: now)
        case .success, .error: break
        }
    }

    // MARK: Requests

    private func request(
        _ message: STUNMessage, _ bytes: [UInt8], _ method: STUNMessageType.Method, client: SocketAddress, now: Instant
    ) {
        if method == .binding {
            return answer(message, to: client, nil) { builder throws(STUNError) in
                try builder.add(xorMappedAddress: client)
            }
        }
        var integrity: STUNIntegrity?
        if authentication != .none {
            guard message.hasIntegrity, let nonce = message.nonce else {
                return challenge(message, STUNErrorCode.unauthenticated, to: client, now: now)
            }
            guard let key = key(message) else { return }
            guard isKnownUser(message, bytes), message.isAuthentic(in: bytes.span.bytes, key) else {
                return challenge(message, STUNErrorCode.unauthenticated, to: client, now: now)
            }
            guard let madeAt = nonces[nonce], now - madeAt < nonceLifetime else {
                staleNonces += 1
                return challenge(message, STUNErrorCode.staleNonce, to: client, now: now)
            }
            integrity = key
        }
        switch method {
        case .allocate: allocate(message, client: client, integrity, now: now)
        case .refresh: refresh(message, client: client, integrity, now: now)
        case .createPermission, .channelBind: permit(message, client: client, integrity, now: now)
        case .binding, .send, .data: break
        }
    }

    private func allocate(_ message: STUNMessage, client: SocketAddress, _ integrity: STUNIntegrity?, now: Instant) {
        if let refusal {
            return refuse(message, refusal.code, to: client, refusal.isSigned ? integrity : nil)
        }
        if let known = live(client, now: now), known.transactionID != message.transactionID {
            secondAllocates += 1
            return refuse(message, STUNErrorCode.allocationMismatch, to: client, integrity)
        }
        guard message.turn.requestedTransport == 17 else {
            return refuse(message, STUNErrorCode.badRequest, to: client, integrity)
        }
        let allocation =
            allocations[client]
            ?? Allocation(
                relayed: SocketAddress(ip: relayIP, port: nextPort), transactionID: message.transactionID,
                expiresAt: now + .seconds(Int64(lifetime)))
        if allocations[client] == nil { nextPort += 1 }
        allocations[client] = allocation
        answer(message, to: client, integrity) { [lifetime] builder throws(STUNError) in
            try builder.add(STUNAttribute.xorRelayedAddress, xorAddress: allocation.relayed)
            try builder.add(attribute: STUNAttribute.lifetime, word: lifetime)
            try builder.add(xorMappedAddress: client)
        }
    }

    private func refresh(_ message: STUNMessage, client: SocketAddress, _ integrity: STUNIntegrity?, now: Instant) {
        guard live(client, now: now) != nil else {
            return refuse(message, STUNErrorCode.allocationMismatch, to: client, integrity)
        }
        let granted = message.turn.lifetime == 0 ? 0 : lifetime
        allocations[client]?.expiresAt = now + .seconds(Int64(granted))
        if granted == 0 { allocations[client] = nil }
        answer(message, to: client, integrity) { builder throws(STUNError) in
            try builder.add(attribute: STUNAttribute.lifetime, word: granted)
        }
    }

    private func permit(_ message: STUNMessage, client: SocketAddress, _ integrity: STUNIntegrity?, now: Instant) {
        guard live(client, now: now) != nil else {
            return refuse(message, STUNErrorCode.allocationMismatch, to: client, integrity)
        }
        guard let peer = message.turn.peerAddress else {
            return refuse(message, STUNErrorCode.badRequest, to: client, integrity)
        }
        guard !forbidden.contains(peer.ip) else {
            return refuse(message, STUNErrorCode.forbidden, to: client, integrity)
        }
        if let number = message.turn.channelNumber {
            // RFC 8656 §12.2: a number belongs to one peer, a peer has one number.
            let isTaken = allocations[client]?.channels.contains { known in
                (known.key == number) != (known.value.peer == peer)
            }
            guard isTaken == false, (0x4000...0x4FFF).contains(number) else {
                return refuse(message, STUNErrorCode.badRequest, to: client, integrity)
            }
            allocations[client]?.channels[number] = (peer, now + .seconds(600))
        }
        allocations[client]?.permissions[peer.ip] = now + .seconds(300)
        answer(message, to: client, integrity) { _ throws(STUNError) in }
    }

    // MARK: Proofs

    private func key(_ message: STUNMessage) -> STUNIntegrity? {
        switch authentication {
        case .none: nil
        case .md5:
            credentials.key(realm: realm, algorithm: .md5).map { .sha1(HMACSHA1Key($0.span.bytes)) }
        case .sha256, .sha256WithUserhash:
            credentials.key(realm: realm, algorithm: .sha256).map { .sha256(HMACSHA256Key($0.span.bytes)) }
        }
    }

    private func isKnownUser(_ message: STUNMessage, _ bytes: [UInt8]) -> Bool {
        guard message.realm == realm else { return false }
        guard authentication == .sha256WithUserhash else {
            return message.username == Array(credentials.username.utf8)
        }
        // The parser leaves USERHASH, which only servers read, where it is.
        guard message.username == nil, let hash = credentials.userhash(realm: realm) else { return false }
        let attribute = [0x00, 0x1E, 0x00, 0x20] + hash
        return bytes.indices.contains { bytes[$0...].starts(with: attribute) }
    }

    private func challenge(_ message: STUNMessage, _ code: UInt16, to client: SocketAddress, now: Instant) {
        let features: String
        switch authentication {
        case .none, .md5: features = ""
        case .sha256: features = "obMatJos2gAAA"
        case .sha256WithUserhash: features = "obMatJos2wAAA"
        }
        let nonce = Array((features + String(random.next(), radix: 16)).utf8)
        nonces[nonce] = now
        respond(.error, message, to: client, nil) { [realm] builder throws(STUNError) in
            try builder.add(errorCode: code, reason: "")
            try builder.add(attribute: STUNAttribute.realm, value: realm)
            try builder.add(attribute: STUNAttribute.nonce, value: nonce)
            if !features.isEmpty {
                try builder.add(attribute: STUNAttribute.passwordAlgorithms, value: [0, 2, 0, 0, 0, 1, 0, 0])
            }
        }
    }

    private func refuse(_ message: STUNMessage, _ code: UInt16, to client: SocketAddress, _ integrity: STUNIntegrity?) {
        respond(.error, message, to: client, integrity) { [alternate] builder throws(STUNError) in
            try builder.add(errorCode: code, reason: "")
            if let alternate {
                let port = [UInt8(alternate.port >> 8), UInt8(truncatingIfNeeded: alternate.port)]
                let ip = (0..<4).map { UInt8(truncatingIfNeeded: alternate.ip.v4Bits >> (24 - 8 * $0)) }
                try builder.add(attribute: STUNAttribute.alternateServer, value: [0, 1] + port + ip)
            }
        }
    }

    private func answer(
        _ message: STUNMessage, to client: SocketAddress, _ integrity: STUNIntegrity?,
        _ body: (inout STUNMessageBuilder) throws(STUNError) -> Void
    ) {
        respond(.success, message, to: client, integrity, body)
    }

    private func respond(
        _ kind: STUNMessageType.Class, _ message: STUNMessage, to client: SocketAddress, _ integrity: STUNIntegrity?,
        _ body: (inout STUNMessageBuilder) throws(STUNError) -> Void
    ) {
        guard let method = STUNMessageType.Method(rawValue: message.type.method) else { return }
        send(
            SimulatedTURNServer.message(
                STUNMessageType(kind, method), message.transactionID, integrity: integrity, body), to: client)
    }

    /// A STUN message made by hand; also for tests that forge them.
    package static func message(
        _ type: STUNMessageType, _ id: STUNTransactionID, integrity: STUNIntegrity?,
        _ body: (inout STUNMessageBuilder) throws(STUNError) -> Void
    ) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 2_048)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        do throws(STUNError) {
            var builder = try STUNMessageBuilder(&buffer, type: type, transactionID: id)
            try body(&builder)
            let byteCount = try builder.finish(integrity: integrity)
            return Array(bytes[..<byteCount])
        } catch {
            preconditionFailure("A test's message does not fit: \(error)")
        }
    }

    // MARK: Relaying

    private func live(_ client: SocketAddress, now: Instant) -> Allocation? {
        guard let allocation = allocations[client] else { return nil }
        guard now < allocation.expiresAt else {
            allocations[client] = nil
            return nil
        }
        return allocation
    }

    private func fromChannel(_ bytes: [UInt8], client: SocketAddress, now: Instant) {
        channelMessages += 1
        let number = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        let length = Int(bytes[2]) << 8 | Int(bytes[3])
        guard length <= bytes.count - 4, let channel = live(client, now: now)?.channels[number],
            now < channel.expiresAt
        else {
            unpermitted += 1
            return
        }
        forward(Array(bytes[4..<4 + length]), client: client, peer: channel.peer, now: now)
    }

    private func forward(_ payload: [UInt8], client: SocketAddress, peer: SocketAddress, now: Instant) {
        guard let allocation = live(client, now: now), let until = allocation.permissions[peer.ip], now < until else {
            unpermitted += 1
            return
        }
        // Two of its relayed addresses talk within the server.
        if peer.ip == relayIP { return relay(payload, from: allocation.relayed, to: peer, now: now) }
        outgoing.append(
            (payload, Transmit(byteCount: payload.count, source: allocation.relayed, destination: peer)))
    }

    private func relay(_ payload: [UInt8], from peer: SocketAddress, to relayed: SocketAddress, now: Instant) {
        guard let client = allocations.first(where: { $0.value.relayed == relayed })?.key,
            let allocation = live(client, now: now), let until = allocation.permissions[peer.ip], now < until
        else { return }
        if let channel = allocation.channels.first(where: { $0.value.peer == peer && now < $0.value.expiresAt }) {
            let length = UInt16(payload.count)
            let header = [
                UInt8(channel.key >> 8), UInt8(truncatingIfNeeded: channel.key), UInt8(length >> 8),
                UInt8(truncatingIfNeeded: length),
            ]
            return send(header + payload, to: client)
        }
        let id = STUNTransactionID(using: &random)
        send(
            Self.message(STUNMessageType(.indication, .data), id, integrity: nil) { builder throws(STUNError) in
                try builder.add(STUNAttribute.xorPeerAddress, xorAddress: peer)
                try builder.add(attribute: STUNAttribute.data, value: payload)
            }, to: client)
    }

    private func send(_ bytes: [UInt8], to client: SocketAddress) {
        outgoing.append((bytes, Transmit(byteCount: bytes.count, source: address, destination: client)))
    }
}
