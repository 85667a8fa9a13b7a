import EmisoraCapture
import EmisoraCore
import EmisoraICE
import EmisoraPeerEngine

/// What a session's peers send and receive, as a pcapng file that Wireshark opens: RTP and RTCP decrypted, STUN and DTLS
/// as they are on the wire, each in a UDP datagram between the addresses of its path, also where that is a TCP
/// connection, which a comment at the packet says.
///
/// ```swift
/// let dump = try PacketDump(path: "call.pcapng")
/// let session = try await Session.connect(to: url, options: .init(packetDump: dump))
/// …
/// await session.disconnect()
/// try dump.finish()
/// ```
///
/// Wireshark takes what follows a DTLS handshake for encrypted: `--disable-protocol dtls --enable-heuristic rtp_udp`
/// lets it read RTP and RTCP.
///
/// The file is written on a thread of its own. Where the disk is slower than the network packets are left out and
/// counted, here and in the file; the session never waits. Who can read the file can see and hear the call: it is made
/// for its owner alone (mode 0600).
public final class PacketDump: Sendable {
    public struct Statistics: Hashable, Sendable {
        public var packetsWritten: UInt64 = 0
        /// Left out: the disk was too slow, or the file could not be written any more.
        public var packetsDropped: UInt64 = 0
    }

    /// Some seconds of a fast stream.
    private static let defaultQueueByteLimit = 8 << 20

    private let queue: PacketDumpQueue
    private let thread = MediaThread()

    /// Makes the file, or empties the one that is there.
    ///
    /// - Parameter onFailure: Told once, on the dump's thread, when the file can no longer be written; the session goes
    ///   on.
    public convenience init(
        path: String, onFailure: (@Sendable (PacketDumpError) -> Void)? = nil
    ) throws(PacketDumpError) {
        try self.init(path: path, queueByteLimit: Self.defaultQueueByteLimit, onFailure: onFailure)
    }

    init(
        path: String, queueByteLimit: Int, onFailure: (@Sendable (PacketDumpError) -> Void)? = nil
    ) throws(PacketDumpError) {
        let file: FileHandle
        do throws(CaptureError) {
            file = try FileHandle(writing: path, permissions: 0o600)
        } catch .file(_, let code) {
            throw .cannotOpen(path: path, code: code)
        } catch {
            throw .system(error.description)
        }
        let queue = PacketDumpQueue(byteLimit: queueByteLimit) {
            file.write($0)
        } onFailure: { code in
            onFailure?(.cannotWrite(path: path, code: code))
        }
        self.queue = queue
        self.path = path
        do throws(CaptureError) {
            // Holds the queue and not this object, whose end is the thread's.
            try thread.start { thread in while thread.waitForWork() { queue.write() } }
        } catch {
            throw .system("The packets cannot be written. \(error.description)")
        }
    }

    private let path: String

    deinit {
        thread.stop()
        queue.finish()
    }

    public var statistics: Statistics { queue.statistics }

    /// Writes what is left and ends the file; packets that come later are dropped. To be called when the session has
    /// been disconnected. Called again it does nothing but repeat the error.
    public func finish() throws(PacketDumpError) {
        thread.stop()
        queue.finish()
        if let code = queue.failure { throw .cannotWrite(path: path, code: code) }
    }

    /// What a peer's engine shows its packets to.
    func tap(wallClock: WallClock) -> PacketTap {
        { [queue, thread] packet, direction, path, now in
            let unix = UInt64(clamping: now.nanoseconds &+ wallClock.unixNanosecondsAtZero)
            let wasEmpty =
                switch direction {
                case .received:
                    queue.append(
                        packet, from: path.remote, to: path.local, .received, transport: path.transport,
                        nanoseconds: unix)
                case .sent:
                    queue.append(
                        packet, from: path.local, to: path.remote, .sent, transport: path.transport, nanoseconds: unix)
                }
            if wasEmpty { thread.wake() }
        }
    }
}
