import EmisoraCore
import EmisoraTURN

extension Session {
    /// How a session connects.
    ///
    /// ```swift
    /// var options = Session.Options()
    /// options.iceServers = [
    ///     ICEServer(urls: ["stun:stun.example.org"]),
    ///     ICEServer(
    ///         urls: ["turn:turn.example.org", "turns:turn.example.org?transport=tcp"], username: "ana",
    ///         credential: "secret"),
    /// ]
    /// let session = try await Session.connect(to: "ws://example.org/demo", options: options)
    /// ```
    public struct Options: Sendable {
        public var addresses: NetworkAddresses
        /// How long `connect` waits for the room's welcome.
        public var connectTimeout: Duration
        /// STUN and TURN servers that help through NATs and firewalls (W3C `RTCConfiguration.iceServers`). Where there
        /// are none, those that the signaling server hands out are used.
        public var iceServers: [ICEServer]
        /// W3C `RTCConfiguration.iceTransportPolicy`.
        public var iceTransportPolicy: ICETransportPolicy
        /// The UDP ports of this machine that may be used; `nil`: any. Each local address of the session needs one, and
        /// each stream that it receives, and each TURN server that is reached over UDP. The TCP ports that connections are
        /// taken on are among these numbers, too.
        public var ports: ClosedRange<UInt16>?
        /// Whether peers that no UDP gets through to may connect over TCP, and are connected to (ICE-TCP, RFC 6544). UDP is
        /// preferred wherever it works.
        public var usesTCPCandidates: Bool
        /// NAT 1:1: the addresses under which this machine is reached from outside where it sees others of its own, as in
        /// a cloud or a container; at most one of each family. The same ports must be passed on unchanged.
        public var natAddresses: [IPAddress]
        /// The path of a PEM file with the certificate authorities that the signaling server (`wss:`) and TURN servers over
        /// TLS are judged by; `nil`: the system's.
        public var certificateAuthorities: String?
        /// The path of a PEM file with this side's own certificate and its key, by which peers know it again: made when
        /// it is not there, for its owner alone to read, and anew a day before it expires (30 days). `nil`: each session
        /// has a certificate of its own, so that nobody can tell that two of them are the same machine (RFC 8827 §6.5).
        public var certificateFile: String?
        /// Where all packets are written to, decrypted; `nil`: nowhere.
        public var packetDump: PacketDump?
        /// The access token that the signaling server asks for: a JWT, as `emisora token` makes it. It is sent to that
        /// server alone when the room is joined, again after a lost connection, and printed nowhere.
        public var token: String?
        /// What a room of a Janus asks for (`janus:` URLs).
        public var janus: JanusOptions
        /// How often in a row the session tries to come back to its room after its connection was lost; 0: not at all.
        /// After that many failures it ends (``SessionEndReason/retriesExhausted(attempts:reason:)``), and media with it.
        /// `nil`: for ever, while media goes on.
        public var maxAutoRetry: Int?
        /// The longest pause before the first of these attempts. It doubles with each, eightfold and to 5 s at the most, and
        /// each pause is a random part of it, so that the clients of a server that was restarted do not come all at once.
        public var autoRetryDelay: Duration

        public init(
            addresses: NetworkAddresses = .automatic, connectTimeout: Duration = .seconds(10),
            iceServers: [ICEServer] = [], iceTransportPolicy: ICETransportPolicy = .all,
            ports: ClosedRange<UInt16>? = nil, usesTCPCandidates: Bool = true, natAddresses: [IPAddress] = [],
            certificateAuthorities: String? = nil, certificateFile: String? = nil,
            packetDump: PacketDump? = nil, token: String? = nil, maxAutoRetry: Int? = nil,
            autoRetryDelay: Duration = .milliseconds(250), janus: JanusOptions = JanusOptions()
        ) {
            self.addresses = addresses
            self.connectTimeout = connectTimeout
            self.iceServers = iceServers
            self.iceTransportPolicy = iceTransportPolicy
            self.ports = ports
            self.usesTCPCandidates = usesTCPCandidates
            self.natAddresses = natAddresses
            self.certificateAuthorities = certificateAuthorities
            self.certificateFile = certificateFile
            self.packetDump = packetDump
            self.token = token
            self.janus = janus
            self.maxAutoRetry = maxAutoRetry
            self.autoRetryDelay = autoRetryDelay
        }
    }
}
