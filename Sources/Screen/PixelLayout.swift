import EmisoraVideo

/// How the pixels of a drawable lie in an image of the X server, and which pixel format frames of it get.
struct PixelLayout: Equatable {
    enum Packing: Equatable {
        /// Four bytes a pixel that are a frame's pixel format as they are.
        case direct(PixelFormat)
        /// Two bytes a pixel; looked up in a table that gives B G R A.
        case table(ColorMasks, isBigEndian: Bool)
    }

    let packing: Packing
    private let bitsPerPixel: Int
    private let scanlinePad: Int

    /// - Parameters:
    ///   - bitsPerPixel, scanlinePad: As the server's image format for the depth says.
    ///   - masks: As the visual says; `nil` if its pixels are indices into a colour map.
    init(depth: Int, bitsPerPixel: Int, scanlinePad: Int, masks: ColorMasks?, isBigEndian: Bool) throws(ScreenError) {
        let unsupported = ScreenError.unsupportedVisual(depth: depth, bitsPerPixel: bitsPerPixel)
        guard let masks, masks.areUsable, [8, 16, 32].contains(scanlinePad) else { throw unsupported }
        switch (bitsPerPixel, masks, isBigEndian) {
        case (32, .rgb, false): packing = .direct(.bgra)
        case (32, .rgb, true): packing = .direct(.argb)
        case (32, .bgr, false): packing = .direct(.rgba)
        case (16, _, _): packing = .table(masks, isBigEndian: isBigEndian)
        default: throw unsupported
        }
        self.bitsPerPixel = bitsPerPixel
        self.scanlinePad = scanlinePad
    }

    /// What frames have.
    var pixelFormat: PixelFormat {
        switch packing {
        case .direct(let format): format
        case .table: .bgra
        }
    }

    /// Bytes from one row of the server's image to the next.
    func stride(width: Int) -> Int {
        (width * bitsPerPixel + scanlinePad - 1) / scanlinePad * scanlinePad / 8
    }

    func format(width: Int, height: Int, frameRate: FrameRate) -> VideoFormat {
        VideoFormat(pixelFormat, width: width, height: height, frameRate: frameRate)
    }

    /// The format of a frame that lies on the server's image; of no use unless the packing is direct.
    func formatInPlace(width: Int, height: Int, frameRate: FrameRate) -> VideoFormat {
        VideoFormat(pixelFormat, width: width, height: height, strides: [stride(width: width)], frameRate: frameRate)
    }
}

/// Which bits of a pixel are red, green and blue.
struct ColorMasks: Equatable {
    let red: UInt32
    let green: UInt32
    let blue: UInt32

    static let rgb = ColorMasks(red: 0xFF0000, green: 0xFF00, blue: 0xFF)
    static let bgr = ColorMasks(red: 0xFF, green: 0xFF00, blue: 0xFF0000)

    /// Whether there are three, each of adjoining bits.
    var areUsable: Bool {
        [red, green, blue].allSatisfy { mask in
            guard mask != 0 else { return false }
            let bits = mask >> mask.trailingZeroBitCount
            return bits & (bits &+ 1) == 0
        }
    }

    /// B G R A, as a little-endian word, for each pixel of 16 bits.
    func bgraTable(isBigEndian: Bool) -> [UInt32] {
        (0...UInt16.max).map { bytes in
            let pixel = UInt32(isBigEndian ? bytes.byteSwapped : bytes)
            return 0xFF00_0000 | Self.level(pixel, red) << 16 | Self.level(pixel, green) << 8 | Self.level(pixel, blue)
        }
    }

    /// The bits under `mask`, stretched to 0…255.
    private static func level(_ pixel: UInt32, _ mask: UInt32) -> UInt32 {
        let largest = UInt64(mask >> mask.trailingZeroBitCount)
        let value = UInt64((pixel & mask) >> mask.trailingZeroBitCount)
        return UInt32((value * 255 + largest / 2) / largest)
    }
}
