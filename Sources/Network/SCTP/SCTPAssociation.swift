import CEmisoraSCTP
import EmisoraCore

/// One SCTP association over DTLS (RFC 8261), without socket or thread; the owner of its usrsctp handle.
///
/// Give it the peer's packets and time-outs, then drain `pollTransmit` and `pollEvent`. Confined to one thread, while
/// associations of other threads share the library (``SCTPLibrary``).
package final class SCTPAssociation {
    package enum Event: Equatable, Sendable {
        case connected
        case message(stream: UInt16, ppid: UInt32, bytes: [UInt8])
        /// So many bytes of a stream have gone out for the first time, or were given up before.
        case transmitted(stream: UInt16, byteCount: Int)
        /// The peer will send nothing more on these (RFC 6525).
        case incomingReset([UInt16])
        /// Nothing more of ours is on these, and the peer knows.
        case outgoingReset([UInt16])
        /// These cannot be reset: the peer has no such streams, or knows no resets. It will not reset them either.
        case resetRefused([UInt16])
        /// Everything that was sent is acknowledged, or given up.
        case drained
        case closed(reason: String)
    }

    /// How hard a message is tried (RFC 3758, RFC 7496).
    package enum Reliability: Hashable, Sendable {
        case reliable
        /// So many repetitions at the most.
        case maxRetransmits(UInt16)
        /// So many milliseconds at the most.
        case maxPacketLifeTime(UInt16)
    }

    package enum SendResult: Equatable, Sendable {
        case sent
        /// There is no room yet.
        case full
        case refused(code: Int32)
    }

    /// Streams each way. Browsers number channels from 0 and 1 up by twos, so that many more are never in use.
    package static let streamCount: UInt16 = 1_024
    /// With DTLS around it (37 bytes) and what TURN adds, a datagram of every path of the Internet.
    package static let maximumPacketByteCount = 1_160
    /// A message that the peer sends; what is announced as `a=max-message-size`.
    package static let maximumMessageByteCount = 262_144
    private static let bufferByteCount: Int32 = 524_288
    private static let tick: Duration = .milliseconds(10)
    /// usrsctp does not say when its timers are due. Soon after packets went they are looked at every tick, while
    /// something is unacknowledged every few, and with nothing under way not at all.
    private static let lively: Duration = .milliseconds(500)
    private static let slowTick: Duration = .milliseconds(50)

    private let handle: OpaquePointer
    private let address: UInt
    private var isOpen = true
    /// The peer is through, or what it sent cannot be gone on with: nothing more is read.
    private var isEnded = false
    package private(set) var isConnected = false
    /// Streams of ours, from 0, that both sides have; 0 until it is connected.
    package private(set) var outgoingStreamCount: UInt16 = 0
    private var events: [Event] = []
    private var packets: [[UInt8]] = []
    private var nextPacket = 0
    /// A message that has not come in full.
    private var partial: [UInt8] = []
    /// Nothing has been under way for a while, so that no timer of the library's is of use.
    private var isQuiet = false
    /// Streams of ours that are to be reset, until they are.
    private var resetting: Set<UInt16> = []
    private var lastActivity: Instant
    private var lastTick: Instant
    private var highestTSN: UInt32?
    /// Nothing is read while its reader has enough: the peer's window closes then.
    private var isReadingPaused = false

    /// What an association offers: a peer may have fewer streams, and know no way to reset them.
    package struct Abilities: Sendable {
        package var incomingStreamCount = SCTPAssociation.streamCount
        package var resetsStreams = true
        package init() {}
    }

    /// What our descriptions say (`DataChannelSection.port`).
    private static let localPort: UInt16 = 5_000

    /// Begins to connect: both sides do (RFC 8841 §9.3).
    package init(remotePort: UInt16, abilities: Abilities = Abilities(), now: Instant) throws(SCTPError) {
        let address = SCTPLibrary.makeAddress()
        let pointer = UnsafeMutableRawPointer(bitPattern: address)
        do throws(SCTPError) {
            handle = try SCTPLibrary.call(now: now) { () throws(SCTPError) -> SendableHandle in
                usrsctp_register_address(pointer)
                guard let socket = emisora_sctp_socket() else {
                    let code = emisora_sctp_errno()
                    usrsctp_deregister_address(pointer)
                    throw .system(operation: "Making an SCTP socket", code: code)
                }
                var options = emisora_sctp_options(
                    buffer_size: Self.bufferByteCount, streams: Self.streamCount,
                    incoming_streams: abilities.incomingStreamCount, has_resets: abilities.resetsStreams ? 1 : 0,
                    // The least is above the 200 ms that a peer may delay its acknowledgement.
                    initial_rto: 500, minimum_rto: 220, maximum_rto: 2_000)
                guard emisora_sctp_configure(socket, &options) == 0,
                    emisora_sctp_connect(
                        socket, pointer, Self.localPort, remotePort, UInt32(Self.maximumPacketByteCount)) == 0
                else {
                    let code = emisora_sctp_errno()
                    usrsctp_close(socket)
                    usrsctp_deregister_address(pointer)
                    throw .system(operation: "Setting up an SCTP association", code: code)
                }
                return SendableHandle(socket)
            }.pointer
        } catch {
            SCTPLibrary.removeAddress(address)
            throw error
        }
        self.address = address
        lastActivity = now
        lastTick = now
        collect(now: now)
    }

    /// Invariant behind `@unchecked Sendable`: the pointer only crosses the library's mutex, on one thread.
    private struct SendableHandle: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
    }

    deinit {
        close()
        SCTPLibrary.removeAddress(address)
    }

    // MARK: Packets and time

    /// Takes one SCTP packet that DTLS has authenticated.
    package func handle(_ packet: RawSpan, now: Instant) {
        guard isOpen, SCTPPacket.isAcceptable(packet) else { return }
        let address = address
        SCTPLibrary.receive(now: now) { _ in
            packet.withUnsafeBytes {
                usrsctp_conninput(UnsafeMutableRawPointer(bitPattern: address), $0.baseAddress, $0.count, 0)
            }
        }
        touch(now)
        read(now: now)
        collect(now: now)
    }

    package var nextDeadline: Instant? {
        guard isOpen else { return nil }
        if isQuiet { return nil }
        return lastTick + (lastTick - lastActivity < Self.lively ? Self.tick : Self.slowTick)
    }

    package func handleTimeout(now: Instant) {
        guard isOpen, now - lastTick >= Self.tick else { return }
        lastTick = now
        let socket = SendableHandle(handle)
        let isOutstanding = SCTPLibrary.call(now: now) { emisora_sctp_is_outstanding(socket.pointer) != 0 }
        resetAgain(now: now)
        read(now: now)
        collect(now: now)
        guard now - lastActivity >= Self.lively, isConnected, !isOutstanding, resetting.isEmpty, !isQuiet else {
            return
        }
        isQuiet = true
        events.append(.drained)
    }

    private func touch(_ now: Instant) {
        // After a quiet time the next tick is one from now.
        if isQuiet { lastTick = now }
        isQuiet = false
        lastActivity = now
    }

    /// The next SCTP packet to be sent as one DTLS record.
    package func pollTransmit() -> [UInt8]? {
        guard nextPacket < packets.count else {
            if !packets.isEmpty { packets.removeAll(keepingCapacity: true) }
            nextPacket = 0
            return nil
        }
        defer { nextPacket += 1 }
        return packets[nextPacket]
    }

    package func pollEvent() -> Event? {
        events.isEmpty ? nil : events.removeFirst()
    }

    package func setReadingPaused(_ isPaused: Bool, now: Instant) {
        isReadingPaused = isPaused
        guard !isPaused, isOpen else { return }
        touch(now)
        read(now: now)
        collect(now: now)
    }

    package var hasEvents: Bool { !events.isEmpty }

    // MARK: Sending

    /// A message as a whole; an empty one cannot be sent (RFC 8831 §6.6).
    package func send(
        _ bytes: [UInt8], stream: UInt16, ppid: UInt32, isOrdered: Bool, reliability: Reliability, now: Instant
    ) -> SendResult {
        guard isOpen, isConnected, !bytes.isEmpty else { return .refused(code: emisora_sctp_not_connected) }
        let (policy, value): (Int32, UInt32) =
            switch reliability {
            case .reliable: (SCTP_PR_SCTP_NONE, 0)
            case .maxRetransmits(let count): (SCTP_PR_SCTP_RTX, UInt32(count))
            case .maxPacketLifeTime(let milliseconds): (SCTP_PR_SCTP_TTL, UInt32(milliseconds))
            }
        let socket = SendableHandle(handle)
        let code = SCTPLibrary.call(now: now) {
            bytes.withUnsafeBytes {
                emisora_sctp_send(
                    socket.pointer, $0.baseAddress, $0.count, stream, ppid, isOrdered ? 1 : 0, UInt16(policy), value)
            } < 0 ? emisora_sctp_errno() : 0
        }
        if code == 0 { touch(now) }
        // A lossless answer of the peer's may have made room for more meanwhile, also where this message had none.
        collect(now: now)
        return code == 0 ? .sent : code == emisora_sctp_would_block ? .full : .refused(code: code)
    }

    /// Ends our side of streams, once what was sent on them is acknowledged.
    package func reset(_ streams: [UInt16], now: Instant) {
        resetting.formUnion(streams)
        touch(now)
        resetAgain(now: now)
        collect(now: now)
    }

    /// Says ABORT to the peer, which `pollTransmit` gives; nothing is sent or accepted afterwards.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        let (socket, address) = (SendableHandle(handle), address)
        SCTPLibrary.call(now: lastTick) {
            usrsctp_close(socket.pointer)
            usrsctp_deregister_address(UnsafeMutableRawPointer(bitPattern: address))
        }
        packets += SCTPLibrary.takePackets(of: address)
    }

    // MARK: Inside

    /// One request is under way at a time (RFC 6525 §5.1.1), and none for a stream with something unacknowledged, so it is
    /// repeated until the library has done it.
    private func resetAgain(now: Instant) {
        guard isOpen, isConnected else { return }
        // One number that is not in use and the library refuses all of a request.
        refuseResets(resetting.filter { $0 >= outgoingStreamCount })
        guard !resetting.isEmpty else { return }
        let streams = Array(resetting.sorted().prefix(256))
        let socket = SendableHandle(handle)
        let code = SCTPLibrary.call(now: now) {
            streams.withUnsafeBufferPointer {
                emisora_sctp_reset(socket.pointer, $0.baseAddress, UInt16($0.count)) < 0 ? emisora_sctp_errno() : 0
            }
        }
        // Other codes are of requests that are under way.
        if code == emisora_sctp_invalid || code == emisora_sctp_unsupported { refuseResets(Set(streams)) }
    }

    private func refuseResets(_ streams: Set<UInt16>) {
        guard !streams.isEmpty else { return }
        resetting.subtract(streams)
        events.append(.resetRefused(streams.sorted()))
    }

    /// Takes what the library has to send, and sees in it what goes out for the first time.
    private func collect(now: Instant) {
        let new = SCTPLibrary.takePackets(of: address)
        guard !new.isEmpty else { return }
        touch(now)
        for packet in new {
            SCTPPacket.forEachData(in: packet.span.bytes) { tsn, stream, byteCount in
                if let highestTSN, Int32(bitPattern: tsn &- highestTSN) <= 0 { return }
                highestTSN = tsn
                events.append(.transmitted(stream: stream, byteCount: byteCount))
            }
        }
        packets += new
    }

    /// Reads what has come, in the order it is delivered.
    private func read(now: Instant) {
        guard isOpen, !isEnded, !isReadingPaused else { return }
        let socket = SendableHandle(handle)
        var isAtEnd = false
        SCTPLibrary.receive(now: now) { buffer in
            // Bounded by the receive window; the count only guards against a library that never ends.
            for _ in 0..<100_000 {
                var (stream, ppid, isComplete, isNotification) = (UInt16(0), UInt32(0), Int32(0), Int32(0))
                let count = emisora_sctp_receive(
                    socket.pointer, buffer.baseAddress, buffer.count, &stream, &ppid, &isComplete, &isNotification)
                guard count > 0 else {
                    isAtEnd = count == 0
                    return
                }
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                if isNotification != 0 {
                    notify(SCTPNotification(bytes))
                } else {
                    receive(bytes, stream: stream, ppid: ppid, isComplete: isComplete != 0)
                }
                if isEnded { return }
            }
        }
        if isAtEnd, isConnected { end("The peer ended its data channels.") }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, stream: UInt16, ppid: UInt32, isComplete: Bool) {
        guard partial.count + bytes.count <= Self.maximumMessageByteCount else {
            partial = []
            return end("The peer sent a message of more than \(Self.maximumMessageByteCount) bytes.")
        }
        partial += bytes
        guard isComplete else { return }
        events.append(.message(stream: stream, ppid: ppid, bytes: partial))
        partial = []
    }

    private func notify(_ notification: SCTPNotification?) {
        switch notification {
        case .up(let outgoingStreamCount):
            guard !isConnected else { return }
            isConnected = true
            self.outgoingStreamCount = min(outgoingStreamCount, Self.streamCount)
            events.append(.connected)
        case .restarted: end("The peer began its data channels anew within the connection.")
        case .lost: end("The peer ended its data channels.")
        case .sendFailed(let stream, let byteCount):
            events.append(.transmitted(stream: stream, byteCount: byteCount))
        case .partialDeliveryAborted: partial = []
        case .incomingReset(let streams): events.append(.incomingReset(streams))
        case .outgoingReset(let streams):
            resetting.subtract(streams)
            events.append(.outgoingReset(streams))
        case nil: break
        }
    }

    private func end(_ reason: String) {
        guard !isEnded else { return }
        isEnded = true
        isConnected = false
        resetting = []
        events.append(.closed(reason: reason))
    }
}
