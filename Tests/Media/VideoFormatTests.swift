import EmisoraCore
import EmisoraVideo
import Testing

@Suite struct VideoFormatTests {
    struct Expected: Sendable {
        let format: PixelFormat
        let size: VideoSize
        /// Bytes of a row and rows, for each plane.
        let planes: [[Int]]
    }

    static let table: [Expected] = {
        let even = VideoSize(width: 640, height: 480)
        let odd = VideoSize(width: 5, height: 3)
        let one = VideoSize(width: 1, height: 1)
        return [
            Expected(format: .i420, size: even, planes: [[640, 480], [320, 240], [320, 240]]),
            Expected(format: .i420, size: odd, planes: [[5, 3], [3, 2], [3, 2]]),
            Expected(format: .i420, size: one, planes: [[1, 1], [1, 1], [1, 1]]),
            Expected(format: .nv12, size: even, planes: [[640, 480], [640, 240]]),
            Expected(format: .nv12, size: odd, planes: [[5, 3], [6, 2]]),
            Expected(format: .nv12, size: one, planes: [[1, 1], [2, 1]]),
            Expected(format: .nv21, size: odd, planes: [[5, 3], [6, 2]]),
            Expected(format: .yuy2, size: even, planes: [[1280, 480]]),
            Expected(format: .yuy2, size: odd, planes: [[12, 3]]),
            Expected(format: .uyvy, size: odd, planes: [[12, 3]]),
            Expected(format: .argb, size: odd, planes: [[20, 3]]),
            Expected(format: .bgra, size: odd, planes: [[20, 3]]),
            Expected(format: .rgba, size: even, planes: [[2560, 480]]),
            Expected(format: .rgb24, size: odd, planes: [[15, 3]]),
            Expected(format: .rgb24, size: one, planes: [[3, 1]]),
        ]
    }()

    @Test(arguments: table) func planesFollowTheTable(_ expected: Expected) throws {
        let format = VideoFormat(expected.format, size: expected.size)
        try format.validate()
        #expect(format.planeCount == expected.planes.count)
        for (plane, numbers) in expected.planes.enumerated() {
            let layout = format.layout(ofPlane: plane)
            #expect(layout.rowBytes == numbers[0])
            #expect(layout.rows == numbers[1])
            #expect(layout.stride == numbers[0])
            #expect(layout.byteCount == numbers[0] * numbers[1])
        }
        #expect(format.byteCount == expected.planes.reduce(0) { $0 + $1[0] * $1[1] })
    }

    @Test func everyPixelFormatIsInTheTable() {
        #expect(Set(Self.table.map(\.format)) == Set(PixelFormat.allCases))
    }

    @Test func lastRowNeedsNoPadding() {
        let format = VideoFormat(.argb, width: 5, height: 3, strides: [32])
        #expect(format.layout(ofPlane: 0).byteCount == 32 * 2 + 20)
        #expect(format.layout(ofPlane: 0).paddedByteCount == 96)
    }

    @Test func explicitTightStridesAreTheSameFormat() {
        let tight = VideoFormat(.i420, width: 5, height: 3)
        #expect(tight == VideoFormat(.i420, width: 5, height: 3, strides: [5, 3, 3]))
        #expect(tight != VideoFormat(.i420, width: 5, height: 3, strides: [8, 3, 3]))
    }

    @Test(arguments: [(0, 1), (1, 0), (-1, 4), (16_385, 1), (1, 16_385), (.max, .max), (.min, 1)])
    func sizesOutsideTheRangeAreRefused(_ width: Int, _ height: Int) {
        for pixelFormat in PixelFormat.allCases {
            let format = VideoFormat(pixelFormat, width: width, height: height)
            #expect(throws: VideoFrameError.sizeOutOfRange(format.size)) { try format.validate() }
            #expect(throws: VideoFrameError.self) { _ = try VideoFramePool().makeFrame(format) }
        }
    }

    @Test func strideErrorsNameThePlane() {
        let short = VideoFormat(.nv12, width: 5, height: 3, strides: [5, 5])
        #expect(throws: VideoFrameError.strideOutOfRange(plane: 1, needed: 6, given: 5)) { try short.validate() }
        let negative = VideoFormat(.argb, width: 5, height: 3, strides: [-20])
        #expect(throws: VideoFrameError.strideOutOfRange(plane: 0, needed: 20, given: -20)) { try negative.validate() }
        let long = VideoFormat(.argb, width: 5, height: 3, strides: [.max])
        #expect(throws: VideoFrameError.strideOutOfRange(plane: 0, needed: 20, given: .max)) { try long.validate() }
        let few = VideoFormat(.i420, width: 5, height: 3, strides: [8])
        #expect(throws: VideoFrameError.wrongStrideCount(needed: 3, given: 1)) { try few.validate() }
        let many = VideoFormat(.argb, width: 5, height: 3, strides: [20, 20])
        #expect(throws: VideoFrameError.wrongStrideCount(needed: 1, given: 2)) { try many.validate() }
    }

    @Test func largestPictureIsValid() throws {
        try VideoFormat(.argb, width: 16_384, height: 16_384).validate()
    }

    @Test func changingTheRateKeepsTheRest() {
        let format = VideoFormat(.nv12, width: 6, height: 4, strides: [8, 8], colorMatrix: .bt709, frameRate: 25)
        let faster = format.with(frameRate: 50)
        #expect(faster.frameRate == 50)
        #expect(faster.with(frameRate: 25) == format)
    }
}

@Suite struct FrameRateTests {
    @Test func fractionsAreReducedAndCompared() throws {
        let ntsc = try #require(FrameRate(60_000, 2002))
        #expect(ntsc.numerator == 30_000)
        #expect(ntsc.denominator == 1001)
        #expect(ntsc < 30)
        #expect(ntsc > 29)
        #expect(FrameRate(50, 2) == 25)
        #expect(ntsc.description == "30000/1001")
    }

    @Test func sidesThatAreNotPositiveAreRefused() {
        #expect(FrameRate(0, 1) == nil)
        #expect(FrameRate(30, 0) == nil)
        #expect(FrameRate(-30, 1) == nil)
        #expect(FrameRate(.max, 1) == nil)
        #expect(FrameRate(1, .min) == nil)
    }

    @Test func timesDoNotDrift() throws {
        let ntsc = try #require(FrameRate(30_000, 1001))
        // 30 000 pictures take 1001 seconds, to the nanosecond, after days as well.
        #expect(ntsc.time(ofFrame: 30_000) == .seconds(1001))
        #expect(ntsc.time(ofFrame: 30_000_000_000) == .seconds(1_001_000_000))
    }

    @Test func frameAtATimeIsTheInverse() throws {
        let rates: [FrameRate] = [try #require(FrameRate(30_000, 1001)), 30, 7, 1000, try #require(FrameRate(1, 3))]
        for rate in rates {
            for index in [0, 1, 2, 29, 30, 12_345, 1_000_000] {
                let time = rate.time(ofFrame: index)
                #expect(rate.frame(at: time) == index)
                #expect(rate.frame(at: time - .nanoseconds(1)) == index - 1)
            }
        }
    }

    @Test func extremesDoNotTrap() throws {
        let slow = try #require(FrameRate(1, Int(Int32.max)))
        #expect(slow.time(ofFrame: .max).nanoseconds == .max)
        #expect(slow.interval > .seconds(2_000_000_000))
    }
}
