import CEmisoraYUV
import EmisoraCore
import EmisoraVideo

/// Turns pictures into others: pixel format, colour, size, orientation. Results lie on pooled memory.
///
/// Safe from any thread. Timestamps and metadata are kept.
public final class VideoConverter: Sendable {
    // A pool holds buffers of one size, so each step has its own: one for all would allocate with every picture that
    // takes two steps.
    private let converted = VideoFramePool()
    private let scaled = VideoFramePool()
    private let turned = VideoFramePool()
    private let colored = VideoFramePool(capacity: 2)
    private let packed = VideoFramePool(capacity: 2)

    public init() {}

    /// The picture as VP8 can carry it: I420 or NV12, upright, BT.601 limited, since VP8's header can tell nothing else
    /// (RFC 6386 §9.2). One that is so already is given back untouched, without a copy.
    public func encodable(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        let format = frame.format
        let isPlain = format.colorMatrix == .bt601 && format.colorRange == .limited
        var result = frame
        switch format.pixelFormat {
        case .i420, .nv12: if !isPlain { result = try i420(frame) }
        case .nv21, .yuy2, .uyvy, .argb, .bgra, .rgba, .rgb24: result = try i420(frame)
        }
        return try upright(result)
    }

    /// The picture as I420, BT.601 limited. Its orientation stays.
    public func i420(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        var source = frame
        if !frame.format.pixelFormat.isRGB, frame.format.colorMatrix != .bt601 || frame.format.colorRange != .limited {
            // libyuv has no direct way from one YUV to another.
            source = try bgra(frame)
        } else if frame.format.pixelFormat == .i420 {
            return frame
        }
        let format = source.format
        return try make(
            .i420, in: converted, width: format.width, height: format.height, like: frame,
            operation: "\(format.pixelFormat.rawValue) to i420"
        ) { out, strides in
            source.withUnsafePlanes { planes in
                let y = Self.bytes(out[0])
                let u = Self.bytes(out[1])
                let v = Self.bytes(out[2])
                let s = format.strides.map(Int32.init)
                let p = planes.map(Self.bytes)
                let (w, h) = (Int32(format.width), Int32(format.height))
                return switch format.pixelFormat {
                case .i420: -1
                case .nv12: NV12ToI420(p[0], s[0], p[1], s[1], y, strides[0], u, strides[1], v, strides[2], w, h)
                case .nv21: NV21ToI420(p[0], s[0], p[1], s[1], y, strides[0], u, strides[1], v, strides[2], w, h)
                case .yuy2: YUY2ToI420(p[0], s[0], y, strides[0], u, strides[1], v, strides[2], w, h)
                case .uyvy: UYVYToI420(p[0], s[0], y, strides[0], u, strides[1], v, strides[2], w, h)
                // libyuv names little-endian words: its BGRA lies in memory as A R G B.
                case .argb: BGRAToI420(p[0], s[0], y, strides[0], u, strides[1], v, strides[2], w, h)
                case .bgra: ARGBToI420(p[0], s[0], y, strides[0], u, strides[1], v, strides[2], w, h)
                case .rgba: ABGRToI420(p[0], s[0], y, strides[0], u, strides[1], v, strides[2], w, h)
                case .rgb24: RAWToI420(p[0], s[0], y, strides[0], u, strides[1], v, strides[2], w, h)
                }
            }
        }
    }

    /// The picture as BGRA with its colours as its matrix and range say.
    public func bgra(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        let format = frame.format
        if format.pixelFormat == .bgra { return frame }
        var source = frame
        if !format.pixelFormat.isRGB, format.pixelFormat != .i420 {
            source = try withPlainColor(frame) { frame throws(ConversionError) in try self.i420(frame) }
        }
        return try make(
            .bgra, in: colored, width: format.width, height: format.height, like: frame,
            operation: "\(format.pixelFormat.rawValue) to bgra"
        ) { out, strides in
            source.withUnsafePlanes { planes in
                let s = source.format.strides.map(Int32.init)
                let p = planes.map(Self.bytes)
                let (w, h) = (Int32(format.width), Int32(format.height))
                let to = Self.bytes(out[0])
                return switch source.format.pixelFormat {
                case .argb: BGRAToARGB(p[0], s[0], to, strides[0], w, h)
                case .rgba: ABGRToARGB(p[0], s[0], to, strides[0], w, h)
                case .rgb24: RAWToARGB(p[0], s[0], to, strides[0], w, h)
                case .i420:
                    switch (format.colorMatrix, format.colorRange) {
                    case (.bt601, .limited): I420ToARGB(p[0], s[0], p[1], s[1], p[2], s[2], to, strides[0], w, h)
                    case (.bt601, .full): J420ToARGB(p[0], s[0], p[1], s[1], p[2], s[2], to, strides[0], w, h)
                    case (.bt709, .limited): H420ToARGB(p[0], s[0], p[1], s[1], p[2], s[2], to, strides[0], w, h)
                    case (.bt709, .full):
                        emisora_f420_to_argb(p[0], s[0], p[1], s[1], p[2], s[2], to, strides[0], w, h)
                    }
                case .bgra, .nv12, .nv21, .yuy2, .uyvy: -1
                }
            }
        }
    }

    /// The picture as three bytes a pixel, red first: what picture files want.
    public func rgb24(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        let source = try bgra(frame)
        return try make(
            .rgb24, in: packed, width: frame.width, height: frame.height, like: frame, operation: "bgra to rgb24"
        ) { out, strides in
            source.withUnsafePlanes { planes in
                return ARGBToRAW(
                    Self.bytes(planes[0]), Int32(source.format.strides[0]), Self.bytes(out[0]), strides[0],
                    Int32(frame.width), Int32(frame.height))
            }
        }
    }

    /// The picture at another size, as I420.
    public func scale(_ frame: VideoFrame, width: Int, height: Int) throws(ConversionError) -> VideoFrame {
        let source = try i420(frame)
        if frame.width == width, frame.height == height { return source }
        return try make(
            .i420, in: scaled, width: width, height: height, like: frame, operation: "scaling to \(width)×\(height)"
        ) { out, strides in
            source.withUnsafePlanes { planes in
                let s = source.format.strides.map(Int32.init)
                let p = planes.map(Self.bytes)
                return I420Scale(
                    p[0], s[0], p[1], s[1], p[2], s[2], Int32(source.width), Int32(source.height), Self.bytes(out[0]),
                    strides[0], Self.bytes(out[1]), strides[1], Self.bytes(out[2]), strides[2], Int32(width),
                    Int32(height), kFilterBox)
            }
        }
    }

    /// The picture turned so that it stands upright.
    public func upright(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        guard frame.rotation != .none else { return frame }
        let source = try i420(frame)
        let isSideways = frame.rotation == .clockwise90 || frame.rotation == .clockwise270
        let mode = RotationModeEnum(rawValue: UInt32(frame.rotation.rawValue))
        return try make(
            .i420, in: turned, width: isSideways ? frame.height : frame.width,
            height: isSideways ? frame.width : frame.height, like: frame, rotation: VideoRotation.none,
            operation: "turning by \(frame.rotation.rawValue)°"
        ) { out, strides in
            source.withUnsafePlanes { planes in
                let s = source.format.strides.map(Int32.init)
                let p = planes.map(Self.bytes)
                return I420Rotate(
                    p[0], s[0], p[1], s[1], p[2], s[2], Self.bytes(out[0]), strides[0], Self.bytes(out[1]), strides[1],
                    Self.bytes(out[2]), strides[2], Int32(source.width), Int32(source.height), mode)
            }
        }
    }

    // MARK: Inside

    /// Reads the samples as if they were BT.601 limited, so that repacking them leaves their values alone.
    private func withPlainColor(
        _ frame: VideoFrame, _ body: (VideoFrame) throws(ConversionError) -> VideoFrame
    ) throws(ConversionError) -> VideoFrame {
        guard let plain = frame.relabelled(colorMatrix: .bt601, colorRange: .limited) else {
            throw .failed(operation: "relabelling")
        }
        return try body(plain)
    }

    /// A pooled picture that a libyuv function fills; the function answers 0 when it could.
    private func make(
        _ pixelFormat: PixelFormat, in pool: VideoFramePool, width: Int, height: Int, like frame: VideoFrame,
        rotation: VideoRotation? = nil, operation: @autoclosure () -> String,
        _ fill: ([UnsafeMutableRawBufferPointer], [Int32]) -> Int32
    ) throws(ConversionError) -> VideoFrame {
        let format: VideoFormat
        do throws(VideoFrameError) {
            format = try VideoFormat(pixelFormat, width: width, height: height, frameRate: frame.format.frameRate)
        } catch {
            throw .unsupportedSize(width: width, height: height)
        }
        var result = pool.makeFrame(format)
        let status = result.withUnsafeMutablePlanes { fill($0, format.strides.map(Int32.init)) }
        guard status == 0 else { throw .failed(operation: operation()) }
        return result.finish(
            timestamp: frame.timestamp, rotation: rotation ?? frame.rotation, metadata: frame.metadata)
    }

    private static func bytes(_ buffer: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
        buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    private static func bytes(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutablePointer<UInt8>? {
        buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}

extension PixelFormat {
    var isRGB: Bool {
        switch self {
        case .argb, .bgra, .rgba, .rgb24: true
        case .i420, .nv12, .nv21, .yuy2, .uyvy: false
        }
    }
}
