/// Why a picture could not be converted.
public enum ConversionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The size to scale to is out of range.
    case unsupportedSize(width: Int, height: Int)
    /// All pictures that the converter may have out at a time are still held by someone.
    case picturesExhausted(limit: Int)
    /// libyuv refused.
    case failed(operation: String)

    public var description: String {
        switch self {
        case .unsupportedSize(let width, let height): "A picture cannot be scaled to \(width)×\(height)."
        case .picturesExhausted(let limit): "All \(limit) converted pictures are still in use: let go of them sooner."
        case .failed(let operation): "libyuv could not do the conversion \(operation)."
        }
    }
}
