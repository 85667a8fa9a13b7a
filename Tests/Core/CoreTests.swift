import Testing

@testable import EmisoraCore

@Suite struct ByteCursorTests {
    @Test func whatTheWriterWritesTheReaderReads() throws {
        var storage = [UInt8](repeating: 0, count: 16)
        var span = storage.mutableSpan
        var bytes = span.mutableBytes
        var writer = ByteWriter(&bytes)
        try writer.writeInteger(UInt16(0xABCD))
        try writer.writeUInt24(0x123456)
        try writer.writeZeros(2)
        try writer.patchInteger(UInt16(0x0102), at: 5)
        #expect(writer.count == 7)
        #expect(storage.prefix(8) == [0xAB, 0xCD, 0x12, 0x34, 0x56, 1, 2, 0])

        var reader = ByteReader(storage.span.bytes)
        #expect(try reader.readInteger(UInt16.self) == 0xABCD)
        #expect(try reader.readUInt24() == 0x123456)
        #expect(try reader.readBytes(2).byteCount == 2)
        #expect(reader.remaining == 9)
    }

    @Test func readingPastTheEndThrowsAndMovesNothing() throws {
        let storage: [UInt8] = [1, 2, 3]
        var reader = ByteReader(storage.span.bytes)
        var caught: ByteError?
        do throws(ByteError) { _ = try reader.readInteger(UInt32.self) } catch { caught = error }
        #expect(caught == .truncated(needed: 4, available: 3))
        do throws(ByteError) { try reader.skip(-1) } catch { caught = error }
        #expect(caught == .truncated(needed: -1, available: 3))
        #expect(reader.offset == 0)
    }

    @Test func writingPastTheEndThrows() {
        var storage = [UInt8](repeating: 0, count: 1)
        var span = storage.mutableSpan
        var bytes = span.mutableBytes
        var writer = ByteWriter(&bytes)
        var caught: ByteError?
        do throws(ByteError) { try writer.writeInteger(UInt16(1)) } catch { caught = error }
        #expect(caught == .bufferFull(needed: 2, available: 1))
    }
}

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("::1", "::1"), ("::", "::"), ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("fe80::1", "fe80::1"), ("::ffff:192.0.2.1", "::ffff:c000:201"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
    ])
    func textIsReadAndWrittenInCanonicalForm(text: String, canonical: String) throws {
        #expect(try #require(IPAddress(text)).description == canonical)
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4.5", "a.b.c.d", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "12345::",
        "::+1", "host.local", "1:2:3:4:5:6:7:8:9", "1.2.3.4::", "fe80::1%eth0",
    ])
    func whatIsNoAddressGivesNil(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func kindsOfAddressAreKnown() throws {
        #expect(try #require(IPAddress("127.9.9.9")).isLoopback)
        #expect(try #require(IPAddress("::1")).isLoopback)
        #expect(try #require(IPAddress("fe80::2")).isLinkLocal)
        #expect(try !#require(IPAddress("fd00::2")).isLinkLocal)
        #expect(try #require(IPAddress("169.254.1.1")).isLinkLocal)
    }
}

@Suite struct TimeTests {
    @Test func instantsHoldAtTheEndsInsteadOfOverflowing() {
        #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
        #expect(Instant(nanoseconds: .min) - .seconds(1) == Instant(nanoseconds: .min))
        #expect(Instant(nanoseconds: 5) - Instant(nanoseconds: 7) == .nanoseconds(-2))
        #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    }

    @Test func wallClockGivesNTPTime() {
        let clock = WallClock(unixNanosecondsAtZero: -1_500_000_000)
        let ntp = clock.ntp(at: Instant(nanoseconds: 2_000_000_000))
        #expect(ntp.rawValue == UInt64(2_208_988_800) << 32 | 1 << 31)
        #expect(clock.ntp(at: .zero).rawValue == UInt64(2_208_988_798) << 32 | 1 << 31)
    }
}
