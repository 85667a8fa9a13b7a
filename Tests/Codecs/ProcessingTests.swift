import EmisoraAudio
import EmisoraCore
import EmisoraProcessing
import EmisoraVideo
import Testing

@Suite struct ProcessingTests {
    struct Color: Sendable {
        let r, g, b: Int

        static let all = [
            Color(r: 255, g: 0, b: 0), Color(r: 0, g: 255, b: 0), Color(r: 0, g: 0, b: 255),
            Color(r: 255, g: 255, b: 255), Color(r: 0, g: 0, b: 0), Color(r: 200, g: 120, b: 40),
        ]

        /// ITU-R BT.601 and BT.709 in floating point: what the library is judged by.
        func yuv(_ matrix: ColorMatrix, _ range: ColorRange) -> [UInt8] {
            let (kr, kb) = matrix == .bt601 ? (0.299, 0.114) : (0.2126, 0.0722)
            let (red, green, blue) = (Double(r) / 255, Double(g) / 255, Double(b) / 255)
            let y = kr * red + (1 - kr - kb) * green + kb * blue
            let u = (blue - y) / (2 * (1 - kb))
            let v = (red - y) / (2 * (1 - kr))
            let (offset, lumaScale, chromaScale) = range == .full ? (0.0, 255.0, 255.0) : (16.0, 219.0, 224.0)
            return [offset + lumaScale * y, 128 + chromaScale * u, 128 + chromaScale * v].map {
                UInt8(max(0, min(255, $0.rounded())))
            }
        }
    }

    private func expect(
        _ frame: VideoFrame, shows color: Color, within tolerance: Int = 6, _ note: String
    ) throws {
        let picture = try VideoConverter().rgb24(frame)
        let pixel = picture.withUnsafePlanes { planes in
            let start = picture.height / 2 * picture.format.stride(ofPlane: 0) + picture.width / 2 * 3
            return (0..<3).map { Int(planes[0][start + $0]) }
        }
        for (got, wanted) in zip(pixel, [color.r, color.g, color.b]) {
            #expect(abs(got - wanted) <= tolerance, "\(note) \(color): \(pixel)")
        }
    }

    @Test(arguments: ColorMatrix.allCases, ColorRange.allCases)
    func coloursOfEachMatrixAndRangeAreRight(matrix: ColorMatrix, range: ColorRange) throws {
        // libyuv holds the weight of blue at 2.0 where BT.709 limited has 2.112: 112 × 0.112 and rounding twice.
        let tolerance = matrix == .bt709 && range == .limited ? 15 : 6
        for color in Color.all {
            let yuv = color.yuv(matrix, range)
            let planar = try Picture.flat(.i420, yuv.map { [$0] }, matrix: matrix, range: range)
            let interleaved = try Picture.flat(.nv12, [[yuv[0]], [yuv[1], yuv[2]]], matrix: matrix, range: range)
            for frame in [planar, interleaved] {
                try expect(frame, shows: color, within: tolerance, "\(matrix) \(range)")
                let encodable = try VideoConverter().encodable(frame)
                #expect(encodable.format.colorMatrix == .bt601 && encodable.format.colorRange == .limited)
                try expect(encodable, shows: color, within: tolerance, "encodable \(matrix) \(range)")
            }
        }
    }

    @Test(arguments: PixelFormat.allCases)
    func everyPixelFormatBecomesTheSamePicture(pixelFormat: PixelFormat) throws {
        for color in Color.all {
            let (r, g, b) = (UInt8(color.r), UInt8(color.g), UInt8(color.b))
            let yuv = color.yuv(.bt601, .limited)
            let samples: [[UInt8]] =
                switch pixelFormat {
                case .i420: yuv.map { [$0] }
                case .nv12: [[yuv[0]], [yuv[1], yuv[2]]]
                case .nv21: [[yuv[0]], [yuv[2], yuv[1]]]
                case .yuy2: [[yuv[0], yuv[1], yuv[0], yuv[2]]]
                case .uyvy: [[yuv[1], yuv[0], yuv[2], yuv[0]]]
                case .argb: [[255, r, g, b]]
                case .bgra: [[b, g, r, 255]]
                case .rgba: [[r, g, b, 255]]
                case .rgb24: [[r, g, b]]
                }
            let frame = try Picture.flat(pixelFormat, samples, width: 33, height: 31)
            let planar = try VideoConverter().i420(frame)
            #expect(planar.format.pixelFormat == .i420 && planar.width == 33 && planar.height == 31)
            try expect(planar, shows: color, "\(pixelFormat) as i420")
            try expect(frame, shows: color, "\(pixelFormat)")
        }
    }

    @Test(arguments: [PixelFormat.i420, .nv12])
    func whatTheEncoderTakesIsNotCopied(pixelFormat: PixelFormat) throws {
        let frame = try Picture.gradient(pixelFormat)
        let address = frame.withUnsafePlanes { $0[0].baseAddress }
        #expect(try VideoConverter().encodable(frame).withUnsafePlanes { $0[0].baseAddress } == address)
    }

    /// A white corner on black, at the top left of the picture as it lies.
    private func corner(_ rotation: VideoRotation) throws -> VideoFrame {
        var frame = try VideoFramePool().makeFrame(VideoFormat(.i420, width: 48, height: 32))
        frame.withUnsafeMutablePlanes { luma, u, v in
            let planes = [luma, u, v]
            for index in planes[0].indices { planes[0][index] = index % 48 < 8 && index / 48 < 8 ? 235 : 16 }
            for plane in 1...2 { for index in planes[plane].indices { planes[plane][index] = 128 } }
        }
        return frame.finish(timestamp: Picture.time(4), rotation: rotation)
    }

    @Test(arguments: [
        (VideoRotation.none, 48, 2, 2), (.clockwise90, 32, 29, 2), (.clockwise180, 48, 45, 29),
        (.clockwise270, 32, 2, 45),
    ])
    func turnedPicturesStandUpright(rotation: VideoRotation, width: Int, x: Int, y: Int) throws {
        let converter = VideoConverter()
        let upright = try converter.upright(corner(rotation))
        // Labelled as it lies now, or it would be turned a second time.
        #expect(upright.rotation == VideoRotation.none)
        #expect(upright.width == width && upright.height == 80 - width && upright.timestamp == Picture.time(4))
        upright.withUnsafePlanes { planes in
            #expect(planes[0][y * upright.format.stride(ofPlane: 0) + x] == 235)
            #expect(planes[0].count { $0 == 235 } == 64)
        }
        #expect(try converter.encodable(corner(rotation)).rotation == VideoRotation.none)
    }

    @Test func scalingKeepsThePicture() throws {
        let converter = VideoConverter()
        let frame = try Picture.gradient()
        let half = try converter.scale(frame, width: 161, height: 121)
        #expect(half.width == 161 && half.height == 121 && half.timestamp == frame.timestamp)
        let back = try converter.scale(half, width: 320, height: 240)
        #expect(try #require(PictureQuality.psnrY(frame, back)) > 22)
        #expect(throws: ConversionError.unsupportedSize(width: 0, height: 5)) {
            try converter.scale(frame, width: 0, height: 5)
        }
    }

    @Test func qualityTellsDifferences() throws {
        let first = try Picture.flat(.i420, [[100], [128], [128]])
        let second = try Picture.flat(.nv12, [[110], [128]])
        #expect(PictureQuality.psnrY(first, first) == .infinity)
        // 20·log10(255/10)
        #expect(abs(try #require(PictureQuality.psnrY(first, second)) - 28.13) < 0.01)
        #expect(PictureQuality.psnrY(first, try Picture.flat(.i420, [[1], [1], [1]], width: 16)) == nil)
        #expect(PictureQuality.psnrY(first, try Picture.flat(.rgb24, [[1, 1, 1]])) == nil)
    }

    // MARK: PNG

    private func number(_ bytes: some Collection<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    /// Reads a file of stored blocks back without the writer's code, with its checksums.
    private func readPNG(_ file: [UInt8]) throws -> (width: Int, height: Int, rows: [UInt8]) {
        try #require(Array(file[..<8]) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        var offset = 8
        var chunks: [(name: String, data: [UInt8])] = []
        while offset < file.count {
            let end = offset + 8 + Int(number(file[offset..<offset + 4]))
            var crc: UInt32 = ~0
            for byte in file[offset + 4..<end] {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
            }
            #expect(~crc == number(file[end..<end + 4]))
            let name = String(decoding: file[offset + 4..<offset + 8], as: UTF8.self)
            chunks.append((name, Array(file[offset + 8..<end])))
            offset = end + 4
        }
        #expect(chunks.map(\.name) == ["IHDR", "IDAT", "IEND"])
        let (header, data) = (chunks[0].data, chunks[1].data)
        #expect(Array(header[8...]) == [8, 2, 0, 0, 0])
        var rows: [UInt8] = []
        var place = 2
        var isLast = false
        while !isLast {
            isLast = data[place] == 1
            let count = Int(data[place + 1]) | Int(data[place + 2]) << 8
            #expect(data[place + 3] == ~data[place + 1] && data[place + 4] == ~data[place + 2])
            rows += data[place + 5..<place + 5 + count]
            place += 5 + count
        }
        var (low, high) = (1, 0)
        for byte in rows {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        #expect(number(data[place...]) == UInt32(high << 16 | low))
        return (Int(number(header[0..<4])), Int(number(header[4..<8])), rows)
    }

    @Test func pngHoldsThePixels() throws {
        // More than one stored block, and an odd size.
        let frame = try Picture.flat(.rgba, [[200, 120, 40, 0]], width: 201, height: 151)
        let picture = try readPNG(PNGWriter.encode(frame, with: VideoConverter()))
        #expect(picture.width == 201 && picture.height == 151)
        try #require(picture.rows.count == 151 * 604)
        for row in [0, 77, 150] { #expect(Array(picture.rows[row * 604..<row * 604 + 4]) == [0, 200, 120, 40]) }
    }

    @Test func pngIsUpright() throws {
        let picture = try readPNG(PNGWriter.encode(corner(.clockwise90), with: VideoConverter()))
        #expect(picture.width == 32 && picture.height == 48)
        #expect(picture.rows[2 * 97 + 1 + 3 * 29] > 250)
        #expect(picture.rows[2 * 97 + 1 + 3 * 2] < 5)
    }

    // MARK: Sound

    @Test func channelsAndSampleTypesConvert() throws {
        let mono = try AudioFrame([Int16(1), -2, .max], format: .mono, timestamp: Picture.time(1))
        let stereo = try AudioConverter.convert(mono, channels: 2)
        #expect(stereo.samples == .int16([1, 1, -2, -2, .max, .max]) && stereo.timestamp == mono.timestamp)
        #expect(try AudioConverter.convert(stereo, channels: 1).samples == mono.samples)
        let samples: [Int16] = [.min, .min, .max, .max, 100, 300]
        let wide = try AudioFrame(samples, format: .stereo, timestamp: .zero)
        #expect(try AudioConverter.convert(wide, channels: 1).samples == .int16([.min, .max, 200]))
        let clipped = AudioConverter.int16([0, 0.5, -1, 1, 7, -.infinity, .nan])
        #expect(clipped == [0, 16_384, .min, .max, .max, .min, 0])
        #expect(AudioConverter.int16(AudioConverter.float32([.min, -1, 0, 1, .max])) == [.min, -1, 0, 1, .max])
    }

    @Test func otherRatesAndChannelsAreRefusedInWords() throws {
        let format = AudioFormat(sampleRate: 16_000, channels: 1)
        let slow = try AudioFrame([Int16(1)], format: format, timestamp: .zero)
        #expect(throws: AudioConversionError.unsupportedSampleRate(16_000)) {
            try AudioConverter.convert(slow, channels: 1)
        }
        let plain = try AudioFrame([Int16(1)], format: .mono, timestamp: .zero)
        #expect(throws: AudioConversionError.unsupportedChannels(6)) { try AudioConverter.convert(plain, channels: 6) }
    }
}
