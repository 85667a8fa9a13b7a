import EmisoraVideo
import Glibc

/// Writes I420 pictures into a YUV4MPEG2 file. Owns the open file; one thread at a time.
public final class Y4MWriter {
    private let file: UnsafeMutablePointer<FILE>
    private var format: VideoFormat?
    private let rate: FrameRate

    public init(path: String, frameRate: FrameRate = .fps30) throws(CaptureError) {
        guard let file = fopen(path, "wbe") else {
            throw .cannotOpen("\(path) cannot be written: \(String(cString: strerror(errno))).")
        }
        self.file = file
        rate = frameRate
    }

    deinit {
        fclose(file)
    }

    /// Appends a picture; `false` where it is not I420, differs in size from the first, or the disk is full.
    public func write(_ frame: VideoFrame) -> Bool {
        guard frame.format.pixelFormat == .i420 else { return false }
        if format == nil {
            format = frame.format
            let header =
                "YUV4MPEG2 W\(frame.width) H\(frame.height) F\(rate.numerator):\(rate.denominator) Ip A1:1 C420jpeg"
                + (frame.format.colorRange == .full ? " XCOLORRANGE=FULL" : "") + "\n"
            guard fputs(header, file) >= 0 else { return false }
        }
        guard frame.width == format?.width, frame.height == format?.height, fputs("FRAME\n", file) >= 0 else {
            return false
        }
        return frame.withUnsafePlanes { planes in
            planes.indices.allSatisfy { plane in
                let rowByteCount = frame.format.rowByteCount(plane: plane)
                return (0..<frame.format.rowCount(plane: plane)).allSatisfy { row in
                    let start = planes[plane].baseAddress.map { $0 + row * frame.format.strides[plane] }
                    return fwrite(start, 1, rowByteCount, file) == rowByteCount
                }
            }
        }
    }
}
