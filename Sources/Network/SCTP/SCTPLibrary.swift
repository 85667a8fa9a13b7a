import CEmisoraSCTP
import EmisoraCore
import Synchronization

/// What usrsctp keeps for the whole process: its state, its timers, and where its packets go.
///
/// usrsctp takes one clock for all associations, and whoever moves it on runs the timers of all. Sessions have threads of
/// their own, so every call goes through one mutex; calls are short, a packet's takes some microseconds. Lock order:
/// `calls`, then usrsctp's own locks, then `outboxes`. Its packets come on the calling thread; those of another session's
/// association wait in its outbox until that session looks, which it does within its next tick. What is sent for an
/// association that is gone meets no outbox: addresses are numbers that are used once, never pointers.
///
/// Here determinism ends: usrsctp reads the system's clock for round-trip times, life times and cookies, and takes its
/// entropy from the system.
enum SCTPLibrary {
    private struct Calls {
        var isReady = false
        var now: Instant?
        var nextAddress: UInt = 1
        var receiveBuffer: [UInt8] = []
    }

    /// What an association sends waits here; more than a window of packets never does.
    private static let outboxLimit = 2_048
    static let receiveByteCount = 65_536

    private static let calls = Mutex(Calls())
    private static let outboxes = Mutex<[UInt: [[UInt8]]]>([:])

    /// Calls usrsctp with its clock at `now`.
    static func call<Value: Sendable, Failure: Error>(
        now: Instant, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try calls.withLock { calls throws(Failure) in
            advance(&calls, to: now)
            return try body()
        }
    }

    /// The same with room for a message that is received.
    static func receive(now: Instant, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        calls.withLock { calls in
            advance(&calls, to: now)
            if calls.receiveBuffer.isEmpty { calls.receiveBuffer = [UInt8](repeating: 0, count: receiveByteCount) }
            calls.receiveBuffer.withUnsafeMutableBytes { body($0) }
        }
    }

    /// The clock moves before anything else: a timer that is started is set by it. Threads differ in what time it is by
    /// less than a tick; the latest counts.
    private static func advance(_ calls: inout Calls, to now: Instant) {
        if !calls.isReady {
            calls.isReady = true
            emisora_sctp_init { address, packet, length, _, _ in
                SCTPLibrary.put(packet, length, address: UInt(bitPattern: address))
                return 0
            }
        }
        guard let last = calls.now else {
            calls.now = now
            return
        }
        let elapsed = (now - last).nanoseconds / 1_000_000
        guard elapsed > 0 else { return }
        calls.now = last + .milliseconds(elapsed)
        usrsctp_handle_timers(UInt32(clamping: elapsed))
    }

    // MARK: Addresses

    static func makeAddress() -> UInt {
        let address = calls.withLock { calls in
            defer { calls.nextAddress &+= 1 }
            return calls.nextAddress
        }
        outboxes.withLock { $0[address] = [] }
        return address
    }

    static func removeAddress(_ address: UInt) {
        outboxes.withLock { $0[address] = nil }
    }

    /// Takes out what an association has to send.
    static func takePackets(of address: UInt) -> [[UInt8]] {
        outboxes.withLock { outboxes in
            guard let packets = outboxes[address], !packets.isEmpty else { return [] }
            outboxes[address] = []
            return packets
        }
    }

    private static func put(_ packet: UnsafeMutableRawPointer?, _ length: Int, address: UInt) {
        guard let packet else { return }
        outboxes.withLock { outboxes in
            guard let count = outboxes[address]?.count, count < outboxLimit else { return }
            outboxes[address]?.append(Array(UnsafeRawBufferPointer(start: packet, count: length)))
        }
    }
}
