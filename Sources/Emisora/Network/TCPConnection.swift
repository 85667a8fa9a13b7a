import EmisoraCore
import EmisoraEventLoop
import EmisoraICE
import EmisoraPeerEngine

/// What a connection tells of itself. All calls come on the loop's thread.
protocol TCPConnectionOwner: AnyObject {
    func connectionDidConnect(_ connection: TCPConnection)
    /// A packet before anybody has proven to be its sender; answers whether the connection may go on.
    func connection(_ connection: TCPConnection, didReceiveFirst packet: inout MutableRawSpan) -> Bool
    func connectionDidEnd(_ connection: TCPConnection)
}

/// A TCP connection that is a path of one peer, or will be when a check on it proves whose it is. Confined to the loop's
/// thread.
///
/// ```
/// accepted ──authentic check, within 5 s──▶ peer's ──60 s without a packet──▶ closed
/// connecting ──connected, within 10 s─────▶ peer's
/// ```
final class TCPConnection: StreamSocketOwner {
    private static let connectTimeout: Duration = .seconds(10)
    private static let authenticationTimeout: Duration = .seconds(5)
    /// A peer that uses it, or keeps it for later, asks for consent more often.
    private static let idleTimeout: Duration = .seconds(60)
    /// Checks before one of them must have been authentic; each costs a message authentication code.
    private static let maximumFirstPackets = 8
    /// What comes behind it finds room: checks, handshakes, reports.
    private static let mediaQueueByteLimit = StreamSocket.maximumQueuedByteCount / 2
    /// How much the system may hold that it has not sent: some milliseconds at any rate that we send at.
    private static let unsentByteLimit = 16_384

    let path: ICEPath
    /// Whose it is; `nil` as long as nobody has proven it.
    private(set) var peer: Peer?
    weak var owner: (any TCPConnectionOwner)?
    private(set) var deadline: Instant
    private let socket: StreamSocket
    private var framer = StreamFramer()
    private var backlog = StreamBacklog()
    private var frame: [UInt8] = []
    private var firstPackets = 0
    private var isOver = false
    /// Packets that were left out, since those before them had waited too long.
    private(set) var packetsDropped: UInt64 = 0

    /// - Parameter peer: Whom a connection of ours is made for; `nil`: one that a stranger made.
    init(_ socket: StreamSocket, peer: Peer?, now: Instant) {
        self.socket = socket
        self.peer = peer
        path = ICEPath(local: socket.localAddress, remote: socket.remoteAddress, transport: .tcp)
        deadline = now + (peer == nil ? Self.authenticationTimeout : Self.connectTimeout)
        socket.owner = self
        socket.limitUnsentBytes(to: Self.unsentByteLimit)
    }

    /// A check on it was authentic.
    func belong(to peer: Peer, now: Instant) {
        self.peer = peer
        deadline = now + Self.idleTimeout
    }

    /// Sends a packet, wholly or not at all.
    func send(_ packet: RawSpan, now: Instant) {
        guard !isOver, StreamFramer.frame(packet, into: &frame) else { return }
        let queued = socket.queuedByteCount
        // What keeps the connection up is small, and goes as long as there is room at all.
        if DatagramKind(of: packet) == .rtp,
            queued >= Self.mediaQueueByteLimit || !backlog.hasRoom(queuedByteCount: queued, now: now)
        {
            packetsDropped += 1
        } else if socket.write(frame.span.bytes) {
            backlog.didWrite(frame.count, queuedByteCount: socket.queuedByteCount, now: now)
        } else {
            packetsDropped += 1
        }
    }

    /// Ends it without a word to the owner.
    func close() {
        guard !isOver else { return }
        isOver = true
        socket.close()
    }

    private func end() {
        guard !isOver else { return }
        close()
        owner?.connectionDidEnd(self)
    }

    // MARK: The socket

    func streamDidConnect(_ stream: StreamSocket) {
        deadline = SystemClock.now() + Self.idleTimeout
        owner?.connectionDidConnect(self)
    }

    func stream(_ stream: StreamSocket, didReceive bytes: RawSpan) {
        do throws(StreamFramer.Failure) {
            try framer.append(bytes)
            while !isOver, var packet = try framer.next() {
                packet.withUnsafeMutableBytes { bytes in
                    var span = bytes.mutableBytes
                    take(&span)
                }
            }
        } catch {
            end()
        }
    }

    private func take(_ packet: inout MutableRawSpan) {
        let now = SystemClock.now()
        if let peer {
            deadline = now + Self.idleTimeout
            peer.engine.handle(datagram: &packet, path: path, now: now)
            return
        }
        firstPackets += 1
        guard firstPackets <= Self.maximumFirstPackets,
            owner?.connection(self, didReceiveFirst: &packet) == true
        else { return end() }
    }

    func stream(_ stream: StreamSocket, didEnd error: SystemError?) { end() }
}
