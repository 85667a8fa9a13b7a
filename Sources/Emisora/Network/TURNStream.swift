import EmisoraCore
import EmisoraEventLoop
import EmisoraTLS
import EmisoraTURN

/// What comes by a connection to a TURN server. All calls come on the loop's thread.
protocol TURNStreamOwner: AnyObject {
    /// One whole message, to be used up in place.
    func stream(_ stream: TURNStream, didReceive message: inout MutableRawSpan)
    /// It could not be made, or is over.
    func stream(_ stream: TURNStream, didFail reason: String)
}

enum TURNConnectError: Error, CustomStringConvertible {
    case system(SystemError)
    case tls(TLSError)

    var description: String {
        switch self {
        case .system(let error): error.description
        case .tls(let error): error.description
        }
    }
}

/// Makes connections to TURN servers; the certificate authorities are read when the first TLS connection wants them.
final class TURNConnector {
    private let loop: EventLoop
    private let authorities: String?
    private var context: TLSClientContext?

    /// - Parameter authorities: The path of a PEM file in place of the system's store.
    init(loop: EventLoop, authorities: String?) {
        self.loop = loop
        self.authorities = authorities
    }

    func connect(
        _ endpoint: ICEServerEndpoint, to address: SocketAddress, from local: IPAddress
    ) throws(TURNConnectError) -> TURNStream {
        var tls: TLSClient?
        if endpoint.transport == .tls {
            do throws(TLSError) {
                tls = try TLSClient(context: try trust(), host: endpoint.host)
            } catch {
                throw .tls(error)
            }
        }
        do throws(SystemError) {
            return TURNStream(try StreamSocket(connectingTo: address, from: local, on: loop), tls: tls)
        } catch {
            throw .system(error)
        }
    }

    private func trust() throws(TLSError) -> TLSClientContext {
        if let context { return context }
        let made = try TLSClientContext(authorities: authorities)
        context = made
        return made
    }
}

/// A TCP or TLS connection to a TURN server, cut into messages. Confined to the loop's thread.
final class TURNStream: StreamSocketOwner {
    /// Media that waits longer than this is too late; requests find room.
    private static let mediaQueueByteLimit = StreamSocket.maximumQueuedByteCount / 2

    weak var owner: (any TURNStreamOwner)?
    private let socket: StreamSocket
    private let tls: TLSClient?
    private var framer = TURNStreamFramer()
    private var scratch: [UInt8]
    private var isOver = false

    init(_ socket: StreamSocket, tls: TLSClient?) {
        self.socket = socket
        self.tls = tls
        scratch = [UInt8](repeating: 0, count: tls == nil ? 0 : 16_384)
        socket.owner = self
        flush()
    }

    var localAddress: SocketAddress { socket.localAddress }
    var remoteAddress: SocketAddress { socket.remoteAddress }
    var isSecure: Bool { tls != nil }

    /// Sends a message, or loses it wholly where too much waits already: what came later would be of no use.
    func write(_ message: RawSpan) {
        guard !isOver, message.byteCount > 0 else { return }
        let isChannelData = message.unsafeLoad(fromByteOffset: 0, as: UInt8.self) >> 6 == 1
        guard !isChannelData || socket.queuedByteCount < Self.mediaQueueByteLimit else { return }
        guard let tls else {
            socket.write(message)
            return
        }
        // Once encrypted it must be sent: a missing record breaks the connection.
        guard socket.queuedByteCount + message.byteCount + 1_024 < StreamSocket.maximumQueuedByteCount else { return }
        do throws(TLSError) {
            try tls.write(message)
        } catch {
            return fail(error.description)
        }
        flush()
    }

    func close() {
        guard !isOver else { return }
        isOver = true
        tls?.close()
        flush()
        socket.close()
    }

    private func flush() {
        guard let bytes = tls?.takeOutgoing(), !bytes.isEmpty else { return }
        socket.write(bytes.span.bytes)
    }

    private func fail(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        socket.close()
        owner?.stream(self, didFail: reason)
    }

    // MARK: The socket

    func streamDidConnect(_ stream: StreamSocket) {}

    func stream(_ stream: StreamSocket, didReceive bytes: RawSpan) {
        guard let tls else { return take(bytes) }
        do throws(TLSError) {
            try tls.receive(bytes)
            while !isOver, let count = try tls.read(into: &scratch) {
                let plaintext = Array(scratch[..<count])
                take(plaintext.span.bytes)
            }
        } catch {
            // An alert tells the server why.
            flush()
            return fail(error.description)
        }
        flush()
    }

    private func take(_ bytes: RawSpan) {
        do throws(TURNStreamFramer.Failure) {
            try framer.append(bytes)
            while !isOver, var message = try framer.next() {
                message.withUnsafeMutableBytes { bytes in
                    var span = bytes.mutableBytes
                    owner?.stream(self, didReceive: &span)
                }
            }
        } catch {
            fail(error.description)
        }
    }

    func stream(_ stream: StreamSocket, didEnd error: SystemError?) {
        fail(
            error.map { "The connection to the TURN server failed. \($0)" }
                ?? "The TURN server closed the connection.")
    }
}
