import Emisora
import Testing

@testable import EmisoraScreen

/// Pixel layouts and cursors, without a server.
@Suite struct PixelTests {
    @Test func layoutsOfServersAreToldApart() throws {
        func layout(_ bits: Int, _ masks: ColorMasks?, isBigEndian: Bool = false) throws -> PixelLayout {
            try PixelLayout(depth: 24, bitsPerPixel: bits, scanlinePad: 32, masks: masks, isBigEndian: isBigEndian)
        }
        #expect(try layout(32, .rgb).pixelFormat == .bgra)
        #expect(try layout(32, .bgr).pixelFormat == .rgba)
        #expect(try layout(32, .rgb, isBigEndian: true).pixelFormat == .argb)
        #expect(try layout(32, .rgb).stride(width: 101) == 404)
        let high = ColorMasks(red: 0xF800, green: 0x07E0, blue: 0x1F)
        #expect(try layout(16, high).stride(width: 101) == 204)
        let refused: [(Int, ColorMasks?)] = [
            (8, nil), (32, nil), (24, .rgb), (16, ColorMasks(red: 0, green: 1, blue: 2)),
            (16, ColorMasks(red: 0b101, green: 0b10, blue: 0b1000)),
            (32, ColorMasks(red: 0x3FF0_0000, green: 0xFFC00, blue: 0x3FF)),
        ]
        for (bits, masks) in refused {
            #expect(throws: ScreenError.unsupportedVisual(depth: 24, bitsPerPixel: bits)) {
                _ = try layout(bits, masks)
            }
        }
    }

    @Test func pixelsOf15And16BitsReachBothEndsOfEachColor() {
        let five = ColorMasks(red: 0x7C00, green: 0x3E0, blue: 0x1F).bgraTable(isBigEndian: false)
        #expect(five[0] == 0xFF00_0000)
        #expect(five[0x7FFF] == 0xFFFF_FFFF)
        #expect(five[0x7C00] == 0xFFFF_0000)
        #expect(five[1] == 0xFF00_0008)
        let swapped = ColorMasks(red: 0xF800, green: 0x07E0, blue: 0x1F).bgraTable(isBigEndian: true)
        #expect(swapped[0x00F8] == 0xFFFF_0000)
    }

    @Test func cursorIsBlendedAndCut() throws {
        let half: UInt32 = 0x8080_0000
        let cursor = try #require(
            CursorImage(
                width: 2, height: 2, hotspotX: 1, hotspotY: 1, pixels: [half, 0xFF00_FF00, 0, 0xFF00_00FF]))
        let pool = VideoFramePool()
        for (pixelFormat, order) in [(PixelFormat.bgra, [2, 1, 0]), (.rgba, [0, 1, 2]), (.argb, [1, 2, 3])] {
            let format = VideoFormat(pixelFormat, width: 3, height: 2, strides: [16])
            for (x, y) in [(1, 1), (0, 0), (3, 2), (-50, 1), (32_000, -32_000)] {
                var picture = try pool.makeFrame(format)
                picture.withUnsafeMutablePlane(0) { bytes in
                    bytes.initializeMemory(as: UInt8.self, repeating: 100)
                    cursor.draw(into: bytes, format, x: x, y: y)
                }
                func color(_ column: Int, _ row: Int) -> [UInt8] {
                    picture.withUnsafeMutablePlane(0) { bytes in order.map { bytes[row * 16 + 4 * column + $0] } }
                }
                let base: [UInt8] = [100, 100, 100]
                let expected: [(Int, Int, [UInt8])] =
                    switch (x, y) {
                    case (1, 1):
                        [
                            (0, 0, [178, 50, 50]), (1, 0, [0, 255, 0]), (0, 1, base), (1, 1, [0, 0, 255]), (2, 1, base),
                        ]
                    case (0, 0): [(0, 0, [0, 0, 255]), (1, 0, base), (0, 1, base)]
                    case (3, 2): [(2, 1, [178, 50, 50]), (1, 1, base), (2, 0, base)]
                    default: [(0, 0, base), (2, 1, base)]
                    }
                for (column, row, value) in expected {
                    #expect(color(column, row) == value, "\(pixelFormat) \(x),\(y) at \(column),\(row)")
                }
            }
        }
        #expect(CursorImage(width: 2, height: 2, hotspotX: 0, hotspotY: 0, pixels: [0, 0, 0]) == nil)
        #expect(CursorImage(width: 60_000, height: 60_000, hotspotX: 0, hotspotY: 0, pixels: []) == nil)
    }

    @Test func errorsTellWhatToDo() {
        #expect(ScreenError.noDisplay(isWaylandSession: false).description.contains("DISPLAY is not set: run inside"))
        #expect(ScreenError.noDisplay(isWaylandSession: true).description.contains("Wayland"))
        #expect(ScreenError.windowAmbiguous("a", ids: [0x20, 0x30]).description.contains("0x20, 0x30"))
        #expect(ScreenError.monitorNotFound("X", available: ["A", "B"]).description.hasSuffix("there are: A, B"))
        let many = (0..<20).map { "w\($0)" }
        #expect(ScreenError.windowNotFound("X", titles: many).description.hasSuffix("w11, …"))
    }
}
