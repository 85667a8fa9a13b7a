import Glibc

/// Why a film or picture file cannot be played. Its text names the file and what to do.
public enum MediaFileError: Error, Hashable, Sendable {
    /// The file could not be opened. `code` is the system's `errno`.
    case cannotOpen(path: String, code: Int32)
    /// A directory, a pipe or a device.
    case notARegularFile(path: String)
    /// The content is no film, or of a kind that is not opened, such as a playlist. `kind` is FFmpeg's name for it.
    case unsupportedFormat(path: String, kind: String?)
    /// A still picture where a film is wanted, see ``ImageCapture``.
    case stillPicture(path: String)
    /// A film or sound where a still picture is wanted, see ``MediaFile``.
    case notAStillPicture(path: String, kind: String)
    /// There are neither pictures nor sound in it.
    case nothingToPlay(path: String)
    /// No decoder is there for the only streams in it.
    case unsupportedCodec(path: String, codec: String)
    /// Pictures have more pixels than ``MediaFile/largestPictureArea``, or a side longer than can be carried.
    case pictureTooLarge(path: String, width: Int, height: Int)
    /// The file does not tell the size of its pictures, or a decoder refused it as larger than
    /// ``MediaFile/largestPictureArea``: FFmpeg forgets it then.
    case unknownPictureSize(path: String)
    /// Nothing could be decoded any more. `detail` is FFmpeg's message or what was missing.
    case damaged(path: String, detail: String)
    /// The system gave no memory.
    case outOfMemory(path: String)
}

extension MediaFileError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .cannotOpen(let path, let code):
            "\(path) cannot be opened: \(String(cString: strerror(code)))."
        case .notARegularFile(let path):
            "\(path) is not a regular file: only those can be played."
        case .unsupportedFormat(let path, let kind?):
            "\(path) is of the kind \(kind), which is not opened: convert it to WebM or MP4 first."
        case .unsupportedFormat(let path, nil):
            "\(path) is no film, sound or picture that can be recognised: is it the right file, and whole?"
        case .stillPicture(let path):
            "\(path) is a still picture: play it with ImageCapture (on the command line image:\(path))."
        case .notAStillPicture(let path, let kind):
            "\(path) is of the kind \(kind), no still picture: play it with MediaFile (on the command line file:\(path))."
        case .nothingToPlay(let path):
            "\(path) contains neither pictures nor sound."
        case .unsupportedCodec(let path, let codec):
            "\(path) is coded as \(codec), which the installed FFmpeg cannot decode: convert it to VP8, VP9 or H.264."
        case .pictureTooLarge(let path, let width, let height):
            "\(path) has pictures of \(width)x\(height) pixels; at most \(MediaFile.largestPictureArea) pixels are "
                + "decoded: scale it down first, such as with ffmpeg -i IN -vf scale=1920:-2 OUT."
        case .unknownPictureSize(let path):
            "\(path) has pictures of no known size, or of more than \(MediaFile.largestPictureArea) pixels: fetch or make "
                + "it again if it is damaged, scale it down if it is large."
        case .damaged(let path, let detail):
            "\(path) is damaged (\(detail)): fetch or make it again, or repair it with ffmpeg -i IN -c copy OUT."
        case .outOfMemory(let path):
            "\(path) cannot be played: the system has no memory left."
        }
    }
}
