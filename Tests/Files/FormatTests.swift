import EmisoraCapture
import EmisoraCore
import EmisoraProcessing
import EmisoraVideo
import Testing

@testable import EmisoraFiles

@Suite struct FormatTests {
    /// The first picture of a film.
    private func firstPicture(_ path: String) async throws -> VideoFrame {
        let film = try MediaFile(path: path)
        let collector = try Collector()
        defer { collector.stop() }
        try film.video?.start(into: collector.videoConsumer)
        #expect(await eventually { !collector.pictures.isEmpty })
        film.video?.stop()
        return try #require(collector.pictures.first)
    }

    private func firstPictureOfImage(_ path: String, frameRate: FrameRate = 30) async throws -> VideoFrame {
        let image = try ImageCapture(path: path, frameRate: frameRate)
        let collector = try Collector()
        defer { collector.stop() }
        try image.start(into: collector.videoConsumer)
        #expect(await eventually { !collector.pictures.isEmpty })
        image.stop()
        return try #require(collector.pictures.first)
    }

    @Test(arguments: [
        ("yuv420p", PixelFormat.i420), ("nv12", .nv12), ("yuyv422", .yuy2), ("rgb24", .rgb24), ("bgr24", .bgra),
        ("yuv444p", .i420), ("yuv420p10le", .i420), ("yuv422p", .i420), ("gbrp", .bgra), ("gray", .i420),
    ]) func everyPixelFormatBecomesARightPicture(_ name: String, _ expected: PixelFormat) async throws {
        let studio = try Studio()
        // Raw pictures and lossless codecs, odd sizes where chroma allows.
        let isRaw = ["nv12", "yuyv422", "rgb24", "bgr24"].contains(name)
        let (width, height) = isRaw ? (162, 122) : (161, 121)
        let input = "-f lavfi -i testsrc2=s=200x200:r=25:d=0.2,format=gbrp,crop=\(width):\(height):0:0"
        let film = try studio.make(
            isRaw ? "film.nut" : "film.mkv", input, "-c:v \(isRaw ? "rawvideo" : "ffv1") -pix_fmt \(name)")
        let source = try studio.bytes(
            studio.make("source.yuv", input, "-frames:v 1 -pix_fmt yuv420p -f rawvideo"))
        let picture = try await firstPicture(film)
        #expect(picture.format.pixelFormat == expected)
        #expect(picture.width == width && picture.height == height)
        let luma = try VideoConverter().i420(picture).packedBytes[..<(width * height)]
        #expect(psnr(luma, Array(source[..<luma.count])) > 30)
    }

    /// The first picture of a film as its decoder gave it.
    private func decodeFirst(_ path: String) throws -> (DecodedFrame, MediaStream) {
        let demuxer = try Demuxer(path: path, as: .film)
        let stream = try #require(demuxer.video)
        let decoder = try Decoder(stream, path: path)
        while case .packet(_, let packet) = demuxer.next() {
            #expect(decoder.send(packet))
            if case .frame(let picture) = decoder.receive() { return (picture, stream) }
        }
        decoder.drain()
        guard case .frame(let picture) = decoder.receive() else { throw Studio.Failure(description: "no picture") }
        return (picture, stream)
    }

    @Test func picturesLieOnTheDecodersMemoryUntilTheLastFrameGoes() throws {
        let studio = try Studio()
        let path = try studio.make("film.webm", pattern, vp8())
        weak var lent: DecodedFrame?
        var frame: VideoFrame?
        try {
            let (picture, stream) = try decodeFirst(path)
            let made = try PictureConverter().frame(picture, of: stream, timestamp: .zero)
            made.withUnsafePlanes { planes in
                #expect(planes.count == 3)
                #expect(planes[0].baseAddress == UnsafeRawPointer(picture.pointer.pointee.data.0))
            }
            (lent, frame) = (picture, made)
        }()
        #expect(lent != nil)
        #expect((frame?.meanLuma ?? 0) > 16)
        frame = nil
        #expect(lent == nil)
    }

    @Test func picturesHeldWithoutEndAreRefusedAtLast() throws {
        let studio = try Studio()
        let (picture, stream) = try decodeFirst(try studio.make("film.webm", pattern, vp8()))
        let converter = PictureConverter()
        var held: [VideoFrame] = []
        #expect(throws: VideoFrameError.poolExhausted(limit: 24)) {
            for _ in 0..<25 { held.append(try converter.frame(picture, of: stream, timestamp: .zero)) }
        }
        #expect(held.count == 24)
        held.removeAll()
        _ = try converter.frame(picture, of: stream, timestamp: .zero)
    }

    @Test func colourMatrixAndRangeAreTheFiles() async throws {
        let studio = try Studio()
        let cases: [(String, ColorMatrix, ColorRange)] = [
            ("-colorspace bt709 -color_range tv", .bt709, .limited),
            ("-colorspace smpte170m -color_range tv", .bt601, .limited),
            ("-colorspace bt709 -color_range pc", .bt709, .full),
        ]
        for (options, matrix, range) in cases {
            let picture = try await firstPicture(try studio.make("film.mp4", pattern, h264(options)))
            #expect(picture.format.colorMatrix == matrix && picture.format.colorRange == range)
        }
    }

    @Test(arguments: [90, 180, 270]) func rotationOfTheFileMakesThePictureUpright(_ degrees: Int) async throws {
        let studio = try Studio()
        let plain = try studio.make("plain.mp4", pattern, h264())
        let turned = try studio.make("turned.mp4", "-i \(plain) -c copy -metadata:s:v rotate=\(degrees)")
        // ffmpeg turns what it plays upright.
        let upright = try studio.bytes(studio.make("upright.yuv", "-i \(turned) -frames:v 1 -f rawvideo"))
        let picture = try await firstPicture(turned)
        #expect(picture.rotation != .none && picture.width == 160 && picture.height == 120)
        let turnedBack = try VideoConverter().upright(picture)
        #expect(turnedBack.width == (degrees == 180 ? 160 : 120))
        #expect(psnr(upright[...], turnedBack.packedBytes) > 50)
    }

    @Test(arguments: ["picture.png", "picture.jpg", "picture.bmp", "picture.tiff", "picture.webp"])
    func stillPictureIsSteady(_ name: String) async throws {
        let studio = try Studio()
        let input = "-f lavfi -i testsrc2=s=200x200:r=25:d=1,format=gbrp,crop=161:121:0:0 -frames:v 1"
        let path = try studio.make(name, input, name.hasSuffix("jpg") ? "-q:v 2" : "")
        let source = try studio.bytes(studio.make("source.yuv", input, "-pix_fmt yuv420p -f rawvideo"))
        let image = try ImageCapture(path: path, frameRate: 30)
        #expect(image.contentHint == .detail && image.format.frameRate == 30)
        let collector = try Collector()
        defer { collector.stop() }
        try image.start(into: collector.videoConsumer)
        #expect(await eventually { collector.pictures.count >= 5 })
        image.stop()
        let pictures = collector.pictures
        for (one, next) in zip(pictures, pictures.dropFirst()) {
            #expect(next.packedBytes == one.packedBytes)
            let frames = (next.timestamp - one.timestamp).inSeconds * 30
            #expect(abs(frames - frames.rounded()) < 0.001 && frames > 0.5)
        }
        let luma = try VideoConverter().encodable(pictures[0]).packedBytes[..<(161 * 121)]
        #expect(psnr(source[..<(161 * 121)], Array(luma)) > 28)
    }

    @Test func defaultRateOfAStillPictureIsLow() throws {
        let studio = try Studio()
        let path = try studio.make("picture.png", pattern, "-frames:v 1")
        #expect(try ImageCapture(path: path).format.frameRate == 5)
        #expect(throws: CaptureError.self) { try ImageCapture(path: path, frameRate: 31) }
        #expect(throws: CaptureError.self) { try ImageCapture(path: path, frameRate: FrameRate(1, 2)!) }
    }

    @Test func transparentPictureLiesOnBlack() async throws {
        let studio = try Studio()
        let path = try studio.make(
            "picture.png", "-f lavfi -i color=red@0.5:s=16x16,format=rgba", "-frames:v 1 -pix_fmt rgba")
        let picture = try await firstPictureOfImage(path)
        #expect(picture.format.pixelFormat == .bgra)
        let pixel = picture.packedBytes[0..<4]
        #expect(pixel[0] <= 1 && pixel[1] <= 1 && (125...130).contains(pixel[2]))
        #expect(pixel[3] == 255)
    }

    @Test func orientationOfAPhotographIsTheFrames() async throws {
        let studio = try Studio()
        let plain = try studio.bytes(studio.make("picture.jpg", pattern, "-frames:v 1"))
        // Exif, big-endian, one entry: orientation (0x0112) as in photographs held upright.
        let exif: [UInt8] =
            Array("Exif".utf8) + [0, 0] + Array("MM".utf8)
            + [0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
        let segment: [UInt8] = [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif
        let path = try studio.write("turned.jpg", Array(plain[..<2]) + segment + plain[2...])
        #expect(try await firstPictureOfImage(path).rotation == .clockwise90)
    }
}
