import EmisoraSignalingProtocol

/// What participants of a room say to each other and know of each other.
extension Session {
    /// Ourselves, as others in the room know us.
    public var connection: Connection { core.connection }

    /// The streams that are live in the room, ours included, with what their publishers say of them.
    public var roomStreams: [RoomStream] { core.roomStreams.map(RoomStream.init) }

    /// Says something to everybody in the room, ourselves too, or to one alone; they get
    /// ``SessionEvent/signalReceived(_:)``.
    ///
    /// ```swift
    /// try await session.signal(type: "chat", data: "Hello")
    /// for await case .signalReceived(let signal) in session.events where signal.type == "chat" {
    ///     print("\(signal.sender): \(signal.data)")
    /// }
    /// ```
    ///
    /// Each receiver gets one sender's signals in the order of these calls; while the connection to the server holds none
    /// is lost. 250 go at once, 50 a second in the long run; more wait, as they do while the server is away. What was
    /// under way when the connection broke may be lost.
    ///
    /// - Parameters:
    ///   - type: what kind of signal it is: at most 128 of `A-Z a-z 0-9 _ - ~`, or none.
    ///   - data: at most 8 KiB of UTF-8.
    ///   - recipient: a participant, known from ``RoomStream/publisher``, from a signal of its own, or from
    ///     ``SessionEvent/connectionCreated(_:)``; `nil`: everybody.
    /// - Throws: ``SessionError/invalidSignal(_:)`` for what is beyond these bounds, ``SessionError/tooManySignals(_:)``
    ///   where 1000 wait already. What the server refuses afterwards, as when the recipient has left, is told by
    ///   ``SessionEvent/requestRefused(request:code:message:)``.
    public func signal(
        type: String = "", data: String, to recipient: Connection? = nil
    ) throws(SessionError) {
        try core.signal(SignalContent(type: type, data: data), to: recipient?.id)
    }

    /// As a moderator, mutes a stream of somebody else's, or all but our own. Their publishers get
    /// ``SessionEvent/muteForced(stream:video:audio:by:reason:)``, and
    /// ``SessionEvent/streamPropertyChanged(_:from:)`` tells everybody when it is done. They may go on later.
    ///
    /// Media goes from peer to peer: a program that does not heed it can only be put out (``forceDisconnect(_:reason:)``).
    ///
    /// - Parameters:
    ///   - stream: `nil`: all of them.
    ///   - reason: for the person there, at most 256 bytes.
    public func forceMute(
        stream: String? = nil, video: Bool = false, audio: Bool = true, reason: String? = nil
    ) throws(SessionError) {
        try core.request(
            .forceMute(ForcedMute(stream: stream, media: MediaSelection(video: video, audio: audio), reason: reason)),
            reason: reason)
    }

    /// As a moderator, puts a participant out of the room: its session ends with
    /// ``SessionEvent/forceDisconnected(by:reason:)``. It may come back as long as its token is valid.
    ///
    /// - Parameter reason: for the person there, at most 256 bytes.
    public func forceDisconnect(_ participant: Connection, reason: String? = nil) throws(SessionError) {
        try core.request(
            .forceDisconnect(ForcedDisconnect(id: participant.id, reason: reason)), reason: reason)
    }
}
