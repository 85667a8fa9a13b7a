import EmisoraCore

/// The data channels of one connection (RFC 8831, RFC 8832), over one SCTP association.
///
/// ```
///  open ─▶ connecting ──association up: DCEP OPEN──▶ open ──close, or the peer's reset──▶ closing ──both reset──▶ closed
/// ```
///
/// Channels may be made before there is an association. Confined to one thread; after each call drain `pollTransmit` and
/// `pollEvent`.
package final class DataChannels {
    package static let maximumChannels = 256
    /// What may wait to be sent on one channel.
    package static let maximumBufferedAmount = 16_777_216
    /// Labels and protocols of all channels that the peer has opened.
    private static let maximumIncomingTextByteCount = 262_144
    /// What a peer takes that says nothing of it (RFC 8841 §6.1).
    package static let defaultMaximumMessageByteCount = 65_536

    private var association: SCTPAssociation?
    private var isClient = false
    package private(set) var maximumMessageByteCount = DataChannels.defaultMaximumMessageByteCount
    private var channels: [DataChannelID: DataChannel] = [:]
    private var idOfStream: [UInt16: DataChannelID] = [:]
    private var nextNumber: UInt64 = 0
    private var events: [DataChannelEvent] = []
    /// Streams without a channel that are no use: the peer opened them though it must not, or they were given up, and are
    /// reset for that, or they cannot be reset.
    private var refused: Set<UInt16> = []
    private var endReason: String?

    package init() {}

    package var isConnected: Bool { association?.isConnected == true }

    /// While it holds nothing more is read, and the peer's window closes.
    package func setReadingPaused(_ isPaused: Bool, now: Instant) {
        association?.setReadingPaused(isPaused, now: now)
        settle(now: now)
    }

    // MARK: Connecting

    /// Begins the association, once DTLS is there. Repeated calls do nothing.
    ///
    /// - Parameters:
    ///   - isClient: of DTLS, whose channels have even numbers (RFC 8832 §6).
    ///   - remotePort: the peer's `a=sctp-port`.
    package func connect(isClient: Bool, remotePort: UInt16, now: Instant) {
        guard association == nil, endReason == nil else { return }
        self.isClient = isClient
        do throws(SCTPError) {
            association = try SCTPAssociation(remotePort: remotePort, now: now)
        } catch {
            end(error.description)
        }
        settle(now: now)
    }

    /// The peer's `a=max-message-size`; 0 is any size, `nil` that it says nothing. A later description may say another.
    package func setMaximumMessageByteCount(_ count: UInt64?) {
        let own = SCTPAssociation.maximumMessageByteCount
        maximumMessageByteCount =
            switch count {
            case 0: own
            case let count?: min(own, Int(clamping: count))
            case nil: Self.defaultMaximumMessageByteCount
            }
    }

    /// There will be no association: all channels are closed, and new ones refused.
    package func end(_ reason: String) {
        guard endReason == nil else { return }
        endReason = reason
        for id in channels.keys.sorted(by: { $0.number < $1.number }) { events.append(.closed(id, reason: reason)) }
        channels.removeAll()
        idOfStream.removeAll()
    }

    /// Ends the association with a word to the peer, which `pollTransmit` gives.
    package func close(reason: String) {
        association?.close()
        end(reason)
    }

    /// The descriptions have no data channels: what waits is closed, and an association ended. Without one, a later
    /// description may bring them.
    package func withdraw(reason: String) {
        guard association == nil else { return close(reason: reason) }
        for id in channels.keys.sorted(by: { $0.number < $1.number }) { events.append(.closed(id, reason: reason)) }
        channels.removeAll()
    }

    // MARK: Channels

    /// Makes a channel of ours. Messages may be sent on it once it is open.
    package func open(_ parameters: DataChannelParameters, now: Instant) throws(DataChannelError) -> DataChannelID {
        guard endReason == nil else { throw .notNegotiated }
        guard channels.count < Self.maximumChannels else { throw .tooManyChannels(limit: Self.maximumChannels) }
        let limit = DataChannelParameters.maximumTextByteCount
        guard parameters.label.utf8.count <= limit, parameters.subprotocol.utf8.count <= limit else {
            throw .textTooLong(limit: limit)
        }
        let id = makeID()
        channels[id] = DataChannel(parameters)
        settle(now: now)
        return id
    }

    /// Queues a message.
    package func send(_ payload: DataChannelPayload, on id: DataChannelID, now: Instant) throws(DataChannelError) {
        guard let channel = channels[id], channel.state == .open else { throw .notOpen }
        guard payload.byteCount <= maximumMessageByteCount else {
            throw .messageTooLarge(byteCount: payload.byteCount, limit: maximumMessageByteCount)
        }
        guard channel.bufferedAmount + payload.byteCount <= Self.maximumBufferedAmount else {
            throw .bufferFull(limit: Self.maximumBufferedAmount)
        }
        channel.append(payload)
        settle(now: now)
    }

    /// Closes a channel once what is queued has gone (W3C `close`).
    package func close(_ id: DataChannelID, now: Instant) {
        guard let channel = channels[id] else { return }
        switch channel.state {
        case .connecting where channel.stream == nil:
            channels[id] = nil
            events.append(.closed(id, reason: ""))
        case .connecting, .open: channel.state = .closing
        case .closing, .resetting: break
        }
        settle(now: now)
    }

    package func bufferedAmount(of id: DataChannelID) -> Int { channels[id]?.bufferedAmount ?? 0 }
    /// How many there are, in whatever state.
    package var count: Int { channels.count }

    // MARK: Packets and time

    package func handle(_ packet: RawSpan, now: Instant) {
        association?.handle(packet, now: now)
        settle(now: now)
    }

    package var nextDeadline: Instant? { endReason == nil ? association?.nextDeadline : nil }

    package func handleTimeout(now: Instant) {
        association?.handleTimeout(now: now)
        settle(now: now)
    }

    package func pollTransmit() -> [UInt8]? { association?.pollTransmit() }

    package func pollEvent() -> DataChannelEvent? {
        events.isEmpty ? nil : events.removeFirst()
    }

    // MARK: Inside

    private func makeID() -> DataChannelID {
        defer { nextNumber += 1 }
        return DataChannelID(number: nextNumber)
    }

    /// Passes on what the association says, until what follows from it says nothing more.
    private func settle(now: Instant) {
        repeat {
            while let event = association?.pollEvent() { take(event, now: now) }
            announce()
            flush(now: now)
        } while association?.hasEvents == true
    }

    private func take(_ event: SCTPAssociation.Event, now: Instant) {
        // What came before the end and was not looked at changes nothing any more.
        guard endReason == nil else { return }
        switch event {
        case .connected: break
        case .message(let stream, let ppid, let bytes): receive(bytes, ppid: ppid, stream: stream, now: now)
        case .transmitted(let stream, let byteCount): didTransmit(byteCount, stream: stream)
        case .incomingReset(let streams):
            for stream in streams { didResetIncoming(stream) }
        case .outgoingReset(let streams):
            for stream in streams {
                refused.remove(stream)
                guard let id = idOfStream[stream], let channel = channels[id], channel.state == .resetting else {
                    continue
                }
                channel.isOutgoingReset = true
                finishIfReset(id, stream)
            }
        case .resetRefused(let streams):
            for stream in streams { didRefuseReset(stream) }
        case .drained:
            for (id, channel) in channels where channel.didDrain() { tellBufferedAmount(of: id, channel) }
        case .closed(let reason):
            close(reason: reason)
        }
    }

    // MARK: Receiving

    private func receive(_ bytes: [UInt8], ppid: UInt32, stream: UInt16, now: Instant) {
        if ppid == DCEPMessage.ppid {
            switch DCEPMessage(parsing: bytes.span.bytes) {
            case .open(let parameters): accept(parameters, stream: stream, now: now)
            case .acknowledge: didBecomeKnown(stream)
            case nil: break
            }
            return
        }
        guard let id = idOfStream[stream] else { return }
        didBecomeKnown(stream)
        guard let payload = DataChannelPayload(ppid: ppid, bytes: bytes) else { return }
        events.append(.message(id, payload))
    }

    private func didBecomeKnown(_ stream: UInt16) {
        if let id = idOfStream[stream] { channels[id]?.isKnownToPeer = true }
    }

    /// The peer opens a channel. One on a stream in use, or on one of ours, is refused by a reset (RFC 8832 §6).
    private func accept(_ parameters: DataChannelParameters, stream: UInt16, now: Instant) {
        let isPeersNumber = (stream % 2 == 0) != isClient
        guard isPeersNumber, idOfStream[stream] == nil, stream < outgoingStreamCount,
            channels.count < Self.maximumChannels,
            incomingTextByteCount(with: parameters) <= Self.maximumIncomingTextByteCount
        else {
            guard idOfStream[stream] == nil, !refused.contains(stream) else { return }
            refused.insert(stream)
            association?.reset([stream], now: now)
            return
        }
        let id = makeID()
        let channel = DataChannel(parameters)
        channel.state = .open
        channel.stream = stream
        channel.isKnownToPeer = true
        channel.isIncoming = true
        channel.append(.acknowledge)
        channels[id] = channel
        idOfStream[stream] = id
        events.append(.incoming(id, parameters))
    }

    /// A channel needs a stream each way: without ours it could be neither acknowledged nor closed.
    private var outgoingStreamCount: UInt16 { association?.outgoingStreamCount ?? 0 }

    private func incomingTextByteCount(with parameters: DataChannelParameters) -> Int {
        channels.values.reduce(parameters.textByteCount) { sum, channel in
            sum + (channel.isIncoming ? channel.parameters.textByteCount : 0)
        }
    }

    private func didResetIncoming(_ stream: UInt16) {
        guard let id = idOfStream[stream], let channel = channels[id] else { return }
        channel.isIncomingReset = true
        if channel.state == .open || channel.state == .connecting {
            channel.state = .closing
            events.append(.closing(id))
        }
        // The peer reads nothing more: what waits is of no use (W3C: the closing procedure of a peer's reset).
        channel.removeAll()
        finishIfReset(id, stream)
    }

    /// The channel ends on this side alone, and as the peer may know of none, its stream is not used again.
    private func didRefuseReset(_ stream: UInt16) {
        refused.insert(stream)
        guard let id = idOfStream[stream], channels[id]?.state == .resetting else { return }
        channels[id] = nil
        idOfStream[stream] = nil
        events.append(.closed(id, reason: ""))
    }

    private func finishIfReset(_ id: DataChannelID, _ stream: UInt16) {
        guard let channel = channels[id], channel.isIncomingReset, channel.isOutgoingReset else { return }
        channels[id] = nil
        idOfStream[stream] = nil
        events.append(.closed(id, reason: ""))
    }

    // MARK: Sending

    /// Gives channels of ours their streams, in the order in which they were made, and says so to the peer.
    private func announce() {
        guard isConnected else { return }
        let waiting = channels.filter { $0.value.state == .connecting && $0.value.stream == nil }.keys
        for id in waiting.sorted(by: { $0.number < $1.number }) {
            guard let channel = channels[id] else { continue }
            guard let stream = freeStream() else {
                // One that is about to be free is waited for.
                if channels.values.contains(where: { $0.state == .closing || $0.state == .resetting }) { return }
                channels[id] = nil
                let reason =
                    "The peer has no stream for one more data channel (it takes \(outgoingStreamCount)); close one first."
                events.append(.closed(id, reason: reason))
                continue
            }
            channel.stream = stream
            channel.state = .open
            channel.append(.open(channel.parameters))
            idOfStream[stream] = id
            events.append(.opened(id))
        }
    }

    private func freeStream() -> UInt16? {
        stride(from: isClient ? 0 : 1, to: outgoingStreamCount, by: 2)
            .first { idOfStream[$0] == nil && !refused.contains($0) }
    }

    /// Hands messages to SCTP as far as it has room, and resets streams that are to be closed and have nothing left.
    private func flush(now: Instant) {
        guard let association, association.isConnected else { return }
        // One message of each channel in turn, so that a long queue holds no other channel up.
        var active = channels.filter { !$0.value.isQueueEmpty }.keys.sorted { $0.number < $1.number }
        while !active.isEmpty {
            active = active.filter { sendNext(of: $0, now: now) }
        }
        var finished: [UInt16] = []
        for channel in channels.values where channel.state == .closing && channel.isQueueEmpty {
            guard let stream = channel.stream else { continue }
            channel.state = .resetting
            finished.append(stream)
        }
        if !finished.isEmpty { association.reset(finished.sorted(), now: now) }
    }

    /// Whether the channel has more that can be sent now.
    private func sendNext(of id: DataChannelID, now: Instant) -> Bool {
        guard let association, let channel = channels[id], let stream = channel.stream, let message = channel.first
        else { return false }
        let result = association.send(
            message.bytes, stream: stream, ppid: message.ppid,
            isOrdered: message.isControl || channel.parameters.isOrdered || !channel.isKnownToPeer,
            reliability: message.isControl ? .reliable : channel.parameters.reliability, now: now)
        switch result {
        case .full: return false
        case .refused(let code):
            // A message that is lost in silence would break what reliable channels promise.
            channels[id] = nil
            idOfStream[stream] = nil
            events.append(.closed(id, reason: "SCTP does not take the channel's messages any more (errno \(code))."))
            refused.insert(stream)
            association.reset([stream], now: now)
            return false
        case .sent:
            channel.removeFirst()
            return !channel.isQueueEmpty
        }
    }

    private func didTransmit(_ byteCount: Int, stream: UInt16) {
        guard let id = idOfStream[stream], let channel = channels[id], channel.didTransmit(byteCount) else { return }
        tellBufferedAmount(of: id, channel)
    }

    private func tellBufferedAmount(of id: DataChannelID, _ channel: DataChannel) {
        // Several changes until somebody looks are one.
        if case .bufferedAmountChanged(id, _)? = events.last { events.removeLast() }
        events.append(.bufferedAmountChanged(id, channel.bufferedAmount))
    }
}
