import EmisoraVideo

/// How the pictures of a negotiated format lie in the driver's buffers.
struct CameraPicture: Sendable {
    enum Coding: Hashable, Sendable {
        /// Samples, taken as they are.
        case raw
        case jpeg
    }

    let coding: Coding
    /// The picture in the driver's memory; for JPEG what the picture decodes to.
    let format: VideoFormat
    /// The same picture without padding, for copies.
    let tightFormat: VideoFormat
    /// Where each plane begins, if all lie in one buffer; `nil` for a buffer for each.
    let planeOffsets: [Int]?
    /// How many pieces of memory a buffer has.
    let memoryPlanes: Int
    /// The fewest bytes that are a whole picture, for each piece of memory.
    private let need0, need1, need2: Int

    func neededBytes(inPlane plane: Int) -> Int { plane == 0 ? need0 : plane == 1 ? need1 : need2 }

    /// `nil` if pictures of that format cannot be read, or do not fit what the driver calls their size.
    init?(_ negotiated: V4L2Format, frameRate: FrameRate?) {
        guard let kind = Kind(negotiated.pixelFormat), negotiated.planes.count == kind.memoryPlanes else { return nil }
        let (width, height) = (Int(negotiated.width), Int(negotiated.height))
        let color = CameraColor(negotiated, isRGB: kind.pixelFormat.isRGB, isJPEG: kind.coding == .jpeg)
        let tight = VideoFormat(kind.pixelFormat, width: width, height: height)
        guard (try? tight.validate()) != nil else { return nil }
        var strides: [Int] = []
        for plane in 0..<tight.planeCount {
            let rowBytes = tight.layout(ofPlane: plane).rowBytes
            guard kind.coding == .raw else {
                strides.append(rowBytes)
                continue
            }
            let given = Int(negotiated.planes[kind.memoryPlanes > 1 ? plane : 0].bytesPerLine)
            // In one buffer the chroma of I420 has rows of half the length.
            let isHalved = kind.memoryPlanes == 1 && plane > 0 && tight.planeCount == 3
            let stride = isHalved ? (given + 1) / 2 : given
            // 0, or less than a row holds, is what careless drivers say: rows are tight then.
            strides.append(max(stride, rowBytes))
        }
        let format = VideoFormat(
            kind.pixelFormat, width: width, height: height, strides: strides, colorMatrix: color.matrix,
            colorRange: color.range, frameRate: frameRate)
        guard (try? format.validate()) != nil else { return nil }

        var offsets: [Int] = []
        var next = 0
        for plane in 0..<format.planeCount {
            offsets.append(next)
            next += format.layout(ofPlane: plane).paddedByteCount
        }
        // The last row needs no padding.
        var needs = [0, 0, 0]
        for plane in 0..<format.planeCount {
            let bytes = format.layout(ofPlane: plane).byteCount
            if kind.memoryPlanes > 1 { needs[plane] = bytes } else { needs[0] = offsets[plane] + bytes }
        }
        if kind.coding == .jpeg { needs = [1, 0, 0] }
        if kind.swapsChroma { offsets.swapAt(1, 2) }
        coding = kind.coding
        self.format = format
        tightFormat = VideoFormat(
            kind.pixelFormat, width: width, height: height, colorMatrix: color.matrix, colorRange: color.range,
            frameRate: frameRate)
        planeOffsets = kind.memoryPlanes > 1 ? nil : offsets
        memoryPlanes = kind.memoryPlanes
        (need0, need1, need2) = (needs[0], needs[1], needs[2])
        for plane in 0..<memoryPlanes {
            let size = Int(negotiated.planes[plane].sizeImage)
            guard size >= neededBytes(inPlane: plane) else { return nil }
        }
    }

    /// A pixel format of V4L2 in the terms of ``PixelFormat``.
    private struct Kind {
        var pixelFormat: PixelFormat
        var memoryPlanes = 1
        var coding = Coding.raw
        var swapsChroma = false

        init?(_ fourcc: UInt32) {
            switch FourCC(rawValue: fourcc).description {
            case "NV12": pixelFormat = .nv12
            case "NV21": pixelFormat = .nv21
            case "NM12": (pixelFormat, memoryPlanes) = (.nv12, 2)
            case "NM21": (pixelFormat, memoryPlanes) = (.nv21, 2)
            case "YU12": pixelFormat = .i420
            case "YV12": (pixelFormat, swapsChroma) = (.i420, true)
            case "YM12": (pixelFormat, memoryPlanes) = (.i420, 3)
            case "YUYV": pixelFormat = .yuy2
            case "UYVY": pixelFormat = .uyvy
            // Three and four bytes a pixel, named by libv4l and by drivers of frame grabbers.
            case "RGB3": pixelFormat = .rgb24
            case "BGR4", "XR24", "AR24": pixelFormat = .bgra
            case "MJPG", "JPEG": (pixelFormat, coding) = (.i420, .jpeg)
            default: return nil
            }
        }
    }
}
