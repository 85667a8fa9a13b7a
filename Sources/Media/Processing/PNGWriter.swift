import EmisoraCore
import EmisoraVideo

/// Writes a picture as PNG (RFC 2083), without compression: for looking at single frames, without a further library.
public enum PNGWriter {
    /// The file's bytes, with the picture turned upright: PNG has no orientation.
    public static func encode(_ frame: VideoFrame, with converter: VideoConverter) throws(ConversionError) -> [UInt8] {
        let picture = try converter.rgb24(converter.upright(frame))
        let layout = picture.format.layout(ofPlane: 0)
        var rows: [UInt8] = []
        rows.reserveCapacity((layout.rowBytes + 1) * layout.rows)
        picture.withUnsafePlanes { planes in
            for row in 0..<layout.rows {
                // Filter type 0: the samples as they are.
                rows.append(0)
                let start = row * layout.stride
                rows.append(contentsOf: planes[0][start..<start + layout.rowBytes])
            }
        }
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let header = bigEndian(UInt32(picture.width)) + bigEndian(UInt32(picture.height)) + [8, 2, 0, 0, 0]
        append("IHDR", header, to: &file)
        append("IDAT", zlibStored(rows), to: &file)
        append("IEND", [], to: &file)
        return file
    }

    private static func append(_ type: String, _ data: [UInt8], to file: inout [UInt8]) {
        file += bigEndian(UInt32(data.count))
        let body = Array(type.utf8) + data
        file += body
        file += bigEndian(CRC32.checksum(body.span.bytes))
    }

    /// zlib's frame (RFC 1950) around blocks that are stored as they are (RFC 1951 §3.2.4).
    private static func zlibStored(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x78, 0x01]
        var offset = 0
        repeat {
            let count = min(65_535, bytes.count - offset)
            let length = UInt16(count)
            result.append(offset + count == bytes.count ? 1 : 0)
            result += [UInt8(truncatingIfNeeded: length), UInt8(length >> 8)]
            result += [UInt8(truncatingIfNeeded: ~length), UInt8(~length >> 8)]
            result += bytes[offset..<offset + count]
            offset += count
        } while offset < bytes.count
        return result + bigEndian(adler32(bytes))
    }

    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var low: UInt32 = 1
        var high: UInt32 = 0
        // 5552 bytes are the most that cannot overflow 32 bits before the remainder is taken.
        for start in stride(from: 0, to: bytes.count, by: 5_552) {
            for byte in bytes[start..<min(start + 5_552, bytes.count)] {
                low &+= UInt32(byte)
                high &+= low
            }
            low %= 65_521
            high %= 65_521
        }
        return high << 16 | low
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }
}
