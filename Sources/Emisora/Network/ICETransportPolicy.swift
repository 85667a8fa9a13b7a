/// Which addresses of ours a peer may learn and use (W3C `RTCIceTransportPolicy`).
public enum ICETransportPolicy: String, Hashable, Sendable {
    /// All: the machine's own, those that STUN servers tell, those on TURN servers.
    case all
    /// Those on TURN servers alone: a peer learns no address of this machine.
    case relay
}
