import EmisoraCore
import EmisoraVideo
import Testing

@testable import EmisoraCapture

/// The parts that read what a driver says: colours, layouts, stamps, numbers.
@Suite struct CameraPartsTests {
    @Test(
        arguments: [
            // colour space, encoding, quantization → matrix, range (the kernel's defaults of linux/videodev2.h)
            (0, 0, 0, ColorMatrix.bt601, ColorRange.limited),  // unknown counts as sRGB
            (1, 0, 0, .bt601, .limited),  // SMPTE 170M
            (2, 0, 0, .bt709, .limited),  // SMPTE 240M, the nearest
            (3, 0, 0, .bt709, .limited),  // Rec. 709
            (5, 0, 0, .bt601, .limited),  // 470 M
            (6, 0, 0, .bt601, .limited),  // 470 BG
            (7, 0, 0, .bt601, .full),  // JPEG
            (8, 0, 0, .bt601, .limited),  // sRGB
            (10, 0, 0, .bt709, .limited),  // BT.2020, the nearest
            (12, 0, 0, .bt709, .limited),  // DCI-P3
            (8, 1, 0, .bt601, .limited),
            (8, 2, 1, .bt709, .full),
            (3, 1, 2, .bt601, .limited),
            (8, 3, 0, .bt601, .limited),  // xvYCC 601
            (8, 4, 0, .bt709, .limited),  // xvYCC 709
            (7, 0, 2, .bt601, .limited),
            (99, 99, 99, .bt601, .limited),
        ] as [(UInt32, UInt32, UInt32, ColorMatrix, ColorRange)])
    func colorsFollowTheKernelsDefaults(
        _ space: UInt32, _ encoding: UInt32, _ quantization: UInt32, _ matrix: ColorMatrix, _ range: ColorRange
    ) {
        var format = V4L2Format(type: .videoCapture, width: 64, height: 48, pixelFormat: FourCC.nv12.rawValue)
        format.colorspace = space
        format.ycbcrEncoding = encoding
        format.quantization = quantization
        let color = CameraColor(format, isRGB: false, isJPEG: false)
        #expect(color.matrix == matrix)
        #expect(color.range == range)
        if quantization == 0 { #expect(CameraColor(format, isRGB: false, isJPEG: true).range == .full) }
    }

    private func format(_ fourcc: FourCC, _ width: UInt32, _ height: UInt32, line: UInt32, size: UInt32) -> V4L2Format {
        var format = V4L2Format(type: .videoCapture, width: width, height: height, pixelFormat: fourcc.rawValue)
        format.planes[0] = V4L2PlaneFormat(bytesPerLine: line, sizeImage: size)
        return format
    }

    @Test func planesLieWhereTheRowsSay() throws {
        let nv12 = try #require(CameraPicture(format(.nv12, 30, 20, line: 32, size: 960), frameRate: nil))
        #expect(nv12.planeOffsets == [0, 640])
        #expect(nv12.neededBytes(inPlane: 0) == 640 + 9 * 32 + 30)
        let fourcc = try #require(FourCC("YV12"))
        let yv12 = try #require(CameraPicture(format(fourcc, 30, 20, line: 32, size: 960), frameRate: 30))
        #expect(yv12.planeOffsets == [0, 640 + 160, 640])
        #expect(yv12.format.stride(ofPlane: 1) == 16)
        #expect(yv12.tightFormat.stride(ofPlane: 1) == 15)
    }

    @Test func contradictionsOfADriverAreRefused() {
        // Too small for a picture, no size, far too large, an unknown format, planes that do not fit the format.
        #expect(CameraPicture(format(.nv12, 64, 48, line: 64, size: 100), frameRate: nil) == nil)
        #expect(CameraPicture(format(.nv12, 0, 48, line: 64, size: 100_000), frameRate: nil) == nil)
        #expect(CameraPicture(format(.nv12, .max, .max, line: .max, size: .max), frameRate: nil) == nil)
        #expect(CameraPicture(format(FourCC(rawValue: 1), 64, 48, line: 64, size: 100_000), frameRate: nil) == nil)
        #expect(CameraPicture(format(.nv12Multiplanar, 64, 48, line: 64, size: 9216), frameRate: nil) == nil)
        // A row's length that holds no row is not believed.
        #expect(
            CameraPicture(format(.nv12, 64, 48, line: 0, size: 4608), frameRate: nil)?.format.stride(ofPlane: 0) == 64)
    }

    private func buffer(_ stamp: Instant, flags: UInt32) -> V4L2Buffer {
        var buffer = V4L2Buffer(index: 0, planes: V4L2Planes(repeating: V4L2BufferPlane(), count: 1))
        buffer.flags = flags
        buffer.seconds = stamp.nanoseconds / 1_000_000_000
        buffer.microseconds = stamp.nanoseconds % 1_000_000_000 / 1000
        return buffer
    }

    let startOfExposure: UInt32 = 0x1_2000
    let endOfFrame: UInt32 = 0x2000
    let otherClock: UInt32 = 0x1_0000

    @Test func stampsAreOfTheStartOfExposure() {
        var clock = CameraClock()
        let interval = Duration.milliseconds(40)
        let first = clock.instant(
            of: buffer(.milliseconds(5000), flags: startOfExposure), interval: interval, now: .milliseconds(5030))
        #expect(first == .milliseconds(5000))
        // Reckoned for the end of the frame, which is still to come.
        let second = clock.instant(
            of: buffer(.milliseconds(5080), flags: endOfFrame), interval: interval, now: .milliseconds(5050))
        #expect(second == .milliseconds(5040))
    }

    @Test func anotherClockIsMappedOnce() {
        var clock = CameraClock()
        for index in 0..<100 {
            // Fetched with a jitter that must not show.
            let now = Instant.milliseconds(5000 + 40 * index + index % 7)
            let stamp = Instant.milliseconds(1_700_000_000_000 + 40 * index)
            let instant = clock.instant(of: buffer(stamp, flags: otherClock), interval: .zero, now: now)
            #expect(instant == .milliseconds(5000 + 40 * index))
        }
    }

    @Test func afterAStepBackTheCadenceStays() {
        var clock = CameraClock()
        var instants: [Instant] = []
        for index in 0..<60 {
            let now = Instant.milliseconds(5000 + 40 * index)
            let stamp = now - (index < 30 ? Duration.zero : Duration.milliseconds(500))
            instants.append(clock.instant(of: buffer(stamp, flags: startOfExposure), interval: .zero, now: now))
        }
        for (earlier, later) in zip(instants, instants.dropFirst()) { #expect(later - earlier == .milliseconds(40)) }
    }

    @Test func whereNanosecondsEndTheCadenceStays() {
        var clock = CameraClock()
        var instants: [Instant] = []
        for index in 0..<60 {
            // As the kernel writes it: the seconds rounded down, also of what has become negative.
            let nanoseconds = Int64.max &- 1_200_000_000 &+ Int64(index) * 40_000_000
            let remainder = (nanoseconds % 1_000_000_000 + 1_000_000_000) % 1_000_000_000
            var wrapping = buffer(.zero, flags: startOfExposure)
            wrapping.seconds = nanoseconds / 1_000_000_000 - (nanoseconds < 0 && remainder > 0 ? 1 : 0)
            wrapping.microseconds = remainder / 1000
            let now = Instant.milliseconds(5000 + 40 * index)
            instants.append(clock.instant(of: wrapping, interval: .zero, now: now))
        }
        for (earlier, later) in zip(instants, instants.dropFirst()) {
            // The kernel's microseconds are rounded the other way below zero.
            #expect(abs((later - earlier).nanoseconds - 40_000_000) < 1_000)
        }
    }

    @Test func gapsAreCountedAcrossTheEndOfTheNumbersAndNotAfterAStart() {
        var sequence = CameraSequence()
        #expect(sequence.gap(before: 17) == 0)
        #expect(sequence.gap(before: 18) == 0)
        #expect(sequence.gap(before: 21) == 2)
        #expect(sequence.gap(before: 21) == 0)
        #expect(sequence.gap(before: 3) == 0)
        #expect(sequence.gap(before: .max - 1) == 0)
        #expect(sequence.gap(before: 1) == 2)
        sequence.restart()
        #expect(sequence.gap(before: 500) == 0)
    }
}
