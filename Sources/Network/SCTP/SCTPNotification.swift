import CEmisoraSCTP

/// What usrsctp tells beside messages (RFC 6458 §6.1), as far as it is used.
enum SCTPNotification: Equatable {
    /// The association is there; so many streams of ours the peer takes.
    case up(outgoingStreamCount: UInt16)
    case restarted
    case lost
    /// A message, or the rest of one, was given up before it went out.
    case sendFailed(stream: UInt16, byteCount: Int)
    case partialDeliveryAborted
    case incomingReset([UInt16])
    case outgoingReset([UInt16])

    init?(_ bytes: UnsafeRawBufferPointer) {
        let fields = Fields(bytes: bytes)
        // All begin with type, flags and length.
        guard let type = fields[\sctp_assoc_change.sac_type], let flags = fields[\sctp_assoc_change.sac_flags],
            let length = fields[\sctp_assoc_change.sac_length], Int(length) <= bytes.count
        else { return nil }
        switch Int32(type) {
        case SCTP_ASSOC_CHANGE:
            guard let state = fields[\sctp_assoc_change.sac_state] else { return nil }
            switch Int32(state) {
            case SCTP_COMM_UP:
                guard let count = fields[\sctp_assoc_change.sac_outbound_streams] else { return nil }
                self = .up(outgoingStreamCount: count)
            case SCTP_RESTART: self = .restarted
            default: self = .lost
            }
        case SCTP_SEND_FAILED_EVENT:
            guard Int32(flags) & SCTP_DATA_SENT == 0,
                let stream = fields[\sctp_send_failed_event.ssfe_info.snd_sid]
            else { return nil }
            self = .sendFailed(
                stream: stream, byteCount: max(0, Int(length) - MemoryLayout<sctp_send_failed_event>.size))
        case SCTP_PARTIAL_DELIVERY_EVENT: self = .partialDeliveryAborted
        case SCTP_STREAM_RESET_EVENT:
            guard Int32(flags) & (SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED) == 0 else { return nil }
            let list = stride(from: MemoryLayout<sctp_stream_reset_event>.size, to: Int(length) - 1, by: 2)
            let streams = list.map { bytes.loadUnaligned(fromByteOffset: $0, as: UInt16.self) }
            self =
                Int32(flags) & SCTP_STREAM_RESET_INCOMING_SSN != 0
                ? .incomingReset(streams) : .outgoingReset(streams)
        default: return nil
        }
    }

    /// Reads members of C structures with a flexible end, which cannot be loaded as a whole.
    private struct Fields {
        let bytes: UnsafeRawBufferPointer

        subscript<Root, Value: FixedWidthInteger & BitwiseCopyable>(path: KeyPath<Root, Value>) -> Value? {
            guard let offset = MemoryLayout<Root>.offset(of: path),
                bytes.count - offset >= MemoryLayout<Value>.size
            else { return nil }
            return bytes.loadUnaligned(fromByteOffset: offset, as: Value.self)
        }
    }
}
