import EmisoraCore
import EmisoraSDP

/// Which of a peer's sources of pictures is taken, where there may be several: the layers of a simulcast (RFC 8853),
/// which rid tells apart (RFC 8852 §3), or the old and the new SSRC of one source. What is passed over costs a look into
/// a table.
struct VideoSources {
    enum Verdict: Equatable {
        case take
        /// It stands in for the source that was taken so far.
        case takeOver
        case ignore
    }

    /// A source that is silent for that long may have gone on under another SSRC, or its layer may be off …
    private static let timeout: Duration = .seconds(2)
    /// … and one whose MID says that the new SSRC is the same media's, much sooner.
    private static let announcedTimeout: Duration = .milliseconds(200)
    private static let limit = 64

    /// The stream that our description takes; `nil`: whichever comes.
    private var wantedRID: String?
    private var groups: [RetransmissionGroup] = []
    private var rids: [UInt32: String] = [:]
    /// Media sources that came while another one was live.
    private var passedOver: Set<UInt32> = []
    private var firstPassedOverAt: Instant?

    mutating func configure(wantedRID: String?, groups: [RetransmissionGroup]) {
        self.wantedRID = wantedRID
        self.groups = groups
    }

    /// Whether a packet of that source may still tell what it is called.
    func isNameless(_ ssrc: UInt32) -> Bool { rids[ssrc] == nil }

    /// Takes a packet's name for its source, from the rid of media or the repaired rid of a retransmission.
    mutating func learn(_ rid: String, of ssrc: UInt32) {
        guard rids.count < Self.limit else { return }
        rids[ssrc] = rid
    }

    /// - Parameters:
    ///   - current: the source that was taken so far, with the time of its last packet.
    ///   - hasMID: the packet says which m-line it is of.
    mutating func judge(
        _ ssrc: UInt32, current: (ssrc: UInt32, lastPacketAt: Instant)?, hasMID: Bool, now: Instant
    ) -> Verdict {
        let rid = rids[ssrc]
        guard let current else { return judgeFirst(ssrc, rid, now: now) }
        if ssrc == current.ssrc { return .take }
        let currentRID = rids[current.ssrc]
        if let wantedRID, rid == wantedRID, currentRID != wantedRID { return takeOver() }
        // Another layer is no successor: it was there before, or has another name.
        let isOther = passedOver.contains(ssrc) || (rid != nil && rid != currentRID)
        let patience = hasMID && !isOther ? Self.announcedTimeout : Self.timeout
        guard now - current.lastPacketAt > patience else { return passOver(ssrc) }
        return takeOver()
    }

    /// Whether a retransmission repairs the source that is taken.
    func takesRetransmission(_ ssrc: UInt32, current: UInt32?) -> Bool {
        guard let current else { return false }
        if let rid = rids[ssrc], let own = rids[current] ?? wantedRID { return rid == own }
        if let group = groups.first(where: { $0.retransmission == ssrc }) { return group.media == current }
        // Numbers of another layer would be taken for ours.
        return passedOver.isEmpty
    }

    private mutating func judgeFirst(_ ssrc: UInt32, _ rid: String?, now: Instant) -> Verdict {
        guard let wantedRID, let rid, rid != wantedRID else { return .take }
        // The one that was agreed on may be off for want of bandwidth.
        let first = firstPassedOverAt ?? now
        firstPassedOverAt = first
        return now - first > Self.timeout ? .take : .ignore
    }

    private mutating func passOver(_ ssrc: UInt32) -> Verdict {
        if passedOver.count < Self.limit { passedOver.insert(ssrc) }
        return .ignore
    }

    private mutating func takeOver() -> Verdict {
        passedOver.removeAll()
        return .takeOver
    }
}
