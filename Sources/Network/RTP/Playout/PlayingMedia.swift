import EmisoraCore

/// What bears this timestamp is seen or heard at this instant.
package struct PlayingMedia: Equatable, Sendable {
    package var timestamp: UInt32
    package var at: Instant

    package init(timestamp: UInt32, at: Instant) {
        self.timestamp = timestamp
        self.at = at
    }
}
