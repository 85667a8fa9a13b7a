import CEmisoraOpenSSL

/// OpenSSL's door to the outside: one incoming datagram at a time, a queue of outgoing ones. Keeps datagram borders,
/// which OpenSSL's own memory BIO does not.
final class DatagramBIO {
    /// Datagrams above this are not sent by anyone on a path of 1500 bytes.
    static let maximumDatagramByteCount = 2048
    /// A flight is at most a dozen datagrams; more waiting means that nobody drains.
    private static let maximumQueueCount = 64

    /// The `BIO *` that refers back to this object; owned by the `SSL` it is given to.
    private(set) var handle: OpaquePointer?
    /// Bytes that one outgoing datagram may have.
    let maximumTransmissionUnit: Int

    private var incoming: [UInt8] = []
    private var outgoing: [[UInt8]] = []
    private var outgoingHead = 0

    init?(maximumTransmissionUnit: Int) {
        self.maximumTransmissionUnit = maximumTransmissionUnit
        guard let method = Self.method.pointer, let handle = BIO_new(method) else { return nil }
        self.handle = handle
        BIO_set_data(handle, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(handle, 1)
    }

    /// Makes `datagram` what OpenSSL reads next. One that it has not read is lost, as on any network.
    func supply(_ datagram: RawSpan) {
        incoming.removeAll(keepingCapacity: true)
        guard datagram.byteCount <= Self.maximumDatagramByteCount else { return }
        datagram.withUnsafeBytes { incoming.append(contentsOf: $0) }
    }

    /// Writes the next outgoing datagram into `buffer`; `nil` when there is none.
    func takeOutgoing(into buffer: inout MutableRawSpan) -> Int? {
        while outgoingHead < outgoing.count {
            let datagram = outgoing[outgoingHead]
            outgoing[outgoingHead] = []
            outgoingHead += 1
            if outgoingHead == outgoing.count {
                outgoing.removeAll(keepingCapacity: true)
                outgoingHead = 0
            }
            guard datagram.count <= buffer.byteCount else { continue }
            buffer.withUnsafeMutableBytes { to in datagram.withUnsafeBytes { to.copyMemory(from: $0) } }
            return datagram.count
        }
        return nil
    }

    // MARK: What OpenSSL calls

    /// Owner of the method table; made once per process and never freed, as OpenSSL expects of method tables.
    private struct Method: @unchecked Sendable {
        // Invariant behind `@unchecked Sendable`: written during the one-time initialisation, only read afterwards.
        let pointer: OpaquePointer?

        init() {
            pointer = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams")
            guard let pointer else { return }
            BIO_meth_set_write(pointer) { bio, bytes, count in
                guard let bytes, count >= 0 else { return -1 }
                return DatagramBIO.from(bio)?.write(UnsafeRawBufferPointer(start: bytes, count: Int(count))) ?? -1
            }
            BIO_meth_set_read(pointer) { bio, bytes, count in
                guard let bytes, count >= 0 else { return -1 }
                emisora_bio_clear_retry(bio)
                let read = DatagramBIO.from(bio)?.read(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
                if read == nil { emisora_bio_set_retry_read(bio) }
                return read ?? -1
            }
            BIO_meth_set_ctrl(pointer) { bio, command, _, _ in DatagramBIO.from(bio)?.control(command) ?? 0 }
        }
    }

    private static let method = Method()

    private static func from(_ bio: OpaquePointer?) -> DatagramBIO? {
        guard let data = BIO_get_data(bio) else { return nil }
        return Unmanaged<DatagramBIO>.fromOpaque(data).takeUnretainedValue()
    }

    private func write(_ datagram: UnsafeRawBufferPointer) -> Int32 {
        // A full queue drops, as a network would; the retransmission timer repairs it.
        if outgoing.count - outgoingHead < Self.maximumQueueCount { outgoing.append(Array(datagram)) }
        return Int32(datagram.count)
    }

    private func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int32? {
        guard !incoming.isEmpty else { return nil }
        let count = min(buffer.count, incoming.count)
        incoming.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[0..<count])) }
        incoming.removeAll(keepingCapacity: true)
        return Int32(count)
    }

    private func control(_ command: Int32) -> Int {
        switch command {
        case BIO_CTRL_FLUSH, BIO_CTRL_DGRAM_SET_NEXT_TIMEOUT: 1
        case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU: maximumTransmissionUnit
        case BIO_CTRL_PENDING: incoming.count
        default: 0
        }
    }
}
