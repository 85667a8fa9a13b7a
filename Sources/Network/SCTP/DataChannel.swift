/// One of the `DataChannels`: its state, its stream, and what waits for SCTP to have room.
final class DataChannel {
    enum State {
        case connecting
        case open
        /// What is queued still goes, then our stream is reset.
        case closing
        /// It is about to be: waits for the peer's side, ours, or both.
        case resetting
    }

    struct Message {
        var ppid: UInt32
        var bytes: [UInt8]
        /// Of DCEP, not the user's.
        var isControl: Bool
    }

    let parameters: DataChannelParameters
    var state = State.connecting
    var stream: UInt16?
    /// The peer opened it.
    var isIncoming = false
    /// The peer knows the channel: until then all goes in order behind the opening (RFC 8832 §6).
    var isKnownToPeer = false
    var isIncomingReset = false
    var isOutgoingReset = false
    /// Of messages that have not gone out.
    private(set) var bufferedAmount = 0

    private var queue: [Message] = []
    private var queueStart = 0
    /// Of what is ours on the stream before them.
    private var controlByteCount = 0

    init(_ parameters: DataChannelParameters) { self.parameters = parameters }

    var isQueueEmpty: Bool { queueStart == queue.count }
    var first: Message? { isQueueEmpty ? nil : queue[queueStart] }

    func append(_ payload: DataChannelPayload) {
        let wire = payload.wire
        bufferedAmount += wire.bytes.count
        queue.append(Message(ppid: wire.ppid, bytes: wire.bytes, isControl: false))
    }

    func append(_ message: DCEPMessage) {
        let bytes = message.bytes
        controlByteCount += bytes.count
        queue.append(Message(ppid: DCEPMessage.ppid, bytes: bytes, isControl: true))
    }

    /// SCTP has the first message.
    func removeFirst() {
        guard !isQueueEmpty else { return }
        queue[queueStart].bytes = []
        queueStart += 1
        // Moved up now and then only, so that a long queue costs no more than a short one.
        if isQueueEmpty || queueStart >= 1_024 {
            queue.removeFirst(queueStart)
            queueStart = 0
        }
    }

    /// What waits is of no use any more.
    func removeAll() {
        queue = []
        queueStart = 0
    }

    /// That much has gone out. Whether `bufferedAmount` is another for it.
    func didTransmit(_ byteCount: Int) -> Bool {
        let control = min(byteCount, controlByteCount)
        controlByteCount -= control
        return setBufferedAmount(max(0, bufferedAmount - (byteCount - control)))
    }

    /// SCTP has nothing left to send. Whether `bufferedAmount` is another for it.
    func didDrain() -> Bool {
        guard isQueueEmpty, bufferedAmount > 0 else { return false }
        controlByteCount = 0
        return setBufferedAmount(0)
    }

    private func setBufferedAmount(_ amount: Int) -> Bool {
        defer { bufferedAmount = amount }
        return amount != bufferedAmount
    }
}
