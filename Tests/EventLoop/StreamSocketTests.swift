import EmisoraCore
import EmisoraEventLoop
import Glibc
import Testing

/// What a stream told, on the loop's thread.
private final class StreamLog: StreamSocketOwner {
    var isConnected = false
    var received: [UInt8] = []
    var end: SystemError??

    func streamDidConnect(_ stream: StreamSocket) { isConnected = true }
    func stream(_ stream: StreamSocket, didReceive bytes: RawSpan) {
        bytes.withUnsafeBytes { received.append(contentsOf: $0) }
    }
    func stream(_ stream: StreamSocket, didEnd error: SystemError?) { end = .some(error) }
}

/// A plain listener of the loopback, blocking, whose one connection the test plays.
private final class Listener {
    private let descriptor: Int32
    let address: SocketAddress

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var raw = sockaddr_in()
        raw.sin_family = sa_family_t(AF_INET)
        raw.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &raw) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 4) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard bound else { throw SystemError("listening") }
        address = SocketAddress(ip: .loopbackV4, port: UInt16(bigEndian: raw.sin_port))
    }

    deinit { Glibc.close(descriptor) }

    func accept() -> Int32 { Glibc.accept(descriptor, nil, nil) }
}

@Suite struct StreamSocketTests {
    private static func eventually(_ loop: EventLoop, _ condition: @escaping @Sendable () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while try await !loop.run(condition) {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    @Test func whatIsWrittenBeforeTheConnectionStandsArrivesAndTheEndIsTold() async throws {
        let listener = try Listener()
        let address = listener.address
        try await withLoop { loop in
            let log = Confined(StreamLog())
            let stream = Confined<StreamSocket?>(nil)
            try await loop.run {
                let socket = try StreamSocket(connectingTo: address, from: .loopbackV4, on: loop)
                socket.owner = log.value
                let hello: [UInt8] = [1, 2, 3]
                let isTaken = socket.write(hello.span.bytes)
                #expect(isTaken)
                stream.value = socket
            }
            let other = listener.accept()
            var buffer = [UInt8](repeating: 0, count: 3)
            #expect(recv(other, &buffer, 3, Int32(MSG_WAITALL)) == 3)
            #expect(buffer == [1, 2, 3])
            #expect(send(other, [9, 8] as [UInt8], 2, 0) == 2)
            Glibc.close(other)
            try await Self.eventually(loop) { log.value.end != nil }
            try await loop.run {
                #expect(log.value.isConnected)
                #expect(log.value.received == [9, 8])
                #expect(log.value.end == .some(nil))
                stream.value = nil
            }
        }
    }

    @Test func theQueueIsBoundedAndNothingIsTakenInPart() async throws {
        let listener = try Listener()
        let address = listener.address
        try await withLoop { loop in
            let stream = Confined<StreamSocket?>(nil)
            let accepted = try await loop.run {
                let socket = try StreamSocket(connectingTo: address, from: .loopbackV4, on: loop)
                stream.value = socket
                let block = [UInt8](repeating: 7, count: 60_000)
                return (0..<10).count { _ in socket.write(block.span.bytes) }
            }
            // Four blocks of 60 000 bytes fit into 256 KiB.
            #expect(accepted == 4)
            let other = listener.accept()
            var buffer = [UInt8](repeating: 0, count: 240_000)
            #expect(recv(other, &buffer, buffer.count, Int32(MSG_WAITALL)) == 240_000)
            #expect(buffer.allSatisfy { $0 == 7 })
            Glibc.close(other)
            try await loop.run {
                stream.value?.close()
                stream.value = nil
            }
        }
    }

    @Test func aRefusedConnectionIsToldWithItsReason() async throws {
        let address = try Listener().address
        try await withLoop { loop in
            let log = Confined(StreamLog())
            let stream = Confined<StreamSocket?>(nil)
            try await loop.run {
                stream.value = try StreamSocket(connectingTo: address, from: .loopbackV4, on: loop)
                stream.value?.owner = log.value
            }
            try await Self.eventually(loop) { log.value.end != nil }
            try await loop.run {
                #expect(log.value.end??.code == ECONNREFUSED)
                stream.value = nil
            }
        }
    }

    @Test func namesAreResolvedOffTheLoopsThreadAndFailuresSayWhich() async throws {
        try await withLoop { loop in
            let local = await withCheckedContinuation { continuation in
                HostNames.resolve("localhost", on: loop) { continuation.resume(returning: $0) }
            }
            let addresses = try local.get()
            #expect(addresses.contains { $0.isLoopback })
            let unknown = await withCheckedContinuation { continuation in
                HostNames.resolve("no-such-host.invalid", on: loop) { continuation.resume(returning: $0) }
            }
            guard case .failure(let failure) = unknown else {
                Issue.record("no-such-host.invalid has an address")
                return
            }
            #expect(failure.description.contains("no-such-host.invalid"))
        }
    }
}
