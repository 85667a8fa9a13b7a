import EmisoraCodecs
import EmisoraCore
import EmisoraProcessing
import EmisoraVideo
import Testing

@Suite struct VP8Tests {
    private func encoder(
        width: Int = 320, height: Int = 240, kilobits: Int = 1_000, hint: VideoContentHint = .none
    ) throws -> VP8Encoder {
        try VP8Encoder(
            .init(width: width, height: height, targetBitrate: .kilobitsPerSecond(kilobits), contentHint: hint))
    }

    /// Encodes and decodes a few pictures; the quality of the last.
    private func quality(_ pixelFormat: PixelFormat, width: Int, height: Int, padding: Int) throws -> Double {
        let encoder = try encoder(width: width, height: height)
        let decoder = try VP8Decoder()
        var psnr = 0.0
        for index in 0..<6 {
            let frame = try Picture.gradient(pixelFormat, width: width, height: height, index: index, padding: padding)
            let encoded = try #require(try encoder.encode(frame, forceKeyFrame: false))
            #expect(encoded.isKeyFrame == (index == 0))
            #expect(encoded.captureTime == frame.timestamp)
            let decoded = try decoder.decode(encoded.payload, timestamp: frame.timestamp)
            #expect(decoded.width == width && decoded.height == height && decoded.timestamp == frame.timestamp)
            psnr = try #require(PictureQuality.psnrY(frame, decoded))
        }
        return psnr
    }

    @Test(arguments: [(320, 240, 0), (320, 240, 24), (161, 99, 0), (161, 99, 7), (16, 16, 0), (17, 1, 3)])
    func picturesSurviveAsI420AndNV12Alike(width: Int, height: Int, padding: Int) throws {
        let planar = try quality(.i420, width: width, height: height, padding: padding)
        let interleaved = try quality(.nv12, width: width, height: height, padding: padding)
        #expect(planar > 32)
        #expect(planar == interleaved)
    }

    @Test func chromaOfNV12IsNotSwapped() throws {
        let frame = try Picture.flat(.nv12, [[100], [60, 200]], width: 64, height: 64)
        let encoded = try #require(try encoder(width: 64, height: 64).encode(frame, forceKeyFrame: false))
        let decoded = try VP8Decoder().decode(encoded.payload, timestamp: .zero)
        decoded.withUnsafePlanes { planes in
            #expect(abs(Int(planes[1][300]) - 60) < 6)
            #expect(abs(Int(planes[2][300]) - 200) < 6)
        }
    }

    @Test func keyFrameComesExactlyWhenAskedFor() throws {
        let encoder = try encoder()
        for index in 0..<30 {
            let isAsked = index == 11 || index == 12 || index == 25
            let encoded = try #require(try encoder.encode(try Picture.gradient(index: index), forceKeyFrame: isAsked))
            #expect(encoded.isKeyFrame == (isAsked || index == 0), "picture \(index)")
        }
    }

    @Test func requestedKeyFrameIsNotDroppedByRateControl() throws {
        var random = SeededRandom(3)
        let encoder = try encoder(width: 160, height: 120, kilobits: 100)
        for index in 0..<40 {
            let isAsked = index % 8 == 7
            let frame = try Picture.noise(width: 160, height: 120, index: index, random: &random)
            let encoded = try encoder.encode(frame, forceKeyFrame: isAsked)
            if isAsked { #expect(encoded?.isKeyFrame == true) }
        }
    }

    @Test func bitrateIsHeldAndChangesWhileRunning() throws {
        // Grain that moves: needs more than either rate at the best quantizer.
        let encoder = try encoder(kilobits: 800)
        let format = try VideoFormat(.i420, width: 320, height: 240)
        var random = SeededRandom(9)
        let grain = (0..<4_096).map { _ in UInt8(truncatingIfNeeded: random.next() % 48) }
        func kilobits(from start: Int) throws -> Double {
            var byteCount = 0
            for index in start..<start + 120 {
                let frame = try Picture.make(format, index: index) { plane, row, byte in
                    plane > 0 ? 128 : 90 + grain[(byte / 4 + row / 4 * 67 + index / 2 * 13) & 4_095]
                }
                let encoded = try encoder.encode(frame, forceKeyFrame: false)
                // The first second belongs to the change itself.
                if index >= start + 30 { byteCount += encoded?.payload.count ?? 0 }
            }
            return Double(byteCount) * 8 / 3_000
        }
        let first = try kilobits(from: 0)
        #expect(abs(first - 800) < 160, "\(first)")
        try encoder.setTargetBitrate(.kilobitsPerSecond(300))
        let second = try kilobits(from: 120)
        #expect(abs(second - 300) < 60, "\(second)")
    }

    @Test func sizeChangesUpAndDownBeginWithKeyFrames() throws {
        let encoder = try encoder()
        let decoder = try VP8Decoder()
        var index = 0
        for (width, height) in [(320, 240), (160, 120), (320, 240), (641, 361), (240, 320), (641, 361)] {
            for isFirst in [true, false, false] {
                let frame = try Picture.gradient(width: width, height: height, index: index)
                let encoded = try #require(try encoder.encode(frame, forceKeyFrame: false))
                #expect(encoded.isKeyFrame == isFirst)
                #expect(encoded.width == width && encoded.height == height)
                let decoded = try decoder.decode(encoded.payload, timestamp: frame.timestamp)
                #expect(try #require(PictureQuality.psnrY(frame, decoded)) > 28)
                index += 1
            }
        }
    }

    @Test func noiseAtLowRateDropsPicturesUnlessItIsAScreen() throws {
        func dropped(_ hint: VideoContentHint) throws -> Int {
            var random = SeededRandom(5)
            let encoder = try encoder(kilobits: 60, hint: hint)
            return try (0..<40).count { index in
                try encoder.encode(try Picture.noise(index: index, random: &random), forceKeyFrame: false) == nil
            }
        }
        #expect(try dropped(.motion) > 5)
        #expect(try dropped(.text) == 0)
    }

    @Test func framesAbove64KiBComeWhole() throws {
        var random = SeededRandom(6)
        let frame = try Picture.noise(width: 640, height: 480, index: 0, random: &random)
        let encoder = try encoder(width: 640, height: 480, kilobits: 50_000)
        let encoded = try #require(try encoder.encode(frame, forceKeyFrame: true))
        #expect(encoded.payload.count > 65_536)
        #expect(try VP8Decoder().decode(encoded.payload, timestamp: .zero).width == 640)
    }

    @Test func timeThatStandsStillOrGoesBackIsEncoded() throws {
        let encoder = try encoder()
        for (index, nanoseconds) in [Int64](arrayLiteral: 5_000, 5_000, 0, .max, .min, 7_000).enumerated() {
            var frame = try Picture.gradient(index: index)
            frame.timestamp = Instant(nanoseconds: nanoseconds)
            _ = try encoder.encode(frame, forceKeyFrame: false)
        }
    }

    @Test(arguments: [0, -5, .infinity, .nan, 1e12])
    func ratesWithoutSenseDoNotTrap(rate: Double) throws {
        let encoder = try encoder()
        encoder.setMaximumFramesPerSecond(rate)
        #expect(try encoder.encode(try Picture.gradient(), forceKeyFrame: false) != nil)
    }

    @Test func bitratesWithoutSenseAreHeldInBounds() throws {
        let encoder = try encoder()
        for (index, bits) in [Int.max, 0, Int.min, 1_000_000].enumerated() {
            try encoder.setTargetBitrate(.bitsPerSecond(bits))
            _ = try encoder.encode(try Picture.gradient(index: index), forceKeyFrame: false)
        }
    }

    @Test func wrongConfigurationsAndFormatsAreRefusedInWords() throws {
        #expect(throws: CodecError.self) { try encoder(width: 0) }
        #expect(throws: CodecError.self) { try encoder(height: 16_384) }
        let packed = try Picture.flat(.bgra, [[1, 2, 3, 4]])
        #expect(throws: CodecError.unsupportedPixelFormat("bgra")) {
            try encoder().encode(packed, forceKeyFrame: false)
        }
    }

    // MARK: Decoder

    @Test func hugeKeyFrameIsRefusedBeforeDecoding() throws {
        // RFC 6386 §9.1: frame tag, start code, 14 bits for each side.
        let header: [UInt8] = [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0xFF, 0x3F, 0xFF, 0x3F]
        #expect(throws: CodecError.pictureTooLarge(width: 16_383, height: 16_383)) {
            try VP8Decoder().decode(header + [UInt8](repeating: 0x55, count: 20), timestamp: .zero)
        }
        let small = try VP8Decoder(maximumPixelCount: 320 * 240 - 1)
        let encoded = try #require(try encoder().encode(try Picture.gradient(), forceKeyFrame: true))
        #expect(throws: CodecError.pictureTooLarge(width: 320, height: 240)) {
            try small.decode(encoded.payload, timestamp: .zero)
        }
    }

    private func payloads(_ count: Int, width: Int = 320, height: Int = 240) throws -> [[UInt8]] {
        let encoder = try encoder(width: width, height: height)
        return try (0..<count).map { index in
            let frame = try Picture.gradient(width: width, height: height, index: index)
            return try #require(try encoder.encode(frame, forceKeyFrame: index % 4 == 0)).payload
        }
    }

    @Test func framesBeforeAKeyFrameAndAfterDamageAreRefused() throws {
        let payloads = try payloads(2)
        let decoder = try VP8Decoder()
        #expect(throws: CodecError.self) { try decoder.decode([], timestamp: .zero) }
        #expect(throws: CodecError.self) { try decoder.decode(payloads[1], timestamp: .zero) }
        #expect(throws: CodecError.self) { try decoder.decode(Array(payloads[0][..<9]), timestamp: .zero) }
        #expect(throws: CodecError.self) { try decoder.decode(payloads[1], timestamp: .zero) }
        _ = try decoder.decode(payloads[0], timestamp: .zero)
        _ = try decoder.decode(payloads[1], timestamp: .zero)
    }

    @Test func hiddenFrameIsToldFromDamage() throws {
        var payloads = try payloads(3)
        let decoder = try VP8Decoder()
        _ = try decoder.decode(payloads[0], timestamp: .zero)
        payloads[1][0] &= ~0x10
        #expect(throws: CodecError.hiddenPicture) { try decoder.decode(payloads[1], timestamp: .zero) }
        #expect(try decoder.decode(payloads[2], timestamp: .zero).width == 320)
    }

    @Test func damagedAndRandomPayloadsNeverTrap() throws {
        var random = SeededRandom(7)
        let payloads = try payloads(12, width: 64, height: 48)
        let decoder = try VP8Decoder(maximumPixelCount: 256 * 256)
        var decoded = 0
        for round in 0..<10_000 {
            var payload = payloads[round % payloads.count]
            switch random.next() % 4 {
            case 0: payload = (0..<Int(random.next() % 64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            case 1: payload.removeLast(Int(random.next() % UInt64(payload.count)))
            default:
                for _ in 0..<1 + random.next() % 6 {
                    payload[Int(random.next() % UInt64(payload.count))] = UInt8(truncatingIfNeeded: random.next())
                }
            }
            if (try? decoder.decode(payload, timestamp: .zero)) != nil { decoded += 1 }
        }
        // Otherwise nothing but the header check would have been tried.
        #expect(decoded > 100)
        #expect(try decoder.decode(payloads[0], timestamp: .zero).width == 64)
    }
}
