import Glibc

/// Tight I420 pictures, all in memory before the clock starts.
struct Frames {
    let width: Int
    let height: Int
    let pictures: [[UInt8]]

    /// A slanting gradient that moves, with a fine texture: some work for the motion search, some for the bits.
    static func generated(width: Int, height: Int, count: Int) -> Frames {
        let chromaWidth = (width + 1) / 2
        let chromaHeight = (height + 1) / 2
        var state: UInt32 = 1
        let texture = (0..<4_096).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(truncatingIfNeeded: state >> 28)
        }
        let pictures = (0..<count).map { index in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(width * height + 2 * chromaWidth * chromaHeight)
            for y in 0..<height {
                for x in 0..<width {
                    let base = UInt8(truncatingIfNeeded: 40 + (x + 2 * index + y / 2) / 4 % 160)
                    bytes.append(base &+ texture[(x + 2 * index + y * 61) & 4_095])
                }
            }
            for plane in 0..<2 {
                for y in 0..<chromaHeight {
                    for x in 0..<chromaWidth {
                        bytes.append(UInt8(truncatingIfNeeded: 96 + (x + index + plane * y) / 4 % 64))
                    }
                }
            }
            return bytes
        }
        return Frames(width: width, height: height, pictures: pictures)
    }

    /// The first pictures of an 8-bit 4:2:0 YUV4MPEG2 file; `nil` where it is none.
    static func read(path: String, count: Int) -> Frames? {
        guard let file = fopen(path, "rbe") else { return nil }
        defer { fclose(file) }
        guard let header = readLine(file), header.hasPrefix("YUV4MPEG2 ") else { return nil }
        var width = 0
        var height = 0
        for word in header.split(separator: " ") {
            switch word.first {
            case "W": width = Int(word.dropFirst()) ?? 0
            case "H": height = Int(word.dropFirst()) ?? 0
            case "C": guard ["C420", "C420jpeg", "C420mpeg2", "C420paldv"].contains(word) else { return nil }
            default: break
            }
        }
        guard (16...8_192).contains(width), (16...8_192).contains(height) else { return nil }
        let byteCount = width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
        var pictures: [[UInt8]] = []
        while pictures.count < count, let line = readLine(file), line.hasPrefix("FRAME") {
            var picture = [UInt8](repeating: 0, count: byteCount)
            guard fread(&picture, 1, byteCount, file) == byteCount else { break }
            pictures.append(picture)
        }
        return pictures.isEmpty ? nil : Frames(width: width, height: height, pictures: pictures)
    }

    private static func readLine(_ file: UnsafeMutablePointer<FILE>) -> String? {
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF, bytes.count < 1_024 {
            if byte == 10 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(UInt8(truncatingIfNeeded: byte))
        }
        return nil
    }
}
