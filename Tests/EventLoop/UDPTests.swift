import EmisoraCore
import EmisoraEventLoop
import Glibc
import Testing

/// A socket that writes down what it received.
private final class Endpoint {
    var received: [[UInt8]] = []
    var sources: Set<SocketAddress> = []
    /// Held by the loop, and holds this.
    private(set) weak var socket: UDPSocket?

    init(
        on loop: EventLoop, binding address: SocketAddress = loopback,
        whenReceived: @escaping (Endpoint, [UInt8], SocketAddress) -> Void = { _, _, _ in }
    ) throws {
        socket = try UDPSocket(binding: address, on: loop) { [self] datagram, source, _ in
            let bytes = (0..<datagram.byteCount).map { datagram.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
            received.append(bytes)
            sources.insert(source)
            whenReceived(self, bytes, source)
        }
    }

    var address: SocketAddress { socket?.localAddress ?? loopback }
}

extension DatagramBatch {
    /// Appends `bytes` as one datagram.
    fileprivate func append(_ bytes: [UInt8], from source: SocketAddress, to destination: SocketAddress) {
        _ = append { slot in
            for (index, byte) in bytes.enumerated() where index < slot.byteCount {
                slot.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            }
            return Transmit(byteCount: bytes.count, source: source, destination: destination)
        }
    }
}

/// Sends what the turn left, as the real client does, and tells when a condition holds.
private final class Turns: EventLoopClient {
    let batch = DatagramBatch()
    var condition: () -> Bool
    private var done: (() -> Void)?
    let nextDeadline: Instant? = nil

    init(until condition: @escaping () -> Bool, done: @escaping () -> Void) {
        self.condition = condition
        self.done = done
    }

    func turnDidEnd(now: Instant) {
        batch.flush()
        if let done, condition() {
            self.done = nil
            done()
        }
    }
}

@Suite struct UDPTests {
    /// Runs `prepare` on a loop and returns once the condition it gives holds at the end of a turn.
    private func run(_ prepare: @escaping @Sendable (EventLoop, DatagramBatch) throws -> () -> Bool) async throws {
        try await withLoop { loop in
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                loop.execute {
                    let turns = Turns(until: { false }, done: { continuation.resume() })
                    loop.setClient(turns)
                    do { turns.condition = try prepare(loop, turns.batch) } catch {
                        continuation.resume(throwing: error)
                    }
                }
            }
        }
    }

    @Test func tenThousandDatagramsGoToAndFroWithoutLoss() async throws {
        try await run { loop, batch in
            let answering = try Endpoint(on: loop) { endpoint, bytes, source in
                batch.append(bytes, from: endpoint.address, to: source)
            }
            // 16 on the way at a time: windowed, so that no buffer overflows however slow the machine is.
            var sent = 16
            let asking = try Endpoint(on: loop) { endpoint, _, source in
                guard sent < 10_000 else { return }
                batch.append(payload(sent), from: endpoint.address, to: source)
                sent += 1
            }
            for endpoint in [answering, asking] { if let socket = endpoint.socket { batch.add(socket) } }
            for number in 0..<16 { batch.append(payload(number), from: asking.address, to: answering.address) }
            return {
                guard asking.received.count == 10_000 else { return false }
                #expect(asking.received == (0..<10_000).map(payload))
                #expect(batch.datagramsSent == 20_000)
                #expect(batch.datagramsDropped == 0)
                #expect(asking.socket?.datagramsReceived == 10_000)
                return true
            }
        }
    }

    @Test func aFullTurnOfSeveralSocketsAndDestinationsArrivesWholeAndInOrder() async throws {
        try await run { loop, batch in
            let receivers = try (0..<3).map { _ in try Endpoint(on: loop) }
            let senders = try (0..<2).map { _ in try Endpoint(on: loop) }
            for sender in senders { if let socket = sender.socket { batch.add(socket) } }
            // More than the batch has slots; sizes from one byte to the largest that we send.
            for number in 0..<150 {
                let bytes = [UInt8](repeating: UInt8(number), count: 1 + number * 9)
                batch.append(bytes, from: senders[number / 5 % 2].address, to: receivers[number % 3].address)
            }
            return {
                guard receivers.allSatisfy({ $0.received.count == 50 }) else { return false }
                for (index, receiver) in receivers.enumerated() {
                    let sizes = receiver.received.map(\.count).sorted()
                    #expect(sizes == stride(from: index, to: 150, by: 3).map { 1 + $0 * 9 })
                    #expect(
                        receiver.received.allSatisfy { bytes in bytes.allSatisfy { Int($0) == (bytes.count - 1) / 9 } })
                    #expect(receiver.sources == Set(senders.map(\.address)))
                }
                return true
            }
        }
    }

    @Test func whatTheSystemRefusesIsCountedAndTheRestGoes() async throws {
        try await run { loop, batch in
            let receiver = try Endpoint(on: loop)
            let sender = try Endpoint(on: loop)
            if let socket = sender.socket { batch.add(socket) }
            let broadcast = SocketAddress(ip: IPAddress(v4: 0xFFFF_FFFF), port: receiver.address.port)
            batch.append([1], from: sender.address, to: receiver.address)
            batch.append([2], from: sender.address, to: broadcast)
            batch.append([3], from: sender.address, to: receiver.address)
            // From an address that no socket has.
            batch.append([4], from: SocketAddress(ip: .loopbackV4, port: 1), to: receiver.address)
            // Nobody listens there: lost like on any network, without an error for the next one.
            batch.append([5], from: sender.address, to: SocketAddress(ip: .loopbackV4, port: 1))
            batch.append([6], from: sender.address, to: receiver.address)
            return {
                guard receiver.received.count == 3 else { return false }
                #expect(receiver.received == [[1], [3], [6]])
                #expect(batch.datagramsDropped == 2)
                #expect(batch.datagramsSent == 4)
                return true
            }
        }
    }

    @Test func oversizedAndEmptyDatagramsAreDiscardedAndCounted() async throws {
        try await run { loop, batch in
            let receiver = try Endpoint(on: loop)
            let sender = try Endpoint(on: loop)
            if let socket = sender.socket { batch.add(socket) }
            let stranger = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            defer { close(stranger) }
            for count in [0, 3_000] {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = receiver.address.port.bigEndian
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                let bytes = [UInt8](repeating: 7, count: count)
                let sent = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        sendto(stranger, bytes, count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                #expect(sent == count)
            }
            batch.append([9], from: sender.address, to: receiver.address)
            return {
                guard !receiver.received.isEmpty else { return false }
                #expect(receiver.received == [[9]])
                #expect(receiver.socket?.datagramsDiscarded == 2)
                return true
            }
        }
    }

    @Test func iPv6HasSocketsOfItsOwn() async throws {
        let hasV6 = try NetworkInterfaces.addresses().contains { $0.ip == .loopbackV6 }
        try #require(
            hasV6, "This machine has no IPv6 loopback address; the product supports IPv6 and must be tested with it.")
        try await run { loop, batch in
            let six = SocketAddress(ip: .loopbackV6, port: 0)
            let receiver = try Endpoint(on: loop, binding: six)
            let sender = try Endpoint(on: loop, binding: six)
            // V6ONLY: the same port stays free for IPv4.
            let any = try Endpoint(on: loop, binding: SocketAddress(ip: IPAddress(v6High: 0, low: 0), port: 0))
            _ = try Endpoint(on: loop, binding: SocketAddress(ip: IPAddress(v4: 0), port: any.address.port))
            if let socket = sender.socket { batch.add(socket) }
            batch.append([6], from: sender.address, to: receiver.address)
            return {
                guard !receiver.received.isEmpty else { return false }
                #expect(receiver.sources == [sender.address])
                return true
            }
        }
    }

    @Test func aTakenPortIsATypedErrorThatNamesTheAddress() async throws {
        try await withLoop { loop in
            try await loop.run {
                let first = try UDPSocket(binding: loopback, on: loop) { _, _, _ in }
                #expect {
                    _ = try UDPSocket(binding: first.localAddress, on: loop) { _, _, _ in }
                } throws: { error in
                    guard let error = error as? SystemError else { return false }
                    return error.code == EADDRINUSE && error.description.contains("\(first.localAddress)")
                }
            }
        }
    }

    @Test func aClosedSocketReadsNoMore() async throws {
        try await run { loop, batch in
            let receiver = try Endpoint(on: loop)
            let closed = try Endpoint(on: loop)
            let sender = try Endpoint(on: loop)
            if let socket = sender.socket { batch.add(socket) }
            closed.socket?.close()
            batch.append([1], from: sender.address, to: closed.address)
            batch.append([2], from: sender.address, to: receiver.address)
            return {
                guard !receiver.received.isEmpty else { return false }
                #expect(closed.received.isEmpty)
                return true
            }
        }
    }
}

@Suite struct NetworkInterfacesTests {
    @Test func theLoopbackInterfaceIsThereWithItsName() throws {
        let addresses = try NetworkInterfaces.addresses()
        #expect(addresses.contains { $0.interfaceName == "lo" && $0.ip == .loopbackV4 })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test func everyAddressCanBeBound() async throws {
        let addresses = try NetworkInterfaces.addresses().filter { !$0.ip.isLinkLocal }
        try await withLoop { loop in
            try await loop.run {
                for address in addresses {
                    let socket = try UDPSocket(binding: SocketAddress(ip: address.ip, port: 0), on: loop) { _, _, _ in }
                    #expect(socket.localAddress.ip == address.ip)
                    #expect(socket.localAddress.port != 0)
                }
            }
        }
    }
}

@Suite struct SystemClockTests {
    @Test func theWallClockMatchesTheSystems() {
        let wall = SystemClock.wallClock()
        let unix = (SystemClock.now().nanoseconds + wall.unixNanosecondsAtZero) / 1_000_000_000
        #expect(abs(unix - Int64(time(nil))) <= 1)
    }

    @Test func theMonotonicClockNeverGoesBack() {
        var previous = SystemClock.now()
        for _ in 0..<10_000 {
            let now = SystemClock.now()
            #expect(now >= previous)
            previous = now
        }
    }
}

private func payload(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 4 + number % 61)
        .enumerated().map { $0.offset < 4 ? UInt8(truncatingIfNeeded: number >> (8 * $0.offset)) : $0.element }
}
