import EmisoraCore
import EmisoraEventLoop
import EmisoraICE
import EmisoraTURN

/// The sockets and connections that lead to TURN servers.
extension Gathering {
    func open(
        _ one: ServerEndpoint, to address: SocketAddress, from local: IPAddress
    ) throws(TURNConnectError) -> SocketAddress {
        guard one.endpoint.transport == .udp else {
            let stream = try environment.connector.connect(one.endpoint, to: address, from: local)
            stream.owner = self
            streams[stream.localAddress] = stream
            return stream.localAddress
        }
        do throws(SystemError) {
            let socket = try environment.binder.bind(local)
            environment.batch.add(socket)
            sockets[socket.localAddress] = socket
            return socket.localAddress
        } catch {
            throw .system(error)
        }
    }

    /// A server's certificate is for the name that the user gave, wherever it sends us (RFC 8489 §10).
    func move(_ server: CandidateGatherer.Server, to address: SocketAddress, now: Instant) {
        streams.removeValue(forKey: server.local)?.close()
        guard closeDeadline == nil, let one = endpointOfServer[server] else { return }
        do throws(TURNConnectError) {
            let local = try open(one, to: address, from: server.local.ip)
            if let moved = gatherer?.move(server, to: address, local: local, now: now) { endpointOfServer[moved] = one }
        } catch {
            gatherer?.moveFailed(server, reason: error.description, now: now)
        }
    }
}

extension Gathering: TURNStreamOwner {
    func stream(_ stream: TURNStream, didReceive message: inout MutableRawSpan) {
        owner?.gathering(
            self, didReceive: &message, path: ICEPath(local: stream.localAddress, remote: stream.remoteAddress))
    }

    func stream(_ stream: TURNStream, didFail reason: String) {
        streams[stream.localAddress] = nil
        let now = SystemClock.now()
        gatherer?.socketFailed(local: stream.localAddress, reason: reason, now: now)
        settle(now: now)
    }
}
