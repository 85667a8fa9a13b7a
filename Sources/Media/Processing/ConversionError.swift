/// Why a picture could not be converted.
public enum ConversionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The size to scale to is out of range.
    case unsupportedSize(width: Int, height: Int)
    /// libyuv refused.
    case failed(operation: String)

    public var description: String {
        switch self {
        case .unsupportedSize(let width, let height): "A picture cannot be scaled to \(width)×\(height)."
        case .failed(let operation): "libyuv could not do the conversion \(operation)."
        }
    }
}
