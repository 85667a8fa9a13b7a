import EmisoraProcessing
import EmisoraVideo
import Glibc

/// Single pictures as files.
public enum PictureFile {
    public struct WriteError: Error, CustomStringConvertible {
        public let description: String
    }

    /// Writes a picture as PNG, in its own colours, turned upright.
    public static func writePNG(_ frame: VideoFrame, to path: String) throws(WriteError) {
        let bytes: [UInt8]
        do throws(ConversionError) {
            bytes = try PNGWriter.encode(frame, with: VideoConverter())
        } catch {
            throw WriteError(description: error.description)
        }
        guard let file = fopen(path, "wbe") else {
            throw WriteError(description: "\(path) cannot be written: \(String(cString: strerror(errno))).")
        }
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count else {
            throw WriteError(description: "\(path) could not be written to its end; is the disk full?")
        }
    }
}
