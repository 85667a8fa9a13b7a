import EmisoraCapture
import EmisoraCore

/// Packets between the network thread, which must not wait, and the thread that writes them, which may have to.
///
/// A packet is made a block at once and appended to what waits; the writing thread takes all of it together. Bounded in
/// bytes: what does not fit is dropped, counted, and told in the file with the next packet that fits.
final class PacketDumpQueue: Sendable {
    private struct State: Sendable {
        var pending: [UInt8] = []
        var pendingPackets: UInt64 = 0
        var statistics = PacketDump.Statistics()
        /// Since the last packet that was taken.
        var droppedSince: UInt64 = 0
        var lastNanoseconds: UInt64 = 0
        var failure: Int32?
        var isFinished = false
    }

    private let state: Monitor<State>
    private let byteLimit: Int
    private let sink: @Sendable ([UInt8]) -> Int32?
    private let onFailure: @Sendable (Int32) -> Void

    /// - Parameter sink: Writes all the bytes; gives the system's error where it could not.
    init(
        byteLimit: Int, sink: @escaping @Sendable ([UInt8]) -> Int32?, onFailure: @escaping @Sendable (Int32) -> Void
    ) {
        var state = State()
        PcapngBlocks.appendHeader(application: "Emisora", interface: "emisora", to: &state.pending)
        self.state = Monitor(state)
        self.byteLimit = byteLimit
        self.sink = sink
        self.onFailure = onFailure
    }

    var statistics: PacketDump.Statistics { state.withLock { $0.statistics } }
    var failure: Int32? { state.withLock { $0.failure } }

    /// Takes a packet, or drops it; answers whether the writing thread has to be woken for it.
    func append(
        _ packet: RawSpan, from source: SocketAddress, to destination: SocketAddress,
        _ direction: PcapngBlocks.Direction, transport: TransportProtocol = .udp, nanoseconds: UInt64
    ) -> Bool {
        state.withLock { state in
            state.lastNanoseconds = max(state.lastNanoseconds, nanoseconds)
            let needed = packet.byteCount + PcapngBlocks.maximumOverhead
            guard !state.isFinished, state.failure == nil, packet.byteCount <= PcapngBlocks.maximumPayloadByteCount,
                source.ip.family == destination.ip.family, state.pending.count + needed <= byteLimit
            else {
                state.statistics.packetsDropped += 1
                state.droppedSince += 1
                return false
            }
            PcapngBlocks.appendDatagram(
                packet, from: source, to: destination, direction, transport: transport, nanoseconds: nanoseconds,
                lost: state.droppedSince, to: &state.pending)
            state.droppedSince = 0
            state.pendingPackets += 1
            return state.pendingPackets == 1
        }
    }

    /// Writes what waits. On one thread at a time.
    func write() {
        let (bytes, packets) = state.withLock { state in
            let taken = (state.pending, state.pendingPackets)
            state.pending = []
            state.pendingPackets = 0
            return taken
        }
        guard !bytes.isEmpty else { return }
        let code = failure ?? sink(bytes)
        let isNew = state.withLock { state in
            if let code {
                // Part of them may be in the file; none of them is promised.
                state.statistics.packetsDropped += packets
                defer { state.failure = code }
                return state.failure == nil
            }
            state.statistics.packetsWritten += packets
            return false
        }
        if let code, isNew { onFailure(code) }
    }

    /// Writes the rest and the totals. The writing thread must have ended.
    func finish() {
        let isFirst = state.withLock { state in
            defer { state.isFinished = true }
            return !state.isFinished
        }
        guard isFirst else { return }
        write()
        state.withLock { state in
            let statistics = state.statistics
            PcapngBlocks.appendStatistics(
                nanoseconds: state.lastNanoseconds, received: statistics.packetsWritten + statistics.packetsDropped,
                dropped: statistics.packetsDropped, to: &state.pending)
        }
        write()
    }
}
