import EmisoraCore
import EmisoraICE

/// W3C `RTCPeerConnectionState`.
package enum PeerConnectionState: String, Hashable, Sendable {
    case new
    case connecting
    case connected
    case disconnected
    case failed
    case closed
}

package enum PeerEvent: Equatable, Sendable {
    /// `reason` is for a person; empty where there is nothing to explain.
    case stateChanged(PeerConnectionState, reason: String)
    /// How the path to the peer is doing; `reason` as above, of `disconnected` and `failed`.
    case iceStateChanged(ICEState, reason: String)
    /// An address of ours that the last description does not hold: to be told to the peer (RFC 8838 §4).
    case localCandidate(TrickledLine)
    /// Media goes by another pair of addresses, which the statistics name.
    case selectedPathChanged(ICEStatistics)
    /// No path is left, since the address that it used is gone, or its connection.
    case localAddressLost
    /// The peer takes TCP connections there, and nothing else has worked so far: connect, then call `didConnect`.
    case connectionWanted(to: SocketAddress)
    /// The peer cannot go on without a key frame: it joined just now, or asked by PLI or FIR.
    case keyFrameNeeded
    /// The same of an encoding that is not the one for peers without simulcast.
    case layerKeyFrameNeeded(encoding: Int)
    /// The sender of that media said BYE (RFC 3550 §6.6).
    case remoteSourceEnded
    /// What may be sent to the peer, all media with their headers together, is notably more or less than before, or
    /// media's part of it is (`mediaBitrate`).
    case targetBitrateChanged(DataRate)
}

/// What became of a frame handed to one peer.
package enum FrameSendResult: Hashable, Sendable {
    case queued
    /// The path or its keys are not there yet, or lost.
    case notConnected
    /// The peer does not receive this kind of media.
    case notNegotiated
    /// The peer does not want it now: it is on hold.
    case paused
    /// It can decode nothing before a key frame.
    case waitingForKeyFrame
    /// Its send queue is full.
    case queueFull
    /// Its path has no room for it.
    case congestion
}
