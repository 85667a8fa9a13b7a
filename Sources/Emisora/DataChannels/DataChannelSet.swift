import EmisoraSCTP
import Synchronization

/// The data channels of a subscriber or a publisher, from before there is a connection.
final class DataChannelSet: Sendable {
    /// Channels of peers that nobody has asked for yet; the oldest are closed where nobody does.
    private static let incomingLimit = 64

    private struct State {
        var waiting: [DataChannel] = []
        var link: DataChannelLink?
    }

    private let state = Mutex(State())
    let incoming: AsyncStream<DataChannel>
    private let continuation: AsyncStream<DataChannel>.Continuation

    init() {
        (incoming, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.incomingLimit))
    }

    deinit { continuation.finish() }

    /// Whether channels were made that a connection has to bring.
    var isWanted: Bool { state.withLock { !$0.waiting.isEmpty } }

    func make(label: String, options: DataChannel.Options) throws(DataChannel.Failure) -> DataChannel {
        let limit = DataChannelParameters.maximumTextByteCount
        guard label.utf8.count <= limit, options.subprotocol.utf8.count <= limit else {
            throw .textTooLong(limit: limit)
        }
        let channel = DataChannel(label: label, options: options)
        let link = try state.withLock { state throws(DataChannel.Failure) in
            if let link = state.link { return link as DataChannelLink? }
            guard state.waiting.count < DataChannels.maximumChannels else {
                throw .tooManyChannels(limit: DataChannels.maximumChannels)
            }
            state.waiting.append(channel)
            return nil
        }
        link?.open(channel)
        return channel
    }

    func accept(_ channel: DataChannel) {
        switch continuation.yield(channel) {
        // Nobody will ever read its messages.
        case .dropped(let unseen): unseen.close()
        case .terminated: channel.close()
        case .enqueued: break
        @unknown default: break
        }
    }

    /// The connection is there; to be called on the loop's thread.
    func attach(_ link: DataChannelLink) {
        let waiting = state.withLock { state in
            state.link = link
            defer { state.waiting = [] }
            return state.waiting
        }
        for channel in waiting { link.openNow(channel) }
    }
}
