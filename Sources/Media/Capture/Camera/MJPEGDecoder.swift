import CEmisoraJPEG
import CEmisoraYUV
import EmisoraVideo

/// Decodes the frames of a Motion JPEG stream to I420. Owns one decompressor of libjpeg-turbo, which also knows the
/// Huffman tables that such streams leave out.
///
/// Used by one thread at a time.
final class MJPEGDecoder {
    enum Failure: Error, Hashable {
        /// No JPEG, a damaged one, or one of a kind that cameras do not send.
        case damaged
        /// The picture is larger than the negotiated one.
        case oversized(VideoSize)
    }

    private let handle: tjhandle
    /// Planes of pictures whose chroma is not 4:2:0; kept for the next one.
    private var scratch: [UInt8] = []

    /// `nil` if there is no memory.
    init?() {
        guard let handle = tjInitDecompress() else { return nil }
        self.handle = handle
    }

    deinit {
        tjDestroy(handle)
    }

    /// What the picture's header says.
    struct Header: Hashable {
        let size: VideoSize
        fileprivate let subsampling: Int32
    }

    /// Looks at the header alone, before any memory is taken for the picture.
    ///
    /// - Parameter limit: The negotiated size. Pictures may be larger by the rest of a block of 16 pixels.
    func header(of bytes: UnsafeRawBufferPointer, limit: VideoSize) throws(Failure) -> Header {
        guard let start = bytes.baseAddress else { throw .damaged }
        var (width, height, subsampling, colorspace): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        let status = tjDecompressHeader3(
            handle, start.assumingMemoryBound(to: UInt8.self), UInt(bytes.count), &width, &height, &subsampling,
            &colorspace)
        guard status == 0, width > 0, height > 0, subsampling >= 0, subsampling < TJ_NUMSAMP,
            colorspace == TJCS_YCbCr.rawValue || colorspace == TJCS_GRAY.rawValue
        else { throw .damaged }
        let size = VideoSize(width: Int(width), height: Int(height))
        guard size.width <= (limit.width + 15) & ~15, size.height <= (limit.height + 15) & ~15 else {
            throw .oversized(size)
        }
        return Header(size: size, subsampling: subsampling)
    }

    /// Decodes into an I420 picture of the header's size.
    func decode(_ bytes: UnsafeRawBufferPointer, _ header: Header, into picture: inout MutableVideoFrame)
        throws(Failure)
    {
        let format = picture.format
        guard format.pixelFormat == .i420, format.size == header.size else { throw .damaged }
        let (width, height) = (Int32(header.size.width), Int32(header.size.height))
        let planeCount = header.subsampling == TJSAMP_GRAY.rawValue ? 1 : 3
        // Which of the picture's planes libjpeg-turbo fills itself; it pads odd sizes, so those take the detour.
        var planes: [Plane] = []
        var scratchSize = 0
        for plane in 0..<planeCount {
            let planeWidth = tjPlaneWidth(Int32(plane), width, header.subsampling)
            let planeHeight = tjPlaneHeight(Int32(plane), height, header.subsampling)
            guard planeWidth > 0, planeHeight > 0 else { throw .damaged }
            let layout = format.layout(ofPlane: plane)
            let isDirect = Int(planeWidth) == layout.rowBytes && Int(planeHeight) == layout.rows
            planes.append(
                Plane(
                    width: planeWidth, height: planeHeight, stride: isDirect ? Int32(layout.stride) : planeWidth,
                    detour: isDirect ? nil : scratchSize))
            if !isDirect { scratchSize += Int(planeWidth) * Int(planeHeight) }
        }
        if scratch.count < scratchSize { scratch = [UInt8](repeating: 0, count: scratchSize) }
        let isWhole = picture.withUnsafeMutablePlanes { y, u, v in
            scratch.withUnsafeMutableBytes { scratch in
                decompress(bytes, format, planes, into: [y, u, v], scratch)
            }
        }
        guard isWhole else { throw .damaged }
    }

    /// A plane as the decompressor writes it.
    private struct Plane {
        let width, height, stride: Int32
        /// Where it lies in the scratch memory, if it is not written straight into the picture.
        let detour: Int?
    }

    private func decompress(
        _ bytes: UnsafeRawBufferPointer, _ format: VideoFormat, _ planes: [Plane],
        into targets: [UnsafeMutableRawBufferPointer], _ scratch: UnsafeMutableRawBufferPointer
    ) -> Bool {
        var starts = planes.enumerated().map { index, plane in
            (plane.detour.flatMap { offset in scratch.baseAddress.map { $0 + offset } } ?? targets[index].baseAddress)?
                .assumingMemoryBound(to: UInt8.self)
        }
        var strides = planes.map(\.stride)
        let status = tjDecompressToYUVPlanes(
            handle, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count), &starts, 0, &strides, 0,
            TJFLAG_LIMITSCANS)
        guard status == 0 || isHarmless else { return false }
        for (index, plane) in planes.enumerated() where plane.detour != nil {
            guard let target = targets[index].baseAddress?.assumingMemoryBound(to: UInt8.self) else { continue }
            let layout = format.layout(ofPlane: index)
            if index == 0 {
                CopyPlane(
                    starts[0], plane.stride, target, Int32(layout.stride), Int32(layout.rowBytes), Int32(layout.rows))
            } else {
                ScalePlane(
                    starts[index], plane.stride, plane.width, plane.height, target, Int32(layout.stride),
                    Int32(layout.rowBytes), Int32(layout.rows), kFilterBox)
            }
        }
        for plane in targets[planes.count...] { plane.initializeMemory(as: UInt8.self, repeating: 128) }
        return true
    }

    /// Some cameras leave a few bytes between the picture and its end mark. The decoder warns of that too, but nothing
    /// of the picture is missing.
    private var isHarmless: Bool {
        guard tjGetErrorCode(handle) == TJERR_WARNING.rawValue, let text = tjGetErrorStr2(handle) else { return false }
        return String(cString: text).hasSuffix("extraneous bytes before marker 0xd9")
    }
}
