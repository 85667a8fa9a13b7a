import EmisoraSCTP

extension DataChannel {
    /// Why a call on a data channel failed.
    public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// It is not open yet, or no more.
        case notOpen(ReadyState)
        case messageTooLarge(byteCount: Int, limit: Int)
        /// So many bytes wait to be sent already.
        case bufferFull(limit: Int)
        case tooManyChannels(limit: Int)
        /// Label or subprotocol, in bytes of UTF-8.
        case textTooLong(limit: Int)
        /// The connection ended before the channel was open, or has no data channels; the reason is for a person.
        case closed(reason: String)
        /// The task that waited was cancelled.
        case cancelled

        public var description: String {
            switch self {
            case .notOpen(let state):
                "The data channel is \(state.rawValue). Wait for opened(); make another channel after it was closed."
            case .messageTooLarge(let byteCount, let limit):
                DataChannelError.messageTooLarge(byteCount: byteCount, limit: limit).description
            case .bufferFull(let limit): DataChannelError.bufferFull(limit: limit).description
            case .tooManyChannels(let limit): DataChannelError.tooManyChannels(limit: limit).description
            case .textTooLong(let limit): DataChannelError.textTooLong(limit: limit).description
            case .closed(let reason): "The data channel is closed. \(reason)"
            case .cancelled: "Waiting for the data channel was cancelled."
            }
        }
    }
}
