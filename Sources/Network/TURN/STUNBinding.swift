import EmisoraCore
import EmisoraSTUN

/// Asks a STUN server from which address it sees one of our sockets (RFC 8489 §3), and goes on asking, so that the NAT
/// keeps the mapping; without socket or clock.
///
/// ```
/// idle ──start──▶ asking ──answer──▶ mapped ──15 s──▶ asking again …
///                    └──39.5 s without an answer──▶ failed
/// ```
///
/// Over UDP only; call one mutating method, then drain `pollTransmit` and `pollEvent`.
package struct STUNBinding {
    package enum Event: Hashable, Sendable {
        /// First found, or changed: then the NAT was restarted or the network is another one.
        case mapped(SocketAddress)
        case failed(reason: String)
    }

    /// RFC 8445 §11.
    package static let keepaliveInterval: Duration = .seconds(15)

    package let local: SocketAddress
    package let server: SocketAddress
    package private(set) var mappedAddress: SocketAddress?
    /// Whether the mapping is kept alive once it is known.
    package var isKeptAlive = true

    private let pacer: TransactionPacer
    private var random: RandomSource
    private var roundTrip = STUNRoundTrip()
    private var request: Request?
    private var isDue = false
    private var nextKeepaliveAt: Instant?
    private var events: [Event] = []

    private struct Request {
        let id: STUNTransactionID
        /// 0: it waits for its turn.
        var transmissions = 0
        var firstSentAt = Instant.distantFuture
        /// RTO.
        var timeout = STUNRetransmission.leastTimeout
        var nextTransmissionAt: Instant
    }

    package init(local: SocketAddress, server: SocketAddress, pacer: TransactionPacer, random: RandomSource) {
        self.local = local
        self.server = server
        self.pacer = pacer
        self.random = random
    }

    package mutating func start(now: Instant) {
        guard request == nil, mappedAddress == nil else { return }
        ask(now: now)
    }

    /// Nothing more is asked.
    package mutating func stop() {
        request = nil
        isDue = false
        nextKeepaliveAt = nil
    }

    /// Takes a datagram that came from `source`; answers whether it was the server's answer.
    package mutating func handle(datagram: RawSpan, from source: SocketAddress, now: Instant) -> Bool {
        guard source == server, let request, let message = try? STUNMessage(parsing: datagram),
            message.transactionID == request.id, message.type.isBinding, message.unknownRequired.isEmpty
        else { return false }
        switch message.type.messageClass {
        case .request, .indication: return false
        case .success:
            if request.transmissions == 1 { roundTrip.add(now - request.firstSentAt) }
            guard let address = message.mappedAddress, address.port != 0, address.ip.family == local.ip.family else {
                return false
            }
            settle(now: now)
            if address != mappedAddress {
                mappedAddress = address
                events.append(.mapped(address))
            }
        case .error:
            settle(now: now)
            giveUp(reason: "The STUN server \(server) refused with the error \(message.errorCode ?? 0).")
        }
        return true
    }

    package var nextDeadline: Instant? { request?.nextTransmissionAt ?? nextKeepaliveAt }

    package mutating func handleTimeout(now: Instant) {
        if var pending = request {
            guard now >= pending.nextTransmissionAt else { return }
            guard pending.transmissions > 0 else { return beginIfAllowed(now: now) }
            guard pending.transmissions < STUNRetransmission.maximumTransmissions else {
                settle(now: now)
                return giveUp(
                    reason: "The STUN server \(server) does not answer. Is its address right, and UDP let through?")
            }
            pending.transmissions += 1
            pending.nextTransmissionAt =
                now
                + STUNRetransmission.interval(
                    afterTransmission: pending.transmissions, timeout: pending.timeout)
            request = pending
            isDue = true
        } else if let nextKeepaliveAt, now >= nextKeepaliveAt {
            ask(now: now)
        }
    }

    package mutating func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        guard isDue, let request else { return nil }
        isDue = false
        do throws(STUNError) {
            let builder = try STUNMessageBuilder(
                &buffer, type: STUNMessageType(.request), transactionID: request.id)
            return Transmit(byteCount: try builder.finish(key: nil), source: local, destination: server)
        } catch {
            return nil
        }
    }

    package mutating func pollEvent() -> Event? {
        events.isEmpty ? nil : events.removeFirst()
    }

    // MARK: Inside

    private mutating func ask(now: Instant) {
        request = Request(id: STUNTransactionID(using: &random), nextTransmissionAt: now)
        nextKeepaliveAt = nil
        beginIfAllowed(now: now)
    }

    private mutating func beginIfAllowed(now: Instant) {
        guard var waiting = request else { return }
        if pacer.take(now: now) {
            waiting.transmissions = 1
            waiting.firstSentAt = now
            waiting.timeout = roundTrip.timeout ?? pacer.initialTimeout
            waiting.nextTransmissionAt =
                now + STUNRetransmission.interval(afterTransmission: 1, timeout: waiting.timeout)
            isDue = true
        } else {
            waiting.nextTransmissionAt = pacer.nextSlot
        }
        request = waiting
    }

    private mutating func settle(now: Instant) {
        request = nil
        isDue = false
        nextKeepaliveAt = isKeptAlive ? now + Self.keepaliveInterval : nil
    }

    /// A mapping that was found once is asked for again and again; one that was not is given up.
    private mutating func giveUp(reason: String) {
        guard mappedAddress == nil else { return }
        nextKeepaliveAt = nil
        events.append(.failed(reason: reason))
    }
}
