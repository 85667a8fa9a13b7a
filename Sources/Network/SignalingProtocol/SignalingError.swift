/// A request that the server refused; nobody else in the room is affected.
package struct SignalingError: Error, Equatable, Sendable {
    package var code: Code
    /// A sentence for a person: what is wrong and what to do.
    package var message: String
    /// The `type` of the refused message, if it could be read.
    package var inReplyTo: String?
    /// The subscription the refused message named.
    package var subscription: String?
    /// The stream that the refused message named.
    package var stream: String?

    package init(
        _ code: Code, _ message: String, inReplyTo: String? = nil, subscription: String? = nil, stream: String? = nil
    ) {
        self.code = code
        self.message = message
        self.inReplyTo = inReplyTo
        self.subscription = subscription
        self.stream = stream
    }

    package struct Code: RawRepresentable, Hashable, Codable, Sendable {
        package var rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// Not JSON, not an object, or a field is missing or of the wrong type.
        package static let malformedMessage = Self(rawValue: "malformedMessage")
        package static let unknownType = Self(rawValue: "unknownType")
        /// More than `SignalingProtocol.maximumMessageSize` bytes.
        package static let messageTooLarge = Self(rawValue: "messageTooLarge")
        /// Joining needs a token, or another one than came.
        package static let unauthorized = Self(rawValue: "unauthorized")
        package static let unsupportedVersion = Self(rawValue: "unsupportedVersion")
        package static let notJoined = Self(rawValue: "notJoined")
        package static let alreadyJoined = Self(rawValue: "alreadyJoined")
        /// A room, stream or subscription name outside the allowed alphabet and length.
        package static let invalidName = Self(rawValue: "invalidName")
        /// A name that the HTTP side of the server uses itself.
        package static let reservedName = Self(rawValue: "reservedName")
        package static let roomNotFound = Self(rawValue: "roomNotFound")
        package static let streamNotFound = Self(rawValue: "streamNotFound")
        /// A stream of this name is live already.
        package static let streamTaken = Self(rawValue: "streamTaken")
        package static let subscriptionNotFound = Self(rawValue: "subscriptionNotFound")
        package static let subscriptionTaken = Self(rawValue: "subscriptionTaken")
        /// What the token does not allow, a message that this side of a subscription may not send, or that only the
        /// server sends.
        package static let notAllowed = Self(rawValue: "notAllowed")
        /// One of the server's limits (rooms, participants, streams, subscriptions) is reached.
        package static let limitReached = Self(rawValue: "limitReached")
        /// The room has as many participants as the server, or the token, lets in.
        package static let roomFull = Self(rawValue: "roomFull")
        /// A signal's type or data is beyond its bounds.
        package static let invalidSignal = Self(rawValue: "invalidSignal")
        /// Nobody with this id is in the room.
        package static let participantNotFound = Self(rawValue: "participantNotFound")
        /// The session goes on over another connection, by which somebody with its secret resumed it.
        package static let takenOver = Self(rawValue: "takenOver")
        /// A server was not reached; clients say so to themselves.
        package static let unreachable = Self(rawValue: "unreachable")
        /// Messages come faster than the server takes them from one client.
        package static let tooManyMessages = Self(rawValue: "tooManyMessages")
    }
}
