import EmisoraCore
import EmisoraICE
import EmisoraSDP

/// A candidate on its way to the peer, as W3C `RTCIceCandidateInit` has it.
package struct TrickledLine: Hashable, Sendable {
    /// `candidate:…`; empty: there are no more.
    package var candidate: String
    package var mid: String?
    package var mLineIndex: Int
    package var usernameFragment: String
}

/// Which of our candidates the peer knows already.
struct ToldCandidates {
    private struct Key: Hashable {
        let address: SocketAddress
        let base: SocketAddress
        let transport: TransportProtocol

        init(_ candidate: ICECandidate) {
            address = candidate.address
            base = candidate.base
            transport = candidate.transport
        }
    }

    private var keys: Set<Key> = []
    private(set) var isDescribed = false
    fileprivate var hasToldEnd = false

    /// A description of ours holds all that there are now.
    mutating func didDescribe(_ ice: ICEAgent) {
        isDescribed = true
        hasToldEnd = ice.hasAllLocalCandidates
        keys = Set(ice.localCandidates.map(Key.init))
    }

    /// Whether this one is new to a peer that has our description.
    fileprivate mutating func insert(_ candidate: ICECandidate) -> Bool {
        isDescribed && keys.insert(Key(candidate)).inserted
    }
}

/// Notices that the peer, which would send reports at least, is not heard any more on the selected path.
struct PathSilence {
    private static let patience: Duration = .seconds(1)
    /// By then the question that was asked at the end of `patience` would have been answered.
    private static let followAfter: Duration = .milliseconds(1_400)
    private static let interval: Duration = .seconds(1)
    /// Later on the regular consent checks are enough.
    private static let maximumQuestions = 4

    private(set) var lastHeardAt: Instant?
    private var questions = 0

    mutating func didHear(now: Instant) {
        lastHeardAt = now
        questions = 0
    }

    var deadline: Instant? {
        guard let lastHeardAt, questions < Self.maximumQuestions else { return nil }
        return lastHeardAt + Self.patience + Self.interval * questions
    }

    /// Whether a path that the peer does send by is to be taken instead.
    fileprivate func hasLasted(now: Instant) -> Bool {
        lastHeardAt.map { now - $0 >= Self.followAfter } ?? false
    }

    /// Whether the peer is to be asked now.
    fileprivate mutating func isTooLong(now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        questions += 1
        return true
    }
}

/// Our addresses, as they come and go.
extension PeerEngine {
    package func addLocalHost(_ address: SocketAddress, now: Instant) {
        change(now: now) { $0.addLocalHost(address, now: now) }
    }

    /// Paths that stand on it are connections: `handle` says whether a new one is the peer's.
    package func addPassiveHost(_ address: SocketAddress, now: Instant) {
        change(now: now) { $0.addPassiveHost(address, now: now) }
    }

    package func addServerReflexive(
        _ address: SocketAddress, base: SocketAddress, server: IPAddress, now: Instant
    ) {
        change(now: now) { $0.addServerReflexive(address, base: base, server: server, now: now) }
    }

    /// Datagrams that `pollTransmit` gives with such a source are to go through the server.
    package func addRelayed(
        _ address: SocketAddress, mapped: SocketAddress, server: IPAddress, preference: UInt16, now: Instant
    ) {
        change(now: now) {
            $0.addRelayed(address, mapped: mapped, server: server, preference: preference, now: now)
        }
    }

    package func networkDidChange(now: Instant) {
        change(now: now) { $0.networkDidChange(now: now) }
    }

    package func endLocalCandidates(now: Instant) {
        change(now: now) { $0.endLocalCandidates(now: now) }
    }

    /// More will come; the end will be told again.
    package func reopenLocalCandidates() {
        ice.reopenLocalCandidates()
        told.hasToldEnd = false
    }

    /// A socket or a relayed address is gone. Where it carried the selected path and no other is valid,
    /// `localAddressLost` says that a restart is called for.
    package func removeLocal(base: SocketAddress, transport: TransportProtocol = .udp, now: Instant) {
        lose(now: now) { $0.removeLocal(base: base, transport: transport, now: now) }
    }

    /// The connection that `connectionWanted` asked for stands.
    package func didConnect(_ path: ICEPath, now: Instant) {
        change(now: now) { $0.didConnect(path, now: now) }
    }

    /// A TCP connection has ended, with the same consequences as the loss of an address.
    package func didDisconnect(_ path: ICEPath, now: Instant) {
        lose(now: now) { $0.didDisconnect(path, now: now) }
    }

    private func lose(now: Instant, _ body: (inout ICEAgent) -> Void) {
        let hadPath = ice.selectedPath != nil
        change(now: now, body)
        if hadPath, ice.selectedPath == nil, state != .closed, state != .failed { events.append(.localAddressLost) }
    }

    /// Takes an open offer of ours back, so that the peer's can be answered.
    package func rollback() { negotiation.rollback() }

    /// Whether an offer of ours waits for its answer.
    package var hasOpenOffer: Bool { negotiation.signalingState == .haveLocalOffer }

    /// Which path media takes; `nil` before the first valid one.
    package var selectedPath: ICEPath? { ice.selectedPath }

    package var iceState: ICEState { ice.state }

    /// Something authentic of the peer's came by that path.
    func hear(_ path: ICEPath, now: Instant) {
        if path == ice.selectedPath {
            silence.didHear(now: now)
        } else if silence.hasLasted(now: now) {
            ice.follow(path, now: now)
            silence.didHear(now: now)
        }
    }

    func breakSilence(now: Instant) {
        if isReadyForMedia, silence.isTooLong(now: now) { ice.askForConsent(now: now) }
    }

    private func change(now: Instant, _ body: (inout ICEAgent) -> Void) {
        guard state != .closed else { return }
        body(&ice)
        settle(now: now)
    }

    func tell(_ candidate: ICECandidate) {
        guard told.insert(candidate) else { return }
        for line in ICECandidateLine.lines(of: candidate) { trickle(line.text) }
    }

    func tellEnd() {
        guard told.isDescribed, !told.hasToldEnd else { return }
        told.hasToldEnd = true
        trickle("")
    }

    private func trickle(_ text: String) {
        // The section that carries the transport is the first that was taken (RFC 8843 §7.3.1).
        let tagged = negotiated?.media.min { $0.index < $1.index }
        events.append(
            .localCandidate(
                TrickledLine(
                    candidate: text, mid: tagged?.mid, mLineIndex: tagged?.index ?? 0,
                    usernameFragment: ice.localCredentials.ufrag)))
    }
}

extension ICECandidateLine {
    /// Over TCP each address takes connections and makes some.
    static func lines(of candidate: ICECandidate) -> [ICECandidateLine] {
        [ICECandidateLine(candidate, tcpType: "passive")]
            + (candidate.active.map { [ICECandidateLine($0, tcpType: "active")] } ?? [])
    }

    private init(_ candidate: ICECandidate, tcpType: String) {
        self.init(
            foundation: candidate.foundation, transport: candidate.transport.rawValue, priority: candidate.priority,
            address: candidate.address.ip.description, port: candidate.address.port,
            type: candidate.type.rawValue, relatedAddress: candidate.relatedAddress,
            extensions: candidate.transport == .tcp ? [Extension(name: "tcptype", value: tcpType)] : [])
    }
}
