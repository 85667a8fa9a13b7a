import CEmisoraJPEG
import EmisoraCore
import EmisoraVideo
import Testing

@testable import EmisoraCapture

/// Motion JPEG, encoded here by libjpeg-turbo.
@Suite struct MJPEGTests {
    /// A grey ramp with coloured halves, as a JPEG.
    static func jpeg(_ width: Int, _ height: Int, _ subsampling: TJSAMP = TJSAMP_420) throws -> [UInt8] {
        var rgb = [UInt8](repeating: 0, count: width * height * 3)
        for y in 0..<height {
            for x in 0..<width {
                let at = (y * width + x) * 3
                rgb[at] = x < width / 2 ? 200 : 40
                rgb[at + 1] = 90
                rgb[at + 2] = x < width / 2 ? 40 : 200
            }
        }
        let handle = try #require(tjInitCompress())
        defer { tjDestroy(handle) }
        var (bytes, count): (UnsafeMutablePointer<UInt8>?, UInt) = (nil, 0)
        let status = tjCompress2(
            handle, rgb, Int32(width), 0, Int32(height), Int32(TJPF_RGB.rawValue), &bytes, &count,
            Int32(subsampling.rawValue), 90, 0)
        defer { tjFree(bytes) }
        try #require(status == 0)
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Luma and chroma in the middle of the left and the right half.
    private func colors(_ frame: VideoFrame) -> [[UInt8]] {
        frame.withUnsafePlanes { planes in
            [1, 3].map { quarter in
                (0..<3).map { plane in
                    let layout = frame.format.layout(ofPlane: plane)
                    return planes[plane][layout.rows / 2 * layout.stride + layout.rowBytes * quarter / 4]
                }
            }
        }
    }

    private func decode(_ bytes: [UInt8], limit: VideoSize) throws -> VideoFrame {
        let decoder = try #require(MJPEGDecoder())
        return try bytes.withUnsafeBytes { bytes in
            let header = try decoder.header(of: bytes, limit: limit)
            var picture = try VideoFramePool().makeFrame(VideoFormat(.i420, size: header.size))
            try decoder.decode(bytes, header, into: &picture)
            return picture.finish(timestamp: .zero)
        }
    }

    @Test(arguments: [TJSAMP_420, TJSAMP_422, TJSAMP_444, TJSAMP_440, TJSAMP_411], [(64, 48), (62, 46), (61, 47)])
    func everyChromaSamplingIsDecoded(_ subsampling: TJSAMP, _ size: (Int, Int)) throws {
        let bytes = try Self.jpeg(size.0, size.1, subsampling)
        let frame = try decode(bytes, limit: VideoSize(width: 64, height: 48))
        #expect(frame.size == VideoSize(width: size.0, height: size.1))
        // JFIF: Y = 0.299 R + 0.587 G + 0.114 B, Cb = 128 + 0.564 (B − Y), Cr = 128 + 0.713 (R − Y)
        for (found, wanted) in zip(colors(frame), [[117, 85, 187], [88, 191, 94]]) {
            for (a, b) in zip(found, wanted) { #expect(abs(Int(a) - b) <= 4, "\(found) instead of \(wanted)") }
        }
    }

    @Test func greyPicturesHaveNeutralChroma() throws {
        let frame = try decode(try Self.jpeg(64, 48, TJSAMP_GRAY), limit: VideoSize(width: 64, height: 48))
        #expect(colors(frame).allSatisfy { $0[1] == 128 && $0[2] == 128 })
    }

    @Test func pictureWithoutHuffmanTablesIsDecoded() throws {
        // As cameras send them, which save the bytes.
        var bytes = try Self.jpeg(64, 48)
        var index = 2
        while index + 4 < bytes.count, bytes[index] == 0xFF, bytes[index + 1] != 0xDA {
            let length = 2 + Int(bytes[index + 2]) << 8 + Int(bytes[index + 3])
            if bytes[index + 1] == 0xC4 { bytes.removeSubrange(index..<index + length) } else { index += length }
        }
        let frame = try decode(bytes, limit: VideoSize(width: 64, height: 48))
        #expect(abs(Int(colors(frame)[0][0]) - 117) <= 4)
    }

    @Test func samplingsThatAreNotInLowestTermsAreDecoded() throws {
        // 32×32, 4:2:2 as 2x2,1x2,1x2, of one colour; FFmpeg's encoder writes such.
        var reader = V4L2TokenReader(
            """
            ffd8ffdb00430008040404040405050505050506060606060606060606060606070707080808070707060607070808080809\
            09090808080809090a0a0a0c0c0b0b0e0e0e111114ffc4004c00010100000000000000000000000000000004010101000000\
            00000000000000000000000006100100000000000000000000000000000000110100000000000000000000000000000000ff\
            c00011080020002003012200021200031200ffda000c03010002110311003f009404a0bb0000000000001fffd9
            """)
        let frame = try decode(try reader.bytes(), limit: VideoSize(width: 32, height: 32))
        // R 200, G 90, B 40 in full range.
        for (a, b) in zip(colors(frame)[0], [117, 85, 187]) { #expect(abs(Int(a) - b) <= 3) }
    }

    @Test func bytesBeforeTheEndMarkAreForgiven() throws {
        var bytes = try Self.jpeg(64, 48)
        bytes.insert(contentsOf: [0, 0, 0], at: bytes.count - 2)
        let frame = try decode(bytes, limit: VideoSize(width: 64, height: 48))
        #expect(abs(Int(colors(frame)[0][0]) - 117) <= 4)
    }

    @Test func largerPicturesThanNegotiatedAreRefusedBeforeTheyAreDecoded() throws {
        let bytes = try Self.jpeg(640, 480)
        #expect(throws: MJPEGDecoder.Failure.oversized(VideoSize(width: 640, height: 480))) {
            try decode(bytes, limit: VideoSize(width: 64, height: 48))
        }
        // Whole blocks are not too large.
        #expect(try decode(try Self.jpeg(64, 48), limit: VideoSize(width: 60, height: 40)).width == 64)
    }

    @Test func mutatedPicturesAreDecodedOrRefusedAndNeverTrap() throws {
        let decoder = try #require(MJPEGDecoder())
        let original = try Self.jpeg(64, 48, TJSAMP_422)
        let pool = VideoFramePool()
        var random = TestRandom(state: 1)
        var refused = 0
        for _ in 0..<3000 {
            var bytes = original
            for _ in 0...Int.random(in: 0..<6, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            do {
                try bytes.withUnsafeBytes { bytes in
                    let header = try decoder.header(of: bytes, limit: VideoSize(width: 640, height: 480))
                    var picture = try pool.makeFrame(VideoFormat(.i420, size: header.size))
                    try decoder.decode(bytes, header, into: &picture)
                }
            } catch {
                refused += 1
            }
        }
        #expect(refused > 1000)
        #expect(throws: MJPEGDecoder.Failure.damaged) { try decode([], limit: VideoSize(width: 64, height: 48)) }
    }

    @Test func damagedAndOversizedPicturesAreCountedDropsOfTheStream() throws {
        let (good, large) = (try Self.jpeg(64, 48), try Self.jpeg(320, 240))
        var camera = ScriptedCamera()
        camera.modes = [(.mjpeg, 64, 48, V4L2Fraction(1, 30))]
        camera.payload = { number in
            switch number % 5 {
            case 1: Array(good.prefix(good.count / 2))
            case 2: large.count < 10_000 ? large : Array(large.prefix(10_000))
            case 3: [UInt8](repeating: 7, count: 500)
            default: good
            }
        }
        let bench = try CameraBench(camera)
        _ = bench.pass(.seconds(10))
        let ledger = bench.consumer.ledger
        #expect(abs(ledger.dropped(.invalid) - 180) <= 2)
        #expect(abs(ledger.encoded - 120) <= 2)
        #expect(ledger.isBalanced)
        #expect(bench.consumer.poolAllocations <= 3)
        #expect(bench.capture.format.pixelFormat == .i420)
        #expect(bench.capture.format.colorRange == .full)
        bench.capture.stop()
    }
}
