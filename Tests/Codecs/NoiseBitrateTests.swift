import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraProcessing
import EmisoraVideo
import Testing

/// The promise of ``NoiseCapture``'s defaults: VP8 holds them at 1.5 Mbit/s, also when the machine skips pictures.
@Suite struct NoiseBitrateTests {
    /// Which pictures a busy machine leaves out.
    static let skips: [Set<Int>] = [
        [], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4, 5], [2], [3, 4], [5], [1, 3, 5], [10, 20, 30, 31, 40, 41, 42],
        Set(stride(from: 7, to: 300, by: 11)), Set(stride(from: 4, to: 300, by: 5)),
    ]

    @Test(arguments: skips)
    func `VP8 holds default noise at 640×480 and 30 pictures a second in 1500 kbit/s`(skipped: Set<Int>) throws {
        let times = (0..<300).filter { !skipped.contains($0) }.map { Double($0) / 30 }
        let (encoded, kilobits) = try encode(at: times)
        #expect(encoded >= times.count * 5 / 6)
        #expect((1_200...1_700).contains(kilobits))
    }

    @Test(arguments: [1.0, 4, 15, 29.97])
    func `Any steady rate stays within its bits without leaving pictures out`(rate: Double) throws {
        let (encoded, kilobits) = try encode(at: (0..<Int(10 * rate)).map { Double($0) / rate })
        #expect(encoded >= Int(10 * rate * 5 / 6))
        #expect(kilobits < 1_800)
    }

    @Test func `A source that changes its rate on the way stays within its bits`() throws {
        var times = (0..<90).map { Double($0) / 30 }
        times += (0..<20).map { 3 + Double($0) / 5 }
        times += (0..<90).map { 7 + Double($0) / 30 }
        let (encoded, kilobits) = try encode(at: times)
        #expect(encoded >= times.count * 5 / 6)
        #expect(kilobits < 1_700)
    }

    /// Encodes ten seconds of default noise at these times, in seconds.
    private func encode(at times: [Double]) throws -> (pictures: Int, kilobitsPerSecond: Int) {
        let capture = NoiseCapture(seed: 1)
        let format = capture.format
        var sheet = NoiseSheet(width: format.width, amplitude: capture.amplitude, grain: capture.grain, seed: 1)
        let pool = VideoFramePool()
        let converter = VideoConverter()
        let encoder = try VP8Encoder(.init(width: 640, height: 480, targetBitrate: .kilobitsPerSecond(1_500)))
        var encoded = 0
        var bytes = 0
        for time in times {
            var picture = try pool.makeFrame(format)
            sheet.draw(into: &picture)
            let frame = picture.finish(timestamp: Instant(nanoseconds: Int64(time * 1_000_000_000)))
            let converted = try converter.encodable(frame)
            guard let result = try encoder.encode(converted, forceKeyFrame: encoded == 0) else { continue }
            encoded += 1
            bytes += result.payload.count
        }
        return (encoded, bytes * 8 / 10_000)
    }
}
