import EmisoraCore
import EmisoraSCTP
import EmisoraSDP

/// Data channels: SCTP packets are DTLS records (RFC 8261), so that only what the authenticated peer sent reaches them.
///
/// They have the congestion control of SCTP, which knows nothing of that of media: large transfers and media share a path
/// as two connections would.
extension PeerEngine {
    /// Makes a channel, also before there is a connection.
    package func openDataChannel(
        _ parameters: DataChannelParameters, now: Instant
    ) throws(DataChannelError) -> DataChannelID {
        guard let dataChannels, negotiated == nil || negotiated?.data != nil else { throw .notNegotiated }
        defer { settle(now: now) }
        return try dataChannels.open(parameters, now: now)
    }

    package func send(
        _ payload: DataChannelPayload, on channel: DataChannelID, now: Instant
    ) throws(DataChannelError) {
        guard let dataChannels else { throw .notNegotiated }
        try dataChannels.send(payload, on: channel, now: now)
    }

    package func closeDataChannel(_ channel: DataChannelID, now: Instant) {
        dataChannels?.close(channel, now: now)
    }

    package func pollDataChannelEvent() -> DataChannelEvent? { dataChannels?.pollEvent() }

    /// While it holds nothing more is read, and the peer's window closes: for who has unread messages enough.
    package func setDataChannelReadingPaused(_ isPaused: Bool, now: Instant) {
        dataChannels?.setReadingPaused(isPaused, now: now)
    }

    /// Bytes of a channel's messages that have not gone out yet.
    package func bufferedAmount(of channel: DataChannelID) -> Int { dataChannels?.bufferedAmount(of: channel) ?? 0 }

    /// What the peer takes of one message.
    package var maximumDataChannelMessageByteCount: Int { dataChannels?.maximumMessageByteCount ?? 0 }

    /// Begins SCTP when the keys are there and the descriptions have it, in whatever order.
    func connectDataChannels(now: Instant) {
        guard let dataChannels, let negotiated else { return }
        guard let data = negotiated.data else {
            return dataChannels.withdraw(reason: "The peer takes no data channels.")
        }
        dataChannels.setMaximumMessageByteCount(data.maximumMessageSize)
        guard security.isEstablished else { return }
        dataChannels.connect(isClient: negotiated.dtlsRole == .client, remotePort: data.remotePort, now: now)
    }

    func takeApplicationData(now: Instant) {
        while let record = security.pollApplicationData() {
            dataChannels?.handle(record.span.bytes, now: now)
        }
    }

    /// Packets stay with SCTP until DTLS can take them.
    func pollDataChannels(into buffer: inout MutableRawSpan, now: Instant) -> Int? {
        guard let dataChannels, security.canSendApplicationData, let packet = dataChannels.pollTransmit(),
            security.sendApplicationData(packet)
        else { return nil }
        return pollSecurity(into: &buffer, now: now)
    }

    /// The last words go out before those of DTLS.
    func closeDataChannels(reason: String) {
        guard let dataChannels else { return }
        dataChannels.close(reason: reason)
        while security.canSendApplicationData, let packet = dataChannels.pollTransmit() {
            _ = security.sendApplicationData(packet)
        }
    }
}
