import EmisoraCore
import EmisoraCrypto
import EmisoraEventLoop
import Glibc

/// Opens sockets within the ports that a firewall lets through.
struct SocketBinder {
    /// `nil`: whichever the system chooses.
    let ports: ClosedRange<UInt16>?

    /// - Parameter what: For the message of an error: `Binding UDP to`.
    func bind<Socket>(
        _ ip: IPAddress, _ what: String, _ open: (SocketAddress) throws(SystemError) -> Socket
    ) throws(SystemError) -> Socket {
        guard let ports else { return try open(SocketAddress(ip: ip, port: 0)) }
        // From a random one on, since a port that was given back a moment ago may still get somebody's datagrams.
        var random = SecureRandom()
        let offset = Int(truncatingIfNeeded: random.next() >> 32) % ports.count
        var last = SystemError("\(what) \(ip)", code: EADDRINUSE)
        for step in 0..<ports.count {
            let port = ports.lowerBound + UInt16((offset + step) % ports.count)
            do throws(SystemError) {
                return try open(SocketAddress(ip: ip, port: port))
            } catch {
                last = error
                guard error.code == EADDRINUSE || error.code == EACCES else { throw error }
            }
        }
        throw SystemError("\(what) a port from \(ports.lowerBound) to \(ports.upperBound) of \(ip)", code: last.code)
    }
}

/// UDP sockets whose datagrams all go to one place.
struct UDPBinder {
    let loop: EventLoop
    let ports: ClosedRange<UInt16>?
    let receiver: UDPSocket.Receiver

    func bind(_ ip: IPAddress) throws(SystemError) -> UDPSocket {
        try SocketBinder(ports: ports).bind(ip, "Binding UDP to") { address throws(SystemError) in
            try UDPSocket(binding: address, on: loop, receiver: receiver)
        }
    }
}
