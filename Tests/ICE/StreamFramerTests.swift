import EmisoraCore
import EmisoraICE
import EmisoraSimulation
import Testing

@Suite struct StreamFramerTests {
    private static let packets: [[UInt8]] = [
        [1], [2, 3, 4], Array(repeating: 5, count: 255), Array(repeating: 6, count: 256), [0, 0], Array(0..<20),
    ]

    private static func framed(_ packets: [[UInt8]]) -> [UInt8] {
        var frame: [UInt8] = []
        return packets.flatMap { packet in
            #expect(StreamFramer.frame(packet.span.bytes, into: &frame))
            return frame
        }
    }

    @Test("RFC 4571 §2: packets are cut wherever the stream was split, empty ones are passed over")
    func cutAnywhere() throws {
        let stream = [0, 0] + Self.framed(Self.packets) + [0, 0]
        for cut in 0...stream.count {
            var framer = StreamFramer()
            var found: [[UInt8]] = []
            for part in [stream[..<cut], stream[cut...]] {
                try framer.append(Array(part).span.bytes)
                while let packet = try framer.next() { found.append(packet) }
            }
            #expect(found == Self.packets, "cut at \(cut)")
        }
        for size in [1, 2, 3, 7, 100] {
            var framer = StreamFramer()
            var found: [[UInt8]] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                try framer.append(Array(stream[start..<min(start + size, stream.count)]).span.bytes)
                while let packet = try framer.next() { found.append(packet) }
            }
            #expect(found == Self.packets)
        }
    }

    @Test(arguments: [(1_500, false), (1_501, true), (32_768, true), (65_535, true)])
    func whatIsLongerThanAnyPacketEndsTheStreamForGood(length: Int, isTooLong: Bool) throws {
        var framer = StreamFramer()
        let start = [UInt8(length >> 8), UInt8(length & 0xFF)]
        try framer.append(start.span.bytes)
        guard isTooLong else {
            #expect(try framer.next() == nil)
            let body = [UInt8](repeating: 9, count: length)
            try framer.append(body.span.bytes)
            #expect(try framer.next() == body)
            return
        }
        let failure = StreamFramer.Failure.tooLong(byteCount: length)
        #expect(throws: failure) { try framer.next() }
        #expect(throws: failure) { try framer.append(start.span.bytes) }
        #expect(throws: failure) { try framer.next() }
    }

    @Test func bytesThatNobodyTakesDoNotPileUp() throws {
        var framer = StreamFramer()
        let block = [UInt8](repeating: 0, count: 16_384)
        try framer.append(block.span.bytes)
        #expect(throws: StreamFramer.Failure.overflow) { try framer.append(block.span.bytes) }
        // A read at a time, each taken out, goes on for ever.
        var other = StreamFramer()
        let part = Array(([1, 0] as [UInt8]) + Array(repeating: 7, count: 256))
        let stream = Array(Array(repeating: part, count: 200).joined())
        var count = 0
        for start in stride(from: 0, to: stream.count, by: 16_384) {
            try other.append(Array(stream[start..<min(start + 16_384, stream.count)]).span.bytes)
            while try other.next() != nil { count += 1 }
        }
        #expect(count == 200)
    }

    @Test func whatIsTooLongToBeSentIsRefused() {
        var frame: [UInt8] = [1, 2, 3]
        let isEmptyTaken = StreamFramer.frame([UInt8]().span.bytes, into: &frame)
        let isLongTaken = StreamFramer.frame([UInt8](repeating: 0, count: 1_501).span.bytes, into: &frame)
        #expect(!isEmptyTaken && !isLongTaken)
        #expect(frame == [1, 2, 3])
    }

    @Test func randomBytesNeverTrap() {
        var random = SeededRandom(5)
        for _ in 0..<5_000 {
            var framer = StreamFramer()
            do {
                for _ in 0..<6 {
                    var bytes = (0..<Int(random.next() % 60)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                    // Else nearly all would be too long at once.
                    if !bytes.isEmpty, random.next() % 4 != 0 { bytes[0] = 0 }
                    try framer.append(bytes.span.bytes)
                    while let packet = try framer.next() { #expect((1...1_500).contains(packet.count)) }
                }
            } catch {
                guard case .tooLong(let byteCount) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(byteCount > 1_500)
            }
        }
    }
}
