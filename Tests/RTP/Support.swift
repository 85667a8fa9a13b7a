import EmisoraCore

@testable import EmisoraRTP

/// A seeded generator (SplitMix64): the same seed gives the same test.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func number(below bound: Int) -> Int { Int(next(upperBound: UInt64(bound))) }
    mutating func chance(percent: Int) -> Bool { number(below: 100) < percent }
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}

/// Milliseconds of virtual time after an arbitrary start.
func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: 5_000_000_000 + Int64(milliseconds) * 1_000_000) }

/// Hands a closure a buffer to write into and gives back what it wrote.
func written(
    capacity: Int = 2048, _ body: (inout MutableRawSpan) throws -> Int?
) rethrows -> [UInt8]? {
    var storage = [UInt8](repeating: 0xEE, count: capacity)
    var span = storage.mutableSpan
    var bytes = span.mutableBytes
    guard let count = try body(&bytes) else { return nil }
    return Array(storage.prefix(count))
}

func thrown(_ body: () throws(RTPError) -> Void) -> RTPError? {
    do throws(RTPError) {
        try body()
        return nil
    } catch {
        return error
    }
}

/// A made-up VP8 frame whose first byte tells key frames from others.
func vp8Frame(isKeyFrame: Bool, byteCount: Int, using generator: inout SeededGenerator) -> [UInt8] {
    var bytes = generator.bytes(max(1, byteCount))
    bytes[0] = isKeyFrame ? bytes[0] & 0xFE : bytes[0] | 1
    return bytes
}

extension RTPSendStream {
    /// All packets that wait, as bytes.
    mutating func pollAll(now: Instant) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        while let packet = written({ pollPacket(into: &$0, now: now)?.byteCount }) { packets.append(packet) }
        return packets
    }
}

extension RTPVideoReceiveStream {
    mutating func handle(_ packet: [UInt8], now: Instant) throws(RTPError) {
        handle(try RTPHeader(parsing: packet.span.bytes), packet: packet.span.bytes, now: now)
    }
}

func senderConfiguration(rtx: Bool) -> RTPSendStream.Configuration {
    var configuration = RTPSendStream.Configuration(ssrc: 0x1111, payloadType: 96, clockRate: 90_000)
    if rtx {
        configuration.rtxSSRC = 0x2222
        configuration.rtxPayloadType = 97
    }
    return configuration
}

func receiverConfiguration(rtx: Bool) -> RTPVideoReceiveStream.Configuration {
    var configuration = RTPVideoReceiveStream.Configuration(payloadType: 96)
    configuration.rtxPayloadType = rtx ? 97 : nil
    return configuration
}

/// The packets of an RTCP datagram.
func rtcpPackets(_ bytes: [UInt8]) throws -> [RTCPPacket] {
    var reader = RTCPReader(bytes.span.bytes)
    var packets: [RTCPPacket] = []
    while let packet = try reader.next() { packets.append(packet) }
    return packets
}

extension HeaderExtensionIDs {
    /// All kinds, numbered from 1.
    static var everyID: HeaderExtensionIDs {
        HeaderExtensionIDs(Kind.allCases.enumerated().map { (id: UInt8($0.offset + 1), uri: $0.element.uri) })
    }
}
