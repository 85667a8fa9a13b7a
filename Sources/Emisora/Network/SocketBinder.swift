import EmisoraCore
import EmisoraCrypto
import EmisoraEventLoop
import Glibc

/// Opens UDP sockets within the ports that a firewall lets through.
struct SocketBinder {
    let loop: EventLoop
    /// `nil`: whichever the system chooses.
    let ports: ClosedRange<UInt16>?
    let receiver: UDPSocket.Receiver

    func bind(_ ip: IPAddress) throws(SystemError) -> UDPSocket {
        guard let ports else {
            return try UDPSocket(binding: SocketAddress(ip: ip, port: 0), on: loop, receiver: receiver)
        }
        // From a random one on, since a port that was given back a moment ago may still get somebody's datagrams.
        var random = SecureRandom()
        let offset = Int(truncatingIfNeeded: random.next() >> 32) % ports.count
        var last = SystemError("Binding UDP to \(ip)", code: EADDRINUSE)
        for step in 0..<ports.count {
            let port = ports.lowerBound + UInt16((offset + step) % ports.count)
            do throws(SystemError) {
                return try UDPSocket(binding: SocketAddress(ip: ip, port: port), on: loop, receiver: receiver)
            } catch {
                last = error
                guard error.code == EADDRINUSE || error.code == EACCES else { throw error }
            }
        }
        throw SystemError(
            "Binding UDP to a port from \(ports.lowerBound) to \(ports.upperBound) of \(ip)", code: last.code)
    }
}
