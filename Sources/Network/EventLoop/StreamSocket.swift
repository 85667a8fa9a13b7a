import CEmisoraLinux
import EmisoraCore
import Glibc

/// What happens on a TCP connection. All calls come on the loop's thread.
package protocol StreamSocketOwner: AnyObject {
    func streamDidConnect(_ stream: StreamSocket)
    /// Some bytes of the peer's; message borders are the owner's affair.
    func stream(_ stream: StreamSocket, didReceive bytes: RawSpan)
    /// It is over; `nil`: the peer ended it in good order. Not called after `close()`.
    func stream(_ stream: StreamSocket, didEnd error: SystemError?)
}

/// A TCP connection that never blocks. Owns its descriptor; confined to the loop's thread.
///
/// What the system does not take at once waits in a queue of bounded length: a connection that stalls must not fill the
/// memory, and late media is of no use.
package final class StreamSocket: EventLoopReader {
    /// Half a second at 4 Mbit/s: what comes in later than that would come too late.
    package static let maximumQueuedByteCount = 256 * 1_024
    private static let readByteCount = 16_384
    /// Reads before others get their turn.
    private static let readsPerTurn = 8

    package let localAddress: SocketAddress
    package let remoteAddress: SocketAddress
    package private(set) var isConnected = false
    package weak var owner: (any StreamSocketOwner)?
    private let descriptor: Int32
    private weak var loop: EventLoop?
    private var isOpen = true
    private var queue: [UInt8] = []
    private var queueStart = 0
    private var scratch = [UInt8](repeating: 0, count: readByteCount)

    /// Begins to connect; `streamDidConnect` or `didEnd` follows.
    package init(
        connectingTo remote: SocketAddress, from local: IPAddress, on loop: EventLoop
    ) throws(SystemError) {
        var to = emisora_address(remote)
        var from = emisora_address(SocketAddress(ip: local, port: 0))
        descriptor = emisora_tcp_connect(&to, &from)
        guard descriptor >= 0 else { throw SystemError("Connecting to \(remote)") }
        localAddress = SocketAddress(from)
        remoteAddress = remote
        self.loop = loop
        try loop.add(self, descriptor: descriptor)
        loop.setWantsToWrite(true, descriptor: descriptor)
    }

    /// One that a peer made, as a listener took it; its descriptor is owned from here on.
    init(accepted descriptor: Int32, from remote: SocketAddress, at local: SocketAddress, on loop: EventLoop)
        throws(SystemError)
    {
        self.descriptor = descriptor
        localAddress = local
        remoteAddress = remote
        isConnected = true
        self.loop = loop
        try loop.add(self, descriptor: descriptor)
    }

    deinit {
        Glibc.close(descriptor)
    }

    package var queuedByteCount: Int { queue.count - queueStart }

    /// For what ages: the system holds no more than that many bytes that it has not sent, all else waits in the queue here,
    /// where it is seen. What is on its way does not count.
    package func limitUnsentBytes(to byteCount: Int) {
        emisora_tcp_limit_unsent(descriptor, Int32(clamping: byteCount))
    }

    /// Stops at once; the descriptor closes with the last reference.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        loop?.remove(descriptor: descriptor)
        Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
        queue = []
        queueStart = 0
    }

    /// Sends these bytes, or queues them, wholly; `false`: there is no room for all of them, and none was taken.
    @discardableResult
    package func write(_ bytes: RawSpan) -> Bool {
        guard isOpen, queuedByteCount + bytes.byteCount <= Self.maximumQueuedByteCount else { return false }
        var sent = 0
        if isConnected, queuedByteCount == 0 {
            sent = bytes.withUnsafeBytes { send($0) }
            guard sent < bytes.byteCount else { return true }
        }
        if queueStart > 0 {
            queue.removeFirst(queueStart)
            queueStart = 0
        }
        bytes.withUnsafeBytes { queue.append(contentsOf: $0.dropFirst(sent)) }
        if isConnected { loop?.setWantsToWrite(true, descriptor: descriptor) }
        return true
    }

    /// How many the system took; an error shows when reading.
    private func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        max(0, Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
    }

    package func writable() {
        guard isOpen else { return }
        if !isConnected {
            let code = emisora_socket_error(descriptor)
            guard code == 0 else { return end(SystemError("Connecting to \(remoteAddress)", code: code)) }
            isConnected = true
            owner?.streamDidConnect(self)
            guard isOpen else { return }
        }
        if queuedByteCount > 0 {
            queueStart += queue.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[queueStart...])) }
        }
        if queuedByteCount == 0 {
            queue.removeAll(keepingCapacity: true)
            queueStart = 0
            loop?.setWantsToWrite(false, descriptor: descriptor)
        }
    }

    package func readable() {
        guard isConnected else { return writable() }
        for _ in 0..<Self.readsPerTurn {
            guard isOpen else { return }
            let count = recv(descriptor, &scratch, scratch.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                owner?.stream(self, didReceive: scratch.span.bytes.extracting(first: count))
                if count < scratch.count { return }
            } else if count == 0 {
                return end(nil)
            } else {
                let code = errno
                if code == EINTR { continue }
                if code != EAGAIN { end(SystemError("Receiving from \(remoteAddress)", code: code)) }
                return
            }
        }
    }

    private func end(_ error: SystemError?) {
        guard isOpen else { return }
        close()
        owner?.stream(self, didEnd: error)
    }
}
