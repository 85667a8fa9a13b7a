import EmisoraSignalingProtocol
import EmisoraVideo

/// A stream of the room, with what its publisher says of it.
public struct RoomStream: Equatable, Sendable {
    /// Unique in the room; what ``Session/subscribe(_:to:offerer:)`` takes.
    public let name: String
    public let publisher: Session.Connection
    /// Pictures are sent: there are some, and they are not muted. `true` where the publisher does not say.
    public let hasVideo: Bool
    /// Sound is sent: there is some, and it is not muted. `true` where the publisher does not say.
    public let hasAudio: Bool
    /// Of the pictures before they are turned, in pixels; `nil`: it is not known.
    public let videoSize: VideoSize?
    /// How far pictures must be turned to stand upright.
    public let rotation: VideoRotation
    /// Names of the codecs that the publisher sends, as in SDP; empty: it does not say.
    public let codecs: [String]

    init(_ description: StreamDescription) {
        let properties = description.properties
        name = description.stream
        publisher = Session.Connection(id: description.publisher, data: description.data)
        hasVideo = properties?.hasVideo ?? true
        hasAudio = properties?.hasAudio ?? true
        if let width = properties?.width, let height = properties?.height {
            videoSize = VideoSize(width: width, height: height)
        } else {
            videoSize = nil
        }
        rotation = properties.flatMap { VideoRotation(rawValue: $0.rotation) } ?? .none
        codecs = properties?.codecs ?? []
    }
}
