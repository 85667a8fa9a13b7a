import EmisoraVideo

/// A cursor's shape, as XFixes gives it: premultiplied colours with their opacity.
struct CursorImage: Equatable {
    let width: Int
    let height: Int
    /// The pixel of the shape that stands where the pointer is.
    let hotspotX: Int
    let hotspotY: Int
    /// A R G B from the highest bits to the lowest, row by row.
    let pixels: [UInt32]

    /// - Returns: `nil` if there are fewer pixels than the size needs.
    init?(width: Int, height: Int, hotspotX: Int, hotspotY: Int, pixels: [UInt32]) {
        guard width >= 0, height >= 0, width <= 4096, height <= 4096, pixels.count >= width * height else { return nil }
        self.width = width
        self.height = height
        self.hotspotX = hotspotX
        self.hotspotY = hotspotY
        self.pixels = pixels
    }

    /// Draws the shape onto a picture of four bytes a pixel, clipped to it.
    ///
    /// - Parameters:
    ///   - x, y: Where the pointer is in the picture; may lie outside.
    func draw(into bytes: UnsafeMutableRawBufferPointer, _ format: VideoFormat, x: Int, y: Int) {
        let offsets: (red: Int, green: Int, blue: Int)
        switch format.pixelFormat {
        case .bgra: offsets = (2, 1, 0)
        case .rgba: offsets = (0, 1, 2)
        case .argb: offsets = (1, 2, 3)
        case .i420, .nv12, .nv21, .yuy2, .uyvy, .rgb24: return
        }
        let (left, top) = (x - hotspotX, y - hotspotY)
        let stride = format.stride(ofPlane: 0)
        let columns = max(0, -left)..<max(max(0, -left), min(width, format.width - left))
        let rows = max(0, -top)..<max(max(0, -top), min(height, format.height - top))
        for row in rows {
            for column in columns {
                let pixel = pixels[row * width + column]
                let opacity = pixel >> 24
                guard opacity > 0 || pixel != 0 else { continue }
                let position = (top + row) * stride + 4 * (left + column)
                func blend(_ offset: Int, _ source: UInt32) {
                    let below = UInt32(bytes[position + offset])
                    let sum = (source & 0xFF) + (below * (255 - opacity) + 127) / 255
                    bytes[position + offset] = UInt8(min(sum, 255))
                }
                blend(offsets.red, pixel >> 16)
                blend(offsets.green, pixel >> 8)
                blend(offsets.blue, pixel)
            }
        }
    }
}
