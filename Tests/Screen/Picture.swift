import Emisora
import EmisoraProcessing

/// A picture that tests can look into: 0xRRGGBB for each pixel.
struct Picture: Equatable {
    let width: Int
    let height: Int
    private let pixels: [UInt32]

    init(width: Int, height: Int, pixels: [UInt32]) {
        self.width = width
        self.height = height
        self.pixels = pixels
    }

    init(_ frame: VideoFrame) throws {
        let picture = try VideoConverter().bgra(frame)
        let (width, height) = (picture.width, picture.height)
        let stride = picture.format.stride(ofPlane: 0)
        self.width = width
        self.height = height
        // With bare pointers: tests run without optimisation, and there are millions of pixels.
        pixels = picture.withUnsafePlanes { planes in
            [UInt32](unsafeUninitializedCapacity: width * height) { pixels, count in
                for y in 0..<height {
                    for x in 0..<width {
                        let pixel = planes[0].loadUnaligned(fromByteOffset: y * stride + 4 * x, as: UInt32.self)
                        pixels[y * width + x] = pixel & 0xFFFFFF
                    }
                }
                count = width * height
            }
        }
    }

    subscript(x: Int, y: Int) -> UInt32 { pixels[y * width + x] }

    func cut(x: Int, y: Int, width: Int, height: Int) -> Picture {
        var part: [UInt32] = []
        for row in y..<y + height { part += pixels[row * self.width + x..<row * self.width + x + width] }
        return Picture(width: width, height: height, pixels: part)
    }

    /// Whether `part` is to be seen at that place, pixel for pixel.
    func shows(_ part: Picture, x: Int, y: Int) -> Bool {
        guard x >= 0, y >= 0, x + part.width <= width, y + part.height <= height else { return false }
        return cut(x: x, y: y, width: part.width, height: part.height) == part
    }

    func count(_ color: UInt32) -> Int {
        pixels.withUnsafeBufferPointer { pixels in
            var count = 0
            for index in 0..<pixels.count where pixels[index] == color { count += 1 }
            return count
        }
    }
}
