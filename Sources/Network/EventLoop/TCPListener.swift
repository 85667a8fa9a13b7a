import CEmisoraLinux
import EmisoraCore
import Glibc

/// Takes TCP connections on one local address. Owns its descriptor; confined to the loop's thread.
package final class TCPListener: EventLoopReader {
    /// Whoever is given a connection closes it in the end.
    package typealias Acceptor = (StreamSocket) -> Void

    /// Connections taken before others get their turn.
    private static let connectionsPerTurn = 16

    package let localAddress: SocketAddress
    private let descriptor: Int32
    /// Given up for a moment where the process has no descriptor left: the connection that knocks can only be taken away
    /// by taking it, and would wake the loop again and again.
    private var spare: Int32
    private let acceptor: Acceptor
    private weak var loop: EventLoop?

    /// Listens on `address`, whose port may be 0 for any free one.
    package init(
        binding address: SocketAddress, on loop: EventLoop, acceptor: @escaping Acceptor
    ) throws(SystemError) {
        var raw = emisora_address(address)
        descriptor = emisora_tcp_listen(&raw)
        guard descriptor >= 0 else { throw SystemError("Listening for TCP on \(address)") }
        localAddress = SocketAddress(raw)
        spare = Self.openSpare()
        self.acceptor = acceptor
        self.loop = loop
        try loop.add(self, descriptor: descriptor)
    }

    deinit {
        Glibc.close(descriptor)
        if spare >= 0 { Glibc.close(spare) }
    }

    /// Takes no more; the descriptor closes with the last reference.
    package func close() {
        loop?.remove(descriptor: descriptor)
        Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
    }

    package func readable() {
        for _ in 0..<Self.connectionsPerTurn {
            var raw = emisora_address()
            let accepted = emisora_tcp_accept(descriptor, &raw)
            guard accepted >= 0 else {
                switch errno {
                // It went away before it was taken.
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE: refuseOne()
                default: break
                }
                return
            }
            guard let loop,
                let stream = try? StreamSocket(accepted: accepted, from: SocketAddress(raw), at: localAddress, on: loop)
            else { return }
            acceptor(stream)
        }
    }

    private func refuseOne() {
        guard spare >= 0 else { return }
        Glibc.close(spare)
        var raw = emisora_address()
        let accepted = emisora_tcp_accept(descriptor, &raw)
        if accepted >= 0 { Glibc.close(accepted) }
        spare = Self.openSpare()
    }

    private static func openSpare() -> Int32 { Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC) }
}
