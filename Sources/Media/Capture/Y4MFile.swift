import EmisoraVideo

/// An open Y4M file whose every picture is known to be there; pictures are read one at a time, in any order.
final class Y4MFile: Sendable {
    let header: Y4MHeader
    let path: String
    /// Where each picture's samples begin.
    private let offsets: [Int]
    private let descriptor: FileHandle

    /// The longest `FRAME` line that is accepted, with its end.
    private static let longestFrameLine = 128

    var frameCount: Int { offsets.count }

    /// Opens and walks through the file: one small read for each picture.
    init(path: String) throws(CaptureError) {
        self.path = path
        descriptor = try FileHandle(reading: path)
        do throws(Y4MError) {
            header = try Y4MHeader(descriptor.bytes(at: 0, upTo: Y4MHeader.longestLine))
            offsets = try Self.index(descriptor, header)
        } catch {
            throw .malformedFile(path: path, error)
        }
    }

    /// Reads a picture into a frame of the header's format.
    func read(_ index: Int, into picture: inout MutableVideoFrame) throws(CaptureError) {
        var offset = offsets[index]
        for plane in 0..<picture.format.planeCount {
            if plane > 0, header.isMono {
                picture.withUnsafeMutablePlane(plane) { _ = $0.initializeMemory(as: UInt8.self, repeating: 128) }
                continue
            }
            let read = picture.withUnsafeMutablePlane(plane) { descriptor.read(into: $0, at: offset) }
            let needed = picture.format.layout(ofPlane: plane).byteCount
            guard read == needed else {
                throw .malformedFile(
                    path: path, Y4MError(offset: offset, problem: .truncated(needed: needed, available: read)))
            }
            offset += needed
        }
    }

    private static func index(_ file: FileHandle, _ header: Y4MHeader) throws(Y4MError) -> [Int] {
        let pictureSize = header.isMono ? header.format.layout(ofPlane: 0).byteCount : header.format.byteCount
        let frameTag = Array("FRAME".utf8)
        var offsets: [Int] = []
        var position = header.byteCount
        while position < file.size {
            let line = file.bytes(at: position, upTo: longestFrameLine)
            guard line.starts(with: frameTag.prefix(line.count)) else {
                throw Y4MError(offset: position, problem: .missingFrameHeader)
            }
            guard let end = line.firstIndex(of: UInt8(ascii: "\n")) else {
                throw Y4MError(
                    offset: position + line.count,
                    problem: line.count >= longestFrameLine
                        ? .headerTooLong(limit: longestFrameLine)
                        : .truncated(needed: 1, available: 0))
            }
            guard end == frameTag.count || line[frameTag.count] == UInt8(ascii: " ") else {
                throw Y4MError(offset: position, problem: .missingFrameHeader)
            }
            position += end + 1
            let available = file.size - position
            guard available >= pictureSize else {
                throw Y4MError(offset: position, problem: .truncated(needed: pictureSize, available: max(0, available)))
            }
            offsets.append(position)
            position += pictureSize
        }
        guard !offsets.isEmpty else { throw Y4MError(offset: position, problem: .noFrames) }
        return offsets
    }
}
