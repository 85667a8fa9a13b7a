import EmisoraICE
import Glibc
import Synchronization
import Testing

@testable import Emisora

@Suite struct PacketDumpTests {
    private static let left = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 5_000)
    private static let right = SocketAddress(ip: IPAddress(v4: 0xC633_6402), port: 6_000)
    private static let leftV6 = SocketAddress(ip: IPAddress(v6High: 0x2001_0DB8_0000_0000, low: 1), port: 5_001)
    private static let rightV6 = SocketAddress(ip: IPAddress(v6High: 0x2001_0DB8_0000_0000, low: 2), port: 6_001)

    /// The blocks of a file: type and body, without the two lengths, which must agree.
    private static func blocks(_ bytes: [UInt8]) throws -> [(type: UInt32, body: [UInt8])] {
        var blocks: [(type: UInt32, body: [UInt8])] = []
        var offset = 0
        while offset < bytes.count {
            let length = Int(number(bytes, at: offset + 4))
            try #require(length >= 12 && length % 4 == 0 && offset + length <= bytes.count)
            #expect(number(bytes, at: offset + length - 4) == UInt32(length))
            blocks.append((number(bytes, at: offset), Array(bytes[offset + 8..<offset + length - 4])))
            offset += length
        }
        return blocks
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The packet of an enhanced packet block, and the options behind it.
    private static func packet(_ body: [UInt8]) -> (packet: [UInt8], options: [UInt8]) {
        let length = Int(number(body, at: 12))
        return (Array(body[20..<20 + length]), Array(body[(20 + (length + 3) / 4 * 4)...]))
    }

    /// RFC 1071: with its checksum in it, data sums up to all ones.
    private static func sum(_ bytes: [UInt8]) -> UInt32 {
        let padded = bytes + (bytes.count % 2 == 0 ? [] : [0])
        var sum = stride(from: 0, to: padded.count, by: 2).reduce(UInt32(0)) {
            $0 + UInt32(padded[$1]) << 8 + UInt32(padded[$1 + 1])
        }
        while sum > 0xFFFF { sum = sum & 0xFFFF + sum >> 16 }
        return sum
    }

    @Test func aPacketThatWentOverTCPSaysSo() throws {
        var bytes: [UInt8] = []
        for address in [(Self.left, Self.right), (Self.leftV6, Self.rightV6)] {
            let start = bytes.count
            PcapngBlocks.appendDatagram(
                ([1, 2, 3] as [UInt8]).span.bytes, from: address.0, to: address.1, .sent, transport: .tcp,
                nanoseconds: 1, lost: 2,
                to: &bytes)
            #expect(bytes.count - start <= 3 + PcapngBlocks.maximumOverhead)
        }
        for block in try Self.blocks(bytes) {
            let (_, options) = Self.packet(block.body)
            // opt_comment, before the flags.
            #expect(
                options.starts(with: [0, 1, 0, 20] + Array("Over TCP (RFC 6544).".utf8) + [0, 2, 0, 4, 0, 0, 0, 2]))
        }
    }

    @Test func packetsStandInDatagramsWithRightChecksums() throws {
        var bytes: [UInt8] = []
        PcapngBlocks.appendHeader(application: "Emisora", interface: "emisora", to: &bytes)
        let payloads: [[UInt8]] = [[], [1], [1, 2, 3], Array(0..<200)]
        for payload in payloads {
            PcapngBlocks.appendDatagram(
                payload.span.bytes, from: Self.left, to: Self.right, .sent, nanoseconds: 0x1_0000_0002, lost: 0,
                to: &bytes)
            PcapngBlocks.appendDatagram(
                payload.span.bytes, from: Self.rightV6, to: Self.leftV6, .received, nanoseconds: 3, lost: 7, to: &bytes)
        }
        // Between families nothing goes.
        PcapngBlocks.appendDatagram(
            [1].span.bytes, from: Self.left, to: Self.rightV6, .sent, nanoseconds: 0, lost: 0, to: &bytes)
        let blocks = try Self.blocks(bytes)
        #expect(blocks.map(\.type) == [0x0A0D_0D0A, 1] + [UInt32](repeating: 6, count: 8))
        #expect(Self.number(blocks[0].body, at: 0) == 0x1A2B_3C4D)
        #expect(Array(blocks[1].body[..<2]) == [0, 101])
        for (index, payload) in payloads.enumerated() {
            let (v4, v4Options) = Self.packet(blocks[2 + 2 * index].body)
            #expect(Array(blocks[2 + 2 * index].body[4..<12]) == [0, 0, 0, 1, 0, 0, 0, 2])
            #expect(Self.sum(Array(v4[..<20])) == 0xFFFF)
            #expect(v4.count == 28 + payload.count && Array(v4[28...]) == payload)
            #expect(v4Options == [0, 2, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0])
            let length = UInt8(8 + payload.count)
            #expect(Self.sum(Array(v4[12..<20]) + [0, 17, 0, length] + v4[20...]) == 0xFFFF)
            let (v6, v6Options) = Self.packet(blocks[3 + 2 * index].body)
            #expect(v6.count == 48 + payload.count && Array(v6[48...]) == payload)
            #expect(Self.sum(Array(v6[8..<40]) + [0, 17, 0, length] + v6[40...]) == 0xFFFF)
            #expect(v6Options == [0, 2, 0, 4, 0, 0, 0, 1, 0, 4, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0])
            #expect(v6.count + 12 + 20 + v6Options.count <= payload.count + PcapngBlocks.maximumOverhead)
        }
    }

    @Test func whatTheDiskIsTooSlowForIsDroppedAndTold() throws {
        let written = Mutex<[UInt8]>([])
        let queue = PacketDumpQueue(byteLimit: 2_000) { bytes in
            written.withLock { $0 += bytes }
            return nil
        } onFailure: { _ in
            Issue.record("nothing failed")
        }
        let payload = [UInt8](repeating: 7, count: 500)
        func append() -> Bool {
            queue.append(payload.span.bytes, from: Self.left, to: Self.right, .sent, nanoseconds: 1)
        }
        // Two fit beside the header; the first one wakes the writing thread.
        #expect((0..<5).map { _ in append() } == [true, false, false, false, false])
        let held = queue.statistics
        #expect(held.packetsWritten == 0 && held.packetsDropped >= 2)
        queue.write()
        #expect(append())
        queue.finish()
        let statistics = queue.statistics
        #expect(statistics.packetsWritten + statistics.packetsDropped == 6)
        #expect(statistics.packetsDropped == held.packetsDropped)
        let blocks = try Self.blocks(written.withLock { $0 })
        #expect(blocks.count { $0.type == 6 } == Int(statistics.packetsWritten))
        // The first packet after the gap tells of it, and so does the end.
        let last = try #require(blocks.last { $0.type == 6 })
        #expect(Self.packet(last.body).options[16..<20] == [0, 0, 0, UInt8(held.packetsDropped)])
        let end = try #require(blocks.last)
        #expect(end.type == 5)
        #expect(
            Array(end.body[12...]) == [
                0, 4, 0, 8, 0, 0, 0, 0, 0, 0, 0, 6, 0, 5, 0, 8, 0, 0, 0, 0, 0, 0, 0, UInt8(held.packetsDropped), 0, 0,
                0, 0,
            ])
        #expect(!append())
    }

    @Test func aFullDiskIsToldOnceAndTheCallGoesOn() async throws {
        let failures = Mutex<[PacketDumpError]>([])
        let dump = try PacketDump(path: "/dev/full") { error in failures.withLock { $0.append(error) } }
        let tap = dump.tap(wallClock: WallClock(unixNanosecondsAtZero: 0))
        let path = ICEPath(local: Self.left, remote: Self.right)
        tap([1, 2, 3].span.bytes, .sent, path, .zero)
        try await eventually("the failure is told") { !failures.withLock { $0.isEmpty } }
        tap([1, 2, 3].span.bytes, .received, path, .zero)
        let expected = PacketDumpError.cannotWrite(path: "/dev/full", code: ENOSPC)
        #expect(throws: expected) { try dump.finish() }
        #expect(throws: expected) { try dump.finish() }
        #expect(failures.withLock { $0 } == [expected])
        #expect(dump.statistics == PacketDump.Statistics(packetsWritten: 0, packetsDropped: 2))
        #expect(expected.description.contains("disk full"))
    }

    @Test func aFileThatCannotBeMadeIsToldAtOnce() {
        let path = "/nonexistent/call.pcapng"
        #expect(throws: PacketDumpError.cannotOpen(path: path, code: ENOENT)) { try PacketDump(path: path) }
    }

    @Test func theFileIsForItsOwnerAlone() throws {
        let path = "/tmp/emisora-\(getpid())-\(UInt32.random(in: 0...UInt32.max)).pcapng"
        defer { unlink(path) }
        let dump = try PacketDump(path: path)
        let tap = dump.tap(wallClock: WallClock(unixNanosecondsAtZero: 1_000))
        tap([0x80, 0x60].span.bytes, .sent, ICEPath(local: Self.left, remote: Self.right), .zero)
        try dump.finish()
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(dump.statistics == PacketDump.Statistics(packetsWritten: 1, packetsDropped: 0))
        #expect(status.st_size > 100)
    }
}
