/// Why a codec refused.
public enum CodecError: Error, Hashable, Sendable, CustomStringConvertible {
    case invalidConfiguration(String)
    /// The encoder takes I420 and NV12 as they are; other formats must be converted first.
    case unsupportedPixelFormat(String)
    /// The stream claims a size above the cap; it was not decoded.
    case pictureTooLarge(width: Int, height: Int)
    /// The bytes are damaged or belong to no stream that was begun.
    case corrupted(String)
    /// All pictures that the decoder may have out at a time are still held by someone; this one was left out.
    case picturesExhausted(limit: Int)
    /// The frame was decoded, but only serves as a reference for later ones (RFC 6386 §9.1, `show_frame` 0). Nothing is
    /// wrong: no key frame needs to be asked for.
    case hiddenPicture
    /// The codec library failed in its own words.
    case library(String)

    public var description: String {
        switch self {
        case .invalidConfiguration(let text): "The codec cannot be set up: \(text)"
        case .unsupportedPixelFormat(let name): "VP8 takes I420 and NV12; a picture in \(name) must be converted first."
        case .pictureTooLarge(let width, let height): "The stream claims \(width)×\(height) pixels, above the limit."
        case .corrupted(let text): "The stream is damaged: \(text)"
        case .picturesExhausted(let limit): "All \(limit) decoded pictures are still in use: let go of them sooner."
        case .hiddenPicture: "The frame is a reference for later ones and shows no picture itself."
        case .library(let text): "The codec library failed: \(text)"
        }
    }
}
