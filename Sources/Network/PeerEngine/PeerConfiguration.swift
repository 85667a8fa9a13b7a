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
        /// Names of the encodings that a peer with simulcast may have, in the order of our offers; empty: none.
        package var encodings: [String] = []
        /// Which of them a peer without simulcast gets.
        package var mainEncoding = 0

        package init(_ kind: MediaConfiguration.Kind, sends: Bool, receives: Bool) {
            self.kind = kind
            self.sends = sends
            self.receives = receives
        }
    }

    package var media: [Media]
    /// Maps monotonic time to NTP time for sender reports.
    package var wallClock: WallClock
    /// Addresses of the sockets that can be sent from, best first.
    package var localAddresses: [SocketAddress]
    package var iceOptions: ICEOptions
    /// Whether candidates follow that others find (`addServerReflexive`, `addRelayed`), until `endLocalCandidates`.
    package var gathersCandidates: Bool

    package init(
        media: [Media], wallClock: WallClock, localAddresses: [SocketAddress], iceOptions: ICEOptions = ICEOptions(),
        gathersCandidates: Bool = false
    ) {
        self.media = media
        self.wallClock = wallClock
        self.localAddresses = localAddresses
        self.iceOptions = iceOptions
        self.gathersCandidates = gathersCandidates
    }
}
