/// How a session takes part in a room of Janus's VideoRoom plugin.
///
/// ```swift
/// var options = Session.Options()
/// options.janus.pin = "1234"
/// let session = try await Session.connect(to: "janus://janus.example.org/5678", options: options)
/// try await session.publish(Publisher(videoCapture: NoiseCapture()))
/// ```
///
/// `Session.Options.token` is what a Janus with `token_auth` asks for.
public struct JanusOptions: Equatable, Sendable {
    /// The room's PIN; `nil`: it has none.
    public var pin: String?
    /// The name that other participants see; `nil`: the stream's.
    public var display: String?
    /// What a room with a list of allowed participants asks for.
    public var roomToken: String?
    /// The id of this publisher's feed, which nobody else may have in the room; `nil`: Janus makes one.
    public var publisherID: String?
    /// The `api_secret` of Janus's configuration.
    public var apiSecret: String?

    public init(
        pin: String? = nil, display: String? = nil, roomToken: String? = nil, publisherID: String? = nil,
        apiSecret: String? = nil
    ) {
        self.pin = pin
        self.display = display
        self.roomToken = roomToken
        self.publisherID = publisherID
        self.apiSecret = apiSecret
    }
}
