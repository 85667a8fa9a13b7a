import EmisoraVideo

/// Writes pictures to a Y4M file that players and encoders read.
///
/// ```swift
/// var writer = try Y4MWriter(path: "clip.y4m", size: frame.size, frameRate: 30)
/// try writer.append(frame)
/// ```
///
/// The file is closed when the writer goes.
public struct Y4MWriter: ~Copyable, Sendable {
    public let path: String
    public let size: VideoSize
    private let file: FileHandle

    /// Creates the file, or empties it.
    public init(
        path: String, size: VideoSize, frameRate: FrameRate, colorRange: ColorRange = .limited
    ) throws(CaptureError) {
        do throws(VideoFrameError) {
            try VideoFormat(.i420, size: size).validate()
        } catch {
            throw .videoFormat(error)
        }
        let file = try FileHandle(writing: path)
        let rate = "\(frameRate.numerator):\(frameRate.denominator)"
        let range = colorRange == .full ? "FULL" : "LIMITED"
        let line = "\(Y4MHeader.magic) W\(size.width) H\(size.height) F\(rate) Ip A1:1 C420jpeg XCOLORRANGE=\(range)\n"
        if let code = file.write(Array(line.utf8)) { throw .file(path: path, code: code) }
        self.path = path
        self.size = size
        self.file = file
    }

    /// Appends a picture in I420, NV12 or NV21, of the file's size.
    ///
    /// - Throws: ``CaptureError/invalidOption(_:)`` for another format or size,
    ///   ``CaptureError/file(path:code:)`` if the file cannot be written.
    public mutating func append(_ frame: VideoFrame) throws(CaptureError) {
        guard frame.size == size else {
            throw .invalidOption("\(path) has pictures of \(size), this one is \(frame.size)")
        }
        var picture = Array("FRAME\n".utf8)
        picture.reserveCapacity(picture.count + VideoFormat(.i420, size: size).byteCount)
        Self.append(frame, plane: 0, first: 0, step: 1, to: &picture)
        switch frame.format.pixelFormat {
        case .i420:
            Self.append(frame, plane: 1, first: 0, step: 1, to: &picture)
            Self.append(frame, plane: 2, first: 0, step: 1, to: &picture)
        case .nv12:
            Self.append(frame, plane: 1, first: 0, step: 2, to: &picture)
            Self.append(frame, plane: 1, first: 1, step: 2, to: &picture)
        case .nv21:
            Self.append(frame, plane: 1, first: 1, step: 2, to: &picture)
            Self.append(frame, plane: 1, first: 0, step: 2, to: &picture)
        case .yuy2, .uyvy, .argb, .bgra, .rgba, .rgb24:
            throw .invalidOption("pixel format \(frame.format.pixelFormat): Y4M takes i420, nv12 or nv21")
        }
        if let code = file.write(picture) { throw .file(path: path, code: code) }
    }

    private static func append(_ frame: VideoFrame, plane: Int, first: Int, step: Int, to bytes: inout [UInt8]) {
        let layout = frame.format.layout(ofPlane: plane)
        frame.withUnsafePlanes { planes in
            for row in 0..<layout.rows {
                let line = planes[plane][row * layout.stride..<row * layout.stride + layout.rowBytes]
                if step == 1 {
                    bytes.append(contentsOf: line)
                } else {
                    for index in stride(from: line.startIndex + first, to: line.endIndex, by: step) {
                        bytes.append(line[index])
                    }
                }
            }
        }
    }
}
