import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Testing

@Suite struct PatternTests {
    let pool = VideoFramePool()
    static let number: UInt32 = 0xDEAD_BEEF
    static let time = Instant(nanoseconds: 0x1234_5678_9ABC_DEF0)

    @Test(
        arguments: [PixelFormat.i420, .nv12], [VideoSize(width: 640, height: 480), VideoSize(width: 160, height: 120)])
    func markIsReadBack(_ pixelFormat: PixelFormat, _ size: VideoSize) throws {
        let frame = try draw(VideoFormat(pixelFormat, size: size))
        #expect(PatternReader.read(frame) == PatternMark(frameNumber: Self.number, captureTime: Self.time))
    }

    @Test(arguments: [(1280, 720), (1366, 768), (641, 361), (163, 121), (480, 640), (1920, 1080)])
    func anySizeCarriesTheMark(_ width: Int, _ height: Int) throws {
        let frame = try draw(VideoFormat(.i420, width: width, height: height))
        #expect(PatternReader.read(frame)?.frameNumber == Self.number)
    }

    @Test func paddedRowsCarryTheMark() throws {
        let frame = try draw(VideoFormat(.nv12, width: 640, height: 480, strides: [704, 704]))
        #expect(PatternReader.read(frame)?.captureTime == Self.time)
    }

    @Test func extremesOfNumberAndTimeAreReadBack() throws {
        for (number, time) in [(0, .zero), (.max, Instant(nanoseconds: .max)), (1, Instant(nanoseconds: .min))]
            as [(UInt32, Instant)]
        {
            let frame = try draw(VideoFormat(.i420, width: 320, height: 240), number: number, time: time)
            #expect(PatternReader.read(frame) == PatternMark(frameNumber: number, captureTime: time))
        }
    }

    @Test(arguments: VideoRotation.allCases, [false, true])
    func orientationIsFound(_ rotation: VideoRotation, _ isMirrored: Bool) throws {
        let luma = Luma(try draw(VideoFormat(.i420, width: 320, height: 240)))
        // Turning the picture the other way first means that it must be turned by `rotation` to stand upright.
        var turned = luma
        for _ in 0..<(4 - rotation.degrees / 90) % 4 { turned = turned.turnedClockwise() }
        if isMirrored { turned = turned.mirrored() }
        let mark = PatternReader.read(try turned.frame(pool))
        let expected = PatternMark(
            frameNumber: Self.number, captureTime: Self.time, rotation: rotation, isMirrored: isMirrored)
        #expect(mark == expected)
    }

    @Test func noiseAndBlurDoNotHideTheMark() throws {
        var luma = Luma(try draw(VideoFormat(.i420, width: 320, height: 240)))
        luma = luma.blurred(radius: 4)
        var random = TestRandom(state: 7)
        for index in luma.samples.indices {
            luma.samples[index] = UInt8(clamping: Int(luma.samples[index]) / 2 + 50 + Int(random.next() % 61) - 30)
        }
        #expect(PatternReader.read(try luma.frame(pool))?.frameNumber == Self.number)
    }

    @Test(arguments: [PixelFormat.yuy2, .uyvy, .argb, .bgra, .rgba, .rgb24, .nv21])
    func everyPixelFormatIsRead(_ pixelFormat: PixelFormat) throws {
        let luma = Luma(try draw(VideoFormat(.i420, width: 320, height: 240)))
        let frame = try luma.frame(pool, as: pixelFormat)
        #expect(PatternReader.read(frame)?.frameNumber == Self.number)
    }

    @Test func picturesWithoutAMarkHaveNone() throws {
        var random = TestRandom(state: 1)
        for _ in 0..<20 {
            var luma = Luma(width: 160, height: 120)
            for index in luma.samples.indices { luma.samples[index] = UInt8(truncatingIfNeeded: random.next()) }
            #expect(PatternReader.read(try luma.frame(pool)) == nil)
        }
        #expect(PatternReader.read(try Luma(width: 640, height: 480).frame(pool)) == nil)
        for pixelFormat in PixelFormat.allCases {
            #expect(PatternReader.read(try Luma(width: 1, height: 1).frame(pool, as: pixelFormat)) == nil)
        }
    }

    @Test func damagedCellIsNoticed() throws {
        let luma = Luma(try draw(VideoFormat(.i420, width: 160, height: 120)))
        for cell in stride(from: 0, to: 128, by: 5) {
            let (row, column) = (cell / 16, cell % 16)
            var damaged = luma
            for y in (20 + row) * 4..<(21 + row) * 4 {
                for x in (12 + column) * 4..<(13 + column) * 4 {
                    damaged.samples[y * 160 + x] = damaged.samples[y * 160 + x] > 128 ? 16 : 235
                }
            }
            #expect(PatternReader.read(try damaged.frame(pool)) == nil)
        }
    }

    @Test func capturerNumbersAndStampsItsPictures() throws {
        let consumer = makeOpenConsumer()
        let capture = PatternCapture(width: 160, height: 120, frameRate: 100, pixelFormat: .nv12)
        try capture.start(into: consumer)
        let frames = take(5, from: consumer)
        capture.stop()
        let marks = frames.compactMap(PatternReader.read)
        #expect(marks.count == 5)
        #expect(marks.map(\.captureTime) == frames.map(\.timestamp))
        for (earlier, later) in zip(marks, marks.dropFirst()) {
            #expect(later.frameNumber > earlier.frameNumber)
        }
    }

    @Test func flashLightsUpItsBox() throws {
        func box(_ flashes: Bool) throws -> UInt8 {
            let luma = Luma(try draw(VideoFormat(.i420, width: 640, height: 480), flashes: flashes))
            return luma.samples[24 * 16 * 640 + 6 * 16]
        }
        #expect(try box(false) == 16)
        #expect(try box(true) == 235)
    }

    @Test func whatCannotBeDrawnIsRefused() {
        let consumer = makeOpenConsumer()
        for capture in [
            PatternCapture(width: 158, height: 120), PatternCapture(width: 160, height: 118),
            PatternCapture(pixelFormat: .argb), PatternCapture(width: 20_000, height: 480),
        ] {
            #expect(throws: CaptureError.self) { try capture.start(into: consumer) }
        }
    }

    private func draw(
        _ format: VideoFormat, number: UInt32 = number, time: Instant = time, flashes: Bool = false
    ) throws -> VideoFrame {
        var picture = try pool.makeFrame(format)
        PatternPicture(format).draw(
            into: &picture, frameNumber: number, time: time, elapsed: .milliseconds(700), flashes: flashes)
        return picture.finish(timestamp: time)
    }
}

/// A grey picture to spoil.
struct Luma {
    let width: Int
    let height: Int
    var samples: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        samples = [UInt8](repeating: 128, count: width * height)
    }

    init(_ frame: VideoFrame) {
        self.init(width: frame.width, height: frame.height)
        let stride = frame.format.stride(ofPlane: 0)
        frame.withUnsafePlanes { planes in
            for y in 0..<height {
                for x in 0..<width { samples[y * width + x] = planes[0][y * stride + x] }
            }
        }
    }

    func turnedClockwise() -> Luma {
        var result = Luma(width: height, height: width)
        for y in 0..<height {
            for x in 0..<width { result.samples[x * height + height - 1 - y] = samples[y * width + x] }
        }
        return result
    }

    func mirrored() -> Luma {
        var result = self
        for y in 0..<height {
            for x in 0..<width { result.samples[y * width + width - 1 - x] = samples[y * width + x] }
        }
        return result
    }

    func blurred(radius: Int) -> Luma {
        turnedAfterBlurring(radius).turnedAfterBlurring(radius)
    }

    /// Blurs along rows and swaps rows with columns; twice gives the blurred picture.
    private func turnedAfterBlurring(_ radius: Int) -> Luma {
        var result = Luma(width: height, height: width)
        for y in 0..<height {
            for x in 0..<width {
                let range = max(0, x - radius)...min(width - 1, x + radius)
                let sum = range.reduce(0) { $0 + Int(samples[y * width + $1]) }
                result.samples[x * height + y] = UInt8(sum / range.count)
            }
        }
        return result
    }

    func frame(_ pool: VideoFramePool, as pixelFormat: PixelFormat = .i420) throws -> VideoFrame {
        let format = VideoFormat(pixelFormat, width: width, height: height)
        var picture = try pool.makeFrame(format)
        for plane in 1..<max(1, format.planeCount) {
            picture.withUnsafeMutablePlane(plane) { _ = $0.initializeMemory(as: UInt8.self, repeating: 128) }
        }
        let stride = format.stride(ofPlane: 0)
        picture.withUnsafeMutablePlane(0) { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    let value = samples[y * width + x]
                    switch pixelFormat {
                    case .i420, .nv12, .nv21: bytes[y * stride + x] = value
                    case .yuy2: (bytes[y * stride + 2 * x], bytes[y * stride + 2 * x + 1]) = (value, 128)
                    case .uyvy: (bytes[y * stride + 2 * x], bytes[y * stride + 2 * x + 1]) = (128, value)
                    case .argb, .bgra, .rgba: for k in 0..<4 { bytes[y * stride + 4 * x + k] = value }
                    case .rgb24: for k in 0..<3 { bytes[y * stride + 3 * x + k] = value }
                    }
                }
            }
        }
        return picture.finish(timestamp: .zero)
    }
}
