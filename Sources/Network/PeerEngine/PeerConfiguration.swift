import EmisoraCore
import EmisoraICE
import EmisoraSDP

/// What a peer connection is made for.
package struct PeerConfiguration: Sendable {
    /// Kinds that are offered or accepted; a kind that is not named is refused in answers.
    package struct Media: Sendable, Equatable {
        package var kind: MediaConfiguration.Kind
        package var sends: Bool
        package var receives: Bool
        /// Sound: whether we make two channels of it where we send, and play two where we receive.
        package var isStereo = false
        /// Pictures that we send: bounds for the time from capture to display that receivers are told.
        package var playoutDelay: ClosedRange<Duration>?
        /// Names of the encodings that a peer with simulcast may have, in the order of our offers; empty: none.
        package var encodings: [String] = []
        /// Which of them a peer without simulcast gets.
        package var mainEncoding = 0

        package init(
            _ kind: MediaConfiguration.Kind, sends: Bool, receives: Bool, isStereo: Bool = false,
            playoutDelay: ClosedRange<Duration>? = nil
        ) {
            self.kind = kind
            self.sends = sends
            self.receives = receives
            self.isStereo = isStereo
            self.playoutDelay = playoutDelay
        }
    }

    package var media: [Media]
    /// Whether data channels are offered, and taken where they are offered.
    package var hasDataChannels = false
    /// Maps monotonic time to NTP time for sender reports.
    package var wallClock: WallClock
    /// Addresses of the sockets that can be sent from, best first.
    package var localAddresses: [SocketAddress]
    /// Addresses of the sockets that take TCP connections, best first.
    package var passiveAddresses: [SocketAddress]
    package var iceOptions: ICEOptions
    /// Whether candidates follow that others find (`addServerReflexive`, `addRelayed`), until `endLocalCandidates`.
    package var gathersCandidates: Bool

    package init(
        media: [Media], wallClock: WallClock, localAddresses: [SocketAddress],
        passiveAddresses: [SocketAddress] = [], iceOptions: ICEOptions = ICEOptions(),
        gathersCandidates: Bool = false
    ) {
        self.media = media
        self.wallClock = wallClock
        self.localAddresses = localAddresses
        self.passiveAddresses = passiveAddresses
        self.iceOptions = iceOptions
        self.gathersCandidates = gathersCandidates
    }
}
