import CEmisoraFFmpeg
import EmisoraCore
import EmisoraVideo
import Synchronization

/// Makes frames of decoded pictures: on the decoder's own memory where the format fits, else converted once by
/// libswscale. Pictures with an alpha channel are laid on black.
///
/// Colours keep their values, matrix and range; what ``VideoFormat`` cannot say (BT.2020, constant luminance) becomes
/// BT.709 or BT.601. Wide gamut and high dynamic range are not mapped to the ordinary ones. Used by one thread at a time.
final class PictureConverter {
    private let pool = VideoFramePool()
    private var context: OpaquePointer?
    private var shape: Shape?
    private let lent = LentPictures()

    private struct Shape: Equatable {
        let source: Int32
        let target: PixelFormat
        let width: Int32
        let height: Int32
        let color: PictureColor
    }

    deinit {
        sws_freeContext(context)
    }

    /// What frames of a stream will look like, as far as the file tells.
    static func format(of stream: MediaStream) -> VideoFormat {
        let raw = stream.parameters.pointee.format
        let isPacked = raw >= 0 && (emisora_av_has_alpha(raw) != 0 || emisora_av_is_rgb(raw) != 0)
        return VideoFormat(
            PixelFormat(sameAs: AVPixelFormat(raw)) ?? (isPacked ? .bgra : .i420), width: stream.width,
            height: stream.height, frameRate: stream.frameRate)
    }

    /// The frame of a picture.
    ///
    /// - Throws: ``VideoFrameError/poolExhausted(limit:)`` if too many pictures are still held by someone; the others
    ///   for pictures that cannot be carried.
    func frame(
        _ picture: DecodedFrame, of stream: MediaStream, timestamp: Instant
    ) throws(VideoFrameError) -> VideoFrame {
        let pointer = picture.pointer
        let rotation = VideoRotation(displayMatrix: emisora_av_frame_matrix(pointer)) ?? stream.rotation
        let color = PictureColor(pointer, codec: stream.parameters.pointee.codec_id)
        if !color.needsConversion, let pixelFormat = PixelFormat(sameAs: AVPixelFormat(pointer.pointee.format)),
            let frame = try borrowed(picture, pixelFormat, color, stream, timestamp, rotation)
        {
            return frame
        }
        return try converted(pointer, color, stream, timestamp, rotation)
    }

    /// A frame on the decoder's memory; `nil` if its rows lie as frames' cannot, such as bottom up.
    private func borrowed(
        _ picture: DecodedFrame, _ pixelFormat: PixelFormat, _ color: PictureColor, _ stream: MediaStream,
        _ timestamp: Instant, _ rotation: VideoRotation
    ) throws(VideoFrameError) -> VideoFrame? {
        let pointer = picture.pointer
        let strides = (0..<pixelFormat.planeCount).map { Int(emisora_av_frame_stride(pointer, Int32($0))) }
        let format = VideoFormat(
            pixelFormat, width: Int(pointer.pointee.width), height: Int(pointer.pointee.height), strides: strides,
            colorMatrix: color.matrix, colorRange: color.range, frameRate: stream.frameRate)
        guard strides.allSatisfy({ $0 > 0 }), (try? format.validate()) != nil else { return nil }
        var planes: [UnsafeRawBufferPointer] = []
        for plane in 0..<format.planeCount {
            let needed = format.layout(ofPlane: plane).byteCount
            guard let start = emisora_av_frame_plane(pointer, Int32(plane)),
                emisora_av_frame_plane_size(pointer, Int32(plane)) >= needed
            else { return nil }
            planes.append(UnsafeRawBufferPointer(start: start, count: needed))
        }
        let lent = lent
        try lent.lend()
        // The closure holds the reference to FFmpeg's memory, and goes with the frame.
        let buffer = BorrowedBuffer(planes: planes) {
            withExtendedLifetime(picture) { lent.takeBack() }
        }
        return try VideoFrame(borrowing: buffer, format: format, timestamp: timestamp, rotation: rotation)
    }

    private func converted(
        _ pointer: UnsafeMutablePointer<AVFrame>, _ color: PictureColor, _ stream: MediaStream, _ timestamp: Instant,
        _ rotation: VideoRotation
    ) throws(VideoFrameError) -> VideoFrame {
        let source = pointer.pointee.format
        let hasAlpha = emisora_av_has_alpha(source) != 0
        let pixelFormat: PixelFormat = hasAlpha || emisora_av_is_rgb(source) != 0 ? .bgra : .i420
        let (width, height) = (pointer.pointee.width, pointer.pointee.height)
        // libswscale writes whole vectors: rows must have room for the last one.
        let strides = (0..<pixelFormat.planeCount).map { plane in
            let samples = plane == 0 ? Int(width) : (Int(width) + 1) / 2
            return (samples * (pixelFormat == .bgra ? 4 : 1) + 63) & ~63
        }
        let format = VideoFormat(
            pixelFormat, width: Int(width), height: Int(height), strides: strides, colorMatrix: color.matrix,
            colorRange: pixelFormat == .bgra ? .limited : color.range, frameRate: stream.frameRate)
        var result = try pool.makeFrame(format)
        guard prepare(Shape(source: source, target: pixelFormat, width: width, height: height, color: color)) else {
            throw .sizeOutOfRange(format.size)
        }
        let context = context
        let rows = result.withUnsafeMutablePlanes { plane0, plane1, plane2 in
            func stride(_ plane: Int) -> Int32 { plane < strides.count ? Int32(strides[plane]) : 0 }
            func start(_ plane: UnsafeMutableRawBufferPointer) -> UnsafeMutablePointer<UInt8>? {
                plane.baseAddress?.assumingMemoryBound(to: UInt8.self)
            }
            return emisora_sws_convert(
                context, pointer, start(plane0), stride(0), start(plane1), stride(1), start(plane2), stride(2))
        }
        guard rows == height else { throw .sizeOutOfRange(format.size) }
        if hasAlpha { result.layOnBlack() }
        return result.finish(timestamp: timestamp, rotation: rotation)
    }

    /// Makes the conversion; `false` if libswscale has none.
    private func prepare(_ wanted: Shape) -> Bool {
        if shape == wanted, context != nil { return true }
        sws_freeContext(context)
        context = nil
        guard emisora_av_is_readable(wanted.source) != 0 else { return false }
        let target = wanted.target == .bgra ? AV_PIX_FMT_BGRA : AV_PIX_FMT_YUV420P
        let flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT
        context = sws_getContext(
            wanted.width, wanted.height, AVPixelFormat(wanted.source), wanted.width, wanted.height, target, flags, nil,
            nil, nil)
        shape = wanted
        guard context != nil else { return false }
        let color = wanted.color
        let isFull: Int32 = color.range == .full ? 1 : 0
        // Fails where the formats have no such thing as a matrix, such as RGB to RGB: nothing to set there.
        _ = emisora_sws_set_color(
            context, color.swscaleMatrix, isFull, color.matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_ITU601,
            wanted.target == .bgra ? 1 : isFull)
        return true
    }
}

extension MutableVideoFrame {
    /// Lays a BGRA picture on black: each colour as strong as its alpha says.
    fileprivate mutating func layOnBlack() {
        let (width, height, stride) = (width, height, format.stride(ofPlane: 0))
        withUnsafeMutablePlane(0) { bytes in
            for row in 0..<height {
                let pixels = UnsafeMutableRawBufferPointer(rebasing: bytes[(row * stride)..<(row * stride + 4 * width)])
                for pixel in Swift.stride(from: 0, to: 4 * width, by: 4) where pixels[pixel + 3] < 255 {
                    let alpha = UInt32(pixels[pixel + 3])
                    for channel in pixel..<pixel + 3 {
                        pixels[channel] = UInt8((UInt32(pixels[channel]) * alpha + 127) / 255)
                    }
                    pixels[pixel + 3] = 255
                }
            }
        }
    }
}

/// How many pictures on a decoder's memory are held by someone; FFmpeg would make more without end.
private final class LentPictures: Sendable {
    private static let limit = 24
    private let count = Atomic(0)

    func lend() throws(VideoFrameError) {
        guard count.add(1, ordering: .relaxed).newValue <= Self.limit else {
            takeBack()
            throw .poolExhausted(limit: Self.limit)
        }
    }

    func takeBack() {
        count.subtract(1, ordering: .relaxed)
    }
}
