import EmisoraTestSupport
import Glibc
import Testing

/// An X server without hardware, of the test's own: on a display that was free, ended with this object.
final class XServer {
    let display: String
    let process: Child

    /// - Parameters:
    ///   - screen: Such as `640x480x24`, the last number being the depth.
    ///   - arguments: Further ones for Xvfb.
    init(screen: String = "640x480x24", _ arguments: [String] = ["-nolisten", "tcp"]) throws {
        process = try Child(
            "/usr/bin/Xvfb", ["-displayfd", "1", "-screen", "0", screen, "-noreset"] + arguments)
        // The server writes the number when it is ready.
        let number = String(decoding: process.read(), as: UTF8.self)
        display = ":" + number
        try #require(Int(number) != nil, "Xvfb did not start")
    }
}

/// The X server's own picture of the screen or a window, as `xwd` writes it: three bytes a pixel, red first.
func xwd(_ arguments: [String], display: String) throws -> Picture {
    let process = try Child("/usr/bin/xwd", ["-silent", "-display", display] + arguments)
    let data = process.read(wholly: true)
    process.wait()
    // The header is a row of big-endian words: its size, version, format, depth, width, height, …
    func word(_ index: Int) -> Int { data[4 * index..<4 * index + 4].reduce(0) { $0 << 8 | Int($1) } }
    try #require(data.count > 100, "xwd gave no picture")
    try #require(word(1) == 7 && word(11) == 32, "not a picture of xwd's with 32 bits a pixel")
    let (width, height, stride) = (word(4), word(5), word(12))
    let start = word(0) + 12 * word(19)
    try #require(data.count >= start + stride * height)
    let isBigEndian = word(7) == 1
    let pixels = data.withUnsafeBytes { bytes in
        (0..<width * height).map { index in
            let offset = start + index / width * stride + 4 * (index % width)
            let pixel = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            return (isBigEndian ? pixel.bigEndian : pixel.littleEndian) & 0xFFFFFF
        }
    }
    return Picture(width: width, height: height, pixels: pixels)
}
