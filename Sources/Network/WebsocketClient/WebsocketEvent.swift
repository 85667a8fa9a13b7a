/// What a `WebsocketClient` reports, in order, on its own thread.
package enum WebsocketEvent: Equatable, Sendable {
    /// The connection is open, and the greeting, if there is one, is on its way.
    case opened
    /// A whole text message, valid UTF-8.
    case message([UInt8])
    /// An attempt failed: nobody listens, the name is unknown, the time-out passed, or the server refused. The next one
    /// follows by itself, unless the `ReconnectDelay` has no more.
    case connectFailed(String)
    /// An open connection ended: the server went away or did not answer pings. The next attempt follows as after
    /// `connectFailed`.
    case lost
    /// `close()` was called; the last event.
    case closed
}
