import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Glibc
import Synchronization
import Testing

@Suite struct Y4MTests {
    static let header = "YUV4MPEG2 W4 H2 F500:1 Ip C420jpeg\n"
    static let picture = "FRAME\n" + String(repeating: "x", count: 12)

    struct Malformed: Sendable {
        let content: String
        let error: Y4MError

        init(_ content: String, at offset: Int, _ problem: Y4MError.Problem) {
            self.content = content
            error = Y4MError(offset: offset, problem: problem)
        }
    }

    static let malformed = [
        Malformed("", at: 0, .notY4M),
        Malformed("RIFF....", at: 0, .notY4M),
        Malformed("YUV4MPEG22 W4 H2 F25:1\n", at: 9, .notY4M),
        Malformed("YUV4MPEG2 W4 H2", at: 15, .truncated(needed: 1, available: 0)),
        Malformed("YUV4MPEG2 X" + String(repeating: "a", count: 2000), at: 1024, .headerTooLong(limit: 1024)),
        Malformed("YUV4MPEG2 H2 F25:1\n", at: 18, .missingParameter("W (width)")),
        Malformed("YUV4MPEG2 W4 F25:1\n", at: 18, .missingParameter("H (height)")),
        Malformed("YUV4MPEG2 W4 H2\n", at: 15, .missingParameter("F (frame rate)")),
        Malformed("YUV4MPEG2 W4x H2 F25:1\n", at: 10, .invalidParameter("W4x")),
        Malformed("YUV4MPEG2 W4 H F25:1\n", at: 13, .invalidParameter("H")),
        Malformed("YUV4MPEG2 W99999999999999999999 H2 F25:1\n", at: 10, .invalidParameter("W99999999999999999999")),
        Malformed("YUV4MPEG2 W0 H2 F25:1\n", at: 13, .sizeOutOfRange("0x2")),
        Malformed("YUV4MPEG2 W-4 H2 F25:1\n", at: 14, .sizeOutOfRange("-4x2")),
        Malformed("YUV4MPEG2 H2 W99999 F25:1\n", at: 13, .sizeOutOfRange("99999x2")),
        Malformed("YUV4MPEG2 W4 H2 F25:0\n", at: 16, .invalidParameter("F25:0")),
        Malformed("YUV4MPEG2 W4 H2 F0:1\n", at: 16, .invalidParameter("F0:1")),
        Malformed("YUV4MPEG2 W4 H2 F25\n", at: 16, .invalidParameter("F25")),
        Malformed("YUV4MPEG2 W4 H2 F9999999:1\n", at: 16, .invalidParameter("F9999999:1")),
        Malformed("YUV4MPEG2 W4 H2 F25:1 It\n", at: 22, .unsupportedInterlacing("It")),
        Malformed("YUV4MPEG2 W4 H2 F25:1 C422\n", at: 22, .unsupportedChroma("C422")),
        Malformed("YUV4MPEG2 W4 H2 F25:1 C420p10\n", at: 22, .unsupportedChroma("C420p10")),
        Malformed("YUV4MPEG2 W4 H2 F25:1 Z1\n", at: 22, .invalidParameter("Z1")),
        Malformed(header, at: 35, .noFrames),
        Malformed(header + "FRAMX\n", at: 35, .missingFrameHeader),
        Malformed(header + "FRAMES\n", at: 35, .missingFrameHeader),
        Malformed(header + "FRA", at: 38, .truncated(needed: 1, available: 0)),
        Malformed(header + "FRAME", at: 40, .truncated(needed: 1, available: 0)),
        Malformed(header + "FRAME\nxxxxx", at: 41, .truncated(needed: 12, available: 5)),
        Malformed(header + picture + "junk", at: 53, .missingFrameHeader),
        Malformed(header + picture + "FRAME\nxxxxxxxxxxx", at: 59, .truncated(needed: 12, available: 11)),
        Malformed(
            header + "FRAME X" + String(repeating: "a", count: 200), at: 163, .headerTooLong(limit: 128)),
    ]

    @Test(arguments: malformed) func malformedFileNamesTheByte(_ malformed: Malformed) throws {
        let file = try TemporaryFile(malformed.content)
        #expect {
            _ = try FileCapture(path: file.path)
        } throws: { error in
            guard case CaptureError.malformedFile(let path, let found) = error else { return false }
            #expect(found == malformed.error)
            #expect("\(error)".contains("byte \(malformed.error.offset):"))
            return path == file.path
        }
    }

    @Test func everyTruncationIsATypedError() throws {
        let whole = Array((Self.header + Self.picture + Self.picture).utf8)
        for length in 0..<whole.count where length != Self.header.utf8.count + Self.picture.utf8.count {
            let file = try TemporaryFile(String(decoding: whole[..<length], as: UTF8.self))
            #expect(throws: CaptureError.self, "\(length) bytes") { _ = try FileCapture(path: file.path) }
        }
    }

    @Test func missingFileAndDirectoryAreRefused() {
        #expect {
            _ = try FileCapture(path: "/nonexistent/clip.y4m")
        } throws: { error in
            if case CaptureError.file(_, code: ENOENT) = error { true } else { false }
        }
        #expect(throws: CaptureError.self) { _ = try FileCapture(path: "/tmp") }
    }

    @Test func headerSaysTheFormat() throws {
        let content = "YUV4MPEG2 W4 H2 F30000:1001 I? A1:1 C420paldv XYSCSS=420 XCOLORRANGE=FULL\n"
        let file = try TemporaryFile(content + Self.picture)
        let format = try FileCapture(path: file.path).format
        let expected = VideoFormat(
            .i420, width: 4, height: 2, colorRange: .full, frameRate: FrameRate(30_000, 1001))
        #expect(format == expected)
    }

    @Test func playedOnceGivesEachPictureAndEnds() async throws {
        let pictures = ["a", "b", "c"].map { "FRAME Ip\n" + String(repeating: $0, count: 12) }.joined()
        let file = try TemporaryFile("YUV4MPEG2 W4 H2 F20:1\n" + pictures)
        let consumer = makeOpenConsumer()
        let capture = try FileCapture(path: file.path, playback: .once)
        try capture.start(into: consumer)
        let frames = take(3, from: consumer)
        #expect(await eventually { !capture.isCapturing })
        capture.stop()
        #expect(capture.failure == nil)
        let letters = frames.map { $0.plane(2).unsafeLoad(fromByteOffset: 1, as: UInt8.self) }
        #expect(letters.count + consumer.ledger.dropped == 3)
        #expect(letters.elementsEqual(letters.sorted()))
        #expect(letters.last == UInt8(ascii: "c"))
        #expect(consumer.ledger.captured == 3)
    }

    @Test func fileEndsInTimeHoweverFewPicturesAreWanted() async throws {
        let pictures = ["a", "b", "c"].map { "FRAME\n" + String(repeating: $0, count: 12) }.joined()
        let file = try TemporaryFile("YUV4MPEG2 W4 H2 F20:1\n" + pictures)
        let ended = Mutex<Instant?>(nil)
        let consumer = VideoCaptureConsumer(onReport: { report in
            if case .ended(nil) = report { ended.withLock { $0 = MonotonicClock.now } }
        })
        consumer.open()
        consumer.setHasSubscribers(true)
        consumer.setWants(VideoWants(highestFrameRate: FrameRate(1, 1000)))
        let capture = try FileCapture(path: file.path, playback: .once)
        let begin = MonotonicClock.now
        try capture.start(into: consumer)
        #expect(await eventually { !capture.isCapturing })
        capture.stop()
        #expect(try #require(ended.withLock { $0 }) - begin >= .milliseconds(150))
        // The first picture; the others were never read.
        #expect(consumer.ledger.captured == 1)
        let frame = try #require(take(1, from: consumer).first)
        #expect(frame.plane(0).unsafeLoad(fromByteOffset: 0, as: UInt8.self) == UInt8(ascii: "a"))
    }

    @Test func loopedBeginsAgain() throws {
        let file = try TemporaryFile(Self.header + Self.picture)
        let consumer = makeOpenConsumer()
        let capture = try FileCapture(path: file.path)
        try capture.start(into: consumer)
        let frames = take(5, from: consumer)
        capture.stop()
        #expect(frames.count == 5)
        for (earlier, later) in zip(frames, frames.dropFirst()) { #expect(earlier.timestamp < later.timestamp) }
    }

    @Test func monoFileHasNeutralChroma() throws {
        let file = try TemporaryFile("YUV4MPEG2 W4 H2 F100:1 Cmono\nFRAME\nabcdefgh")
        let consumer = makeOpenConsumer()
        let capture = try FileCapture(path: file.path)
        try capture.start(into: consumer)
        let frame = try #require(take(1, from: consumer).first)
        capture.stop()
        #expect(frame.plane(0).unsafeLoad(fromByteOffset: 7, as: UInt8.self) == UInt8(ascii: "h"))
        for plane in 1...2 {
            #expect(frame.plane(plane).unsafeLoad(fromByteOffset: 1, as: UInt8.self) == 128)
        }
    }

    @Test func fileCutShortWhilePlayingEndsWithItsError() async throws {
        let file = try TemporaryFile(Self.header + Self.picture + Self.picture)
        let consumer = makeOpenConsumer()
        let capture = try FileCapture(path: file.path)
        try capture.start(into: consumer)
        #expect(take(1, from: consumer).count == 1)
        #expect(truncate(file.path, 45) == 0)
        #expect(await eventually { !capture.isCapturing })
        capture.stop()
        guard case .malformedFile(_, let error)? = capture.failure else {
            Issue.record("a malformed file expected, got \(String(describing: capture.failure))")
            return
        }
        guard case .truncated = error.problem else {
            Issue.record("a truncated file expected, got \(error)")
            return
        }
        #expect(consumer.ledger.dropped(.invalid) == 1)
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .nv21])
    func whatIsWrittenPlaysTheSame(_ pixelFormat: PixelFormat) throws {
        let file = try TemporaryFile("")
        let pool = VideoFramePool()
        let size = VideoSize(width: 5, height: 3)
        var format = VideoFormat(pixelFormat, size: size)
        if pixelFormat != .i420 { format = VideoFormat(pixelFormat, width: 5, height: 3, strides: [8, 16]) }
        var picture = try pool.makeFrame(format)
        for plane in 0..<format.planeCount {
            picture.withUnsafeMutablePlane(plane) { bytes in
                for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: 64 * plane + index) }
            }
        }
        let frame = picture.finish(timestamp: .zero)
        do {
            var writer = try Y4MWriter(path: file.path, size: size, frameRate: 100)
            try writer.append(frame)
        }
        let consumer = makeOpenConsumer()
        let capture = try FileCapture(path: file.path)
        try capture.start(into: consumer)
        let read = try #require(take(1, from: consumer).first)
        capture.stop()
        #expect(read.size == size)
        for row in 0..<3 {
            for column in 0..<5 {
                #expect(byte(read, 0, row * 5 + column) == byte(frame, 0, row * format.stride(ofPlane: 0) + column))
            }
        }
        for row in 0..<2 {
            for column in 0..<3 {
                let (u, v) = (byte(read, 1, row * 3 + column), byte(read, 2, row * 3 + column))
                let start = row * format.stride(ofPlane: 1)
                switch pixelFormat {
                case .i420: #expect(u == byte(frame, 1, row * 3 + column) && v == byte(frame, 2, row * 3 + column))
                case .nv12:
                    #expect(u == byte(frame, 1, start + 2 * column) && v == byte(frame, 1, start + 2 * column + 1))
                default: #expect(v == byte(frame, 1, start + 2 * column) && u == byte(frame, 1, start + 2 * column + 1))
                }
            }
        }
    }

    @Test func writerRefusesOtherSizesAndFormats() throws {
        let file = try TemporaryFile("")
        let pool = VideoFramePool()
        var writer = try Y4MWriter(path: file.path, size: VideoSize(width: 4, height: 2), frameRate: 30)
        let other = try pool.makeFrame(VideoFormat(.i420, width: 2, height: 2)).finish(timestamp: .zero)
        let packed = try pool.makeFrame(VideoFormat(.argb, width: 4, height: 2)).finish(timestamp: .zero)
        var refused = 0
        for frame in [other, packed] {
            do throws(CaptureError) { try writer.append(frame) } catch { refused += 1 }
        }
        #expect(refused == 2)
        #expect(throws: CaptureError.self) {
            _ = try Y4MWriter(path: "/nonexistent/x.y4m", size: VideoSize(width: 4, height: 2), frameRate: 30)
        }
    }

    private func byte(_ frame: VideoFrame, _ plane: Int, _ offset: Int) -> UInt8 {
        frame.plane(plane).unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}

/// A file that goes with the object.
private final class TemporaryFile {
    let path: String

    init(_ content: String) throws {
        var name = Array("/tmp/emisora-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        try #require(descriptor >= 0)
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { close(descriptor) }
        let bytes = Array(content.utf8)
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    }

    deinit {
        unlink(path)
    }
}
