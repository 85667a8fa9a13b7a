import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Testing

@Suite struct NoiseTests {
    @Test func samplesStayWithinTheAmplitude() throws {
        var sheet = NoiseSheet(width: 50, amplitude: 20, grain: 8, seed: 1)
        let bytes = try pixels(&sheet, width: 50, height: 30)
        for index in bytes.indices {
            if index % 4 == 0 { #expect(bytes[index] == 255) } else { #expect((108...148).contains(bytes[index])) }
        }
        #expect(Set(bytes).count > 30)
    }

    @Test func grainsAreOfOneColour() throws {
        var sheet = NoiseSheet(width: 64, amplitude: 127, grain: 16, seed: 2)
        let bytes = try pixels(&sheet, width: 64, height: 48)
        for y in 0..<48 {
            for x in 0..<64 {
                let (index, corner) = ((y * 64 + x) * 4, (y / 16 * 16 * 64 + x / 16 * 16) * 4)
                #expect(bytes[index..<index + 4].elementsEqual(bytes[corner..<corner + 4]))
            }
        }
    }

    @Test func picturesDifferAndSeedsRepeat() throws {
        var first = NoiseSheet(width: 64, amplitude: 40, grain: 16, seed: 3)
        var again = NoiseSheet(width: 64, amplitude: 40, grain: 16, seed: 3)
        var other = NoiseSheet(width: 64, amplitude: 40, grain: 16, seed: 4)
        let one = try pixels(&first, width: 64, height: 64)
        #expect(try pixels(&again, width: 64, height: 64) == one)
        #expect(try pixels(&other, width: 64, height: 64) != one)
        #expect(try pixels(&first, width: 64, height: 64) != one)
    }

    @Test(arguments: [1, 3, 16, 256], [(1, 1), (17, 5), (640, 480)])
    func anyGrainFitsAnySize(_ grain: Int, _ size: (Int, Int)) throws {
        var sheet = NoiseSheet(width: size.0, amplitude: 127, grain: grain, seed: 5)
        for _ in 0..<3 {
            let bytes = try pixels(&sheet, width: size.0, height: size.1)
            #expect(stride(from: 0, to: bytes.count, by: 4).allSatisfy { bytes[$0] == 255 })
        }
    }

    @Test func capturerDeliversItsFormat() throws {
        let consumer = makeOpenConsumer()
        let capture = NoiseCapture(width: 64, height: 48, frameRate: 100, seed: 1)
        try capture.start(into: consumer)
        let frames = take(3, from: consumer)
        capture.stop()
        #expect(frames.count == 3)
        #expect(frames.allSatisfy { $0.format == capture.format && $0.format.pixelFormat == .argb })
    }

    @Test func optionsOutOfRangeAreRefused() {
        let consumer = makeOpenConsumer()
        for capture in [
            NoiseCapture(amplitude: -1), NoiseCapture(amplitude: 128), NoiseCapture(grain: 0), NoiseCapture(grain: 257),
            NoiseCapture(width: 0), NoiseCapture(frameRate: 1001),
        ] {
            #expect(throws: CaptureError.self) { try capture.start(into: consumer) }
        }
    }

    private func pixels(_ sheet: inout NoiseSheet, width: Int, height: Int) throws -> [UInt8] {
        var picture = try VideoFramePool().makeFrame(VideoFormat(.argb, width: width, height: height))
        sheet.draw(into: &picture)
        return picture.finish(timestamp: .zero).withUnsafePlanes { Array($0[0]) }
    }
}
