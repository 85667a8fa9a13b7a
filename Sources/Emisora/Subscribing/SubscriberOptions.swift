import EmisoraCore

extension Subscriber {
    /// When pictures and sound reach the sinks.
    public enum Playout: String, Hashable, Sendable {
        /// Pictures come in the rhythm in which they were captured, in step with sound: a sink that shows each at once
        /// shows even movement. The delay for that is as small as the network allows, and nothing on a good one.
        case synchronized
        /// Each picture comes as soon as it is decoded. For recorders, computer vision, and renderers that place
        /// pictures in time themselves by their timestamps.
        case immediate
    }

    /// How a stream is received.
    ///
    /// ```swift
    /// var options = Subscriber.Options()
    /// options.playout = .immediate
    /// let subscriber = Subscriber(videoSink: detector, options: options)
    /// ```
    public struct Options: Hashable, Sendable {
        public var playout: Playout = .synchronized
        /// The delay of pictures that is wanted at the least, 0…2 s (W3C `jitterBufferTarget`): more makes playing
        /// smoother on a bad network. Counted from when the fastest pictures are complete.
        public var jitterBufferTarget: Duration = .zero
        /// What the network's jitter may add to the delay of pictures at the most, 0…2 s. What comes later is shown late.
        public var maximumJitterDelay: Duration = .milliseconds(250)

        /// Of the frames that the audio sink gets: 1, or 2, which asks the publisher for stereo (RFC 7587 §6.1 `stereo`).
        public var audioChannels: Int

        /// Whether the connection has data channels. Those that are made with ``Subscriber/makeDataChannel(label:options:)``
        /// before the subscription bring them anyway.
        public var usesDataChannels = false

        /// Whether frames are decoded. Where not they are received and let go of: a peer that costs little, for measuring
        /// what serving it costs.
        package var decodes = true

        /// - Parameter audioChannels: other values are taken for the nearest of 1 and 2.
        public init(audioChannels: Int = 1) {
            self.audioChannels = min(2, max(1, audioChannels))
        }
    }
}
