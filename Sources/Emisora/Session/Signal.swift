extension Session {
    /// A participant of the room, as others see it.
    public struct Connection: Hashable, Sendable, CustomStringConvertible {
        /// Given by the server; another one after each time the participant joined.
        public let id: String
        /// What the participant's access token says of it (`data`); `nil`: nothing, or it is not told.
        public let data: String?

        public var description: String { id }
    }
}

/// A word of one participant to another, or to all in the room (``Session/signal(type:data:to:)``).
///
/// Both texts are as the sender wrote them: show them as text, never as HTML.
public struct Signal: Equatable, Sendable {
    /// What the application calls this kind of signal: at most 128 of `A-Z a-z 0-9 _ - ~`; empty: nothing.
    public let type: String
    /// At most 8 KiB of UTF-8.
    public let data: String
    /// Who said it: as the server knows the sender, not as it calls itself.
    public let sender: Session.Connection
}
