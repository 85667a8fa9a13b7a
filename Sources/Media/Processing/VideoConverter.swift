import CEmisoraYUV
import EmisoraCore
import EmisoraVideo

/// Turns pictures into others: pixel format, colour, size, orientation. Results lie on pooled memory.
///
/// Safe from any thread. Timestamps and metadata are kept.
public final class VideoConverter: Sendable {
    // A pool keeps buffers of one size, so each step has its own: one for all would allocate with every picture that
    // takes two steps.
    private let converted = VideoFramePool()
    private let scaled = VideoFramePool()
    private let turned = VideoFramePool()
    private let colored = VideoFramePool()
    private let packed = VideoFramePool()

    public init() {}

    /// The picture as VP8 can carry it: I420 or NV12, upright, BT.601 limited, since VP8's header can tell nothing else
    /// (RFC 6386 §9.2). One that is so already is given back untouched, without a copy.
    ///
    /// - Parameters:
    ///   - size: what to scale the picture to, as it lies; `nil`: as it is.
    ///   - keepsRotation: leaves the turning to those who receive it.
    public func encodable(
        _ frame: VideoFrame, scaledTo size: VideoSize? = nil, keepsRotation: Bool = false
    ) throws(ConversionError) -> VideoFrame {
        var result = frame
        switch frame.format.pixelFormat {
        case .i420, .nv12: if !frame.format.hasPlainColor { result = try i420(frame) }
        case .nv21, .yuy2, .uyvy, .argb, .bgra, .rgba, .rgb24: result = try i420(frame)
        }
        // What is small is turned more cheaply.
        if let size, size != frame.size { result = try scale(result, width: size.width, height: size.height) }
        return keepsRotation ? result : try upright(result)
    }

    /// The picture as I420, BT.601 limited. Its orientation stays.
    public func i420(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        if frame.format.pixelFormat.isRGB || frame.format.hasPlainColor { return try repacked(frame) }
        // libyuv has no direct way from one YUV to another.
        return try repacked(try bgra(frame))
    }

    /// The picture as BGRA with its colours as its matrix and range say.
    ///
    /// libyuv cannot weigh a chroma sample more than twofold, so that saturated blue in BT.709 limited, which needs
    /// 2.112, comes out up to 15 of 255 too weak.
    public func bgra(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        let pixelFormat = frame.format.pixelFormat
        if pixelFormat == .bgra { return frame }
        let source = pixelFormat.isRGB ? frame : try repacked(frame)
        let format = source.format
        let target = VideoFormat(.bgra, size: format.size, frameRate: format.frameRate)
        return try make(target, in: colored, from: source, operation: "\(pixelFormat) to bgra") { from, out in
            let (w, h) = (Int32(format.width), Int32(format.height))
            // libyuv names little-endian words: its ARGB lies in memory as B G R A.
            switch format.pixelFormat {
            case .argb: return BGRAToARGB(from.p0, from.s0, out.p0, out.s0, w, h)
            case .rgba: return ABGRToARGB(from.p0, from.s0, out.p0, out.s0, w, h)
            case .rgb24: return RAWToARGB(from.p0, from.s0, out.p0, out.s0, w, h)
            case .i420:
                let convert =
                    switch (format.colorMatrix, format.colorRange) {
                    case (.bt601, .limited): I420ToARGB
                    case (.bt601, .full): J420ToARGB
                    case (.bt709, .limited): H420ToARGB
                    case (.bt709, .full): emisora_f420_to_argb
                    }
                return convert(from.p0, from.s0, from.p1, from.s1, from.p2, from.s2, out.p0, out.s0, w, h)
            case .bgra, .nv12, .nv21, .yuy2, .uyvy: return -1
            }
        }
    }

    /// The picture as three bytes a pixel, red first: what picture files want.
    public func rgb24(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        let source = try bgra(frame)
        let target = VideoFormat(.rgb24, size: frame.size, frameRate: frame.format.frameRate)
        return try make(target, in: packed, from: source, operation: "bgra to rgb24") { from, out in
            ARGBToRAW(from.p0, from.s0, out.p0, out.s0, Int32(frame.width), Int32(frame.height))
        }
    }

    /// The picture at another size, as I420.
    public func scale(_ frame: VideoFrame, width: Int, height: Int) throws(ConversionError) -> VideoFrame {
        let source = try i420(frame)
        if frame.width == width, frame.height == height { return source }
        let target = VideoFormat(.i420, width: width, height: height, frameRate: frame.format.frameRate)
        return try make(target, in: scaled, from: source, operation: "scaling to \(width)×\(height)") { from, out in
            I420Scale(
                from.p0, from.s0, from.p1, from.s1, from.p2, from.s2, Int32(source.width), Int32(source.height),
                out.p0, out.s0, out.p1, out.s1, out.p2, out.s2, Int32(width), Int32(height), kFilterBox)
        }
    }

    /// The picture turned so that it stands upright.
    public func upright(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        guard frame.rotation != .none else { return frame }
        let source = try i420(frame)
        let isSideways = frame.rotation.swapsSides
        let target = VideoFormat(
            .i420, width: isSideways ? frame.height : frame.width, height: isSideways ? frame.width : frame.height,
            frameRate: frame.format.frameRate)
        let mode = RotationModeEnum(rawValue: UInt32(frame.rotation.degrees))
        var result = try make(target, in: turned, from: source, operation: "turning by \(frame.rotation.degrees)°") {
            from, out in
            I420Rotate(
                from.p0, from.s0, from.p1, from.s1, from.p2, from.s2, out.p0, out.s0, out.p1, out.s1, out.p2, out.s2,
                Int32(source.width), Int32(source.height), mode)
        }
        result.rotation = .none
        return result
    }

    // MARK: Inside

    /// The samples as I420: luma and chroma keep their values and what they mean, RGB becomes BT.601 limited.
    private func repacked(_ frame: VideoFrame) throws(ConversionError) -> VideoFrame {
        let format = frame.format
        guard format.pixelFormat != .i420 else { return frame }
        let isRGB = format.pixelFormat.isRGB
        let target = VideoFormat(
            .i420, size: format.size, colorMatrix: isRGB ? .bt601 : format.colorMatrix,
            colorRange: isRGB ? .limited : format.colorRange, frameRate: format.frameRate)
        return try make(target, in: converted, from: frame, operation: "\(format.pixelFormat) to i420") { from, out in
            let (w, h) = (Int32(format.width), Int32(format.height))
            let unpack: YUVPlanes.Unpack? =
                switch format.pixelFormat {
                case .yuy2: YUY2ToI420
                case .uyvy: UYVYToI420
                // libyuv names little-endian words: its BGRA lies in memory as A R G B.
                case .argb: BGRAToI420
                case .bgra: ARGBToI420
                case .rgba: ABGRToI420
                case .rgb24: RAWToI420
                case .i420, .nv12, .nv21: nil
                }
            if let unpack {
                return unpack(from.p0, from.s0, out.p0, out.s0, out.p1, out.s1, out.p2, out.s2, w, h)
            }
            let convert = format.pixelFormat == .nv12 ? NV12ToI420 : NV21ToI420
            return convert(
                from.p0, from.s0, from.p1, from.s1, out.p0, out.s0, out.p1, out.s1, out.p2, out.s2, w, h)
        }
    }

    /// A new picture that `convert` fills from the planes of `source`; it answers 0 if it could.
    private func make(
        _ format: VideoFormat, in pool: VideoFramePool, from source: VideoFrame,
        operation: @autoclosure () -> String, _ convert: (YUVPlanes, YUVPlanes) -> Int32
    ) throws(ConversionError) -> VideoFrame {
        var picture: MutableVideoFrame
        do throws(VideoFrameError) {
            picture = try pool.makeFrame(format)
        } catch {
            if case .poolExhausted(let limit) = error { throw .picturesExhausted(limit: limit) }
            throw .unsupportedSize(width: format.width, height: format.height)
        }
        let status = picture.withUnsafeMutablePlanes { plane0, plane1, plane2 in
            source.withUnsafePlanes { planes in
                convert(YUVPlanes(planes, source.format), YUVPlanes(plane0, plane1, plane2, format))
            }
        }
        guard status == 0 else { throw .failed(operation: operation()) }
        return picture.finish(timestamp: source.timestamp, rotation: source.rotation, metadata: source.metadata)
    }
}

extension VideoFormat {
    /// Whether luma and chroma mean what VP8 takes them for.
    fileprivate var hasPlainColor: Bool { colorMatrix == .bt601 && colorRange == .limited }
}

/// A picture's planes and strides as libyuv takes them. Those that the format does not have are nil and 0.
private struct YUVPlanes {
    typealias Plane = UnsafeMutablePointer<UInt8>
    typealias Unpack = (
        UnsafePointer<UInt8>?, Int32, Plane?, Int32, Plane?, Int32, Plane?, Int32, Int32, Int32
    ) -> Int32

    let p0, p1, p2: Plane?
    let s0, s1, s2: Int32

    init(
        _ plane0: UnsafeMutableRawBufferPointer, _ plane1: UnsafeMutableRawBufferPointer,
        _ plane2: UnsafeMutableRawBufferPointer, _ format: VideoFormat
    ) {
        func stride(_ plane: Int) -> Int32 { plane < format.planeCount ? Int32(format.stride(ofPlane: plane)) : 0 }
        p0 = plane0.baseAddress?.assumingMemoryBound(to: UInt8.self)
        p1 = plane1.baseAddress?.assumingMemoryBound(to: UInt8.self)
        p2 = plane2.baseAddress?.assumingMemoryBound(to: UInt8.self)
        (s0, s1, s2) = (stride(0), stride(1), stride(2))
    }

    /// Planes to read; libyuv does not write through its sources.
    init(_ planes: UnsafeFramePlanes, _ format: VideoFormat) {
        func plane(_ index: Int) -> UnsafeMutableRawBufferPointer {
            UnsafeMutableRawBufferPointer(
                mutating: index < planes.count ? planes[index] : UnsafeRawBufferPointer(start: nil, count: 0))
        }
        self.init(plane(0), plane(1), plane(2), format)
    }
}
