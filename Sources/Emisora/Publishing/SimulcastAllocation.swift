import EmisoraCore

/// How the rate of one path is shared among the encodings that its peer takes: the smallest first, since it is the one
/// that everybody behind an SFU can use.
struct SimulcastAllocation {
    /// An encoding that is off comes on when it would get this share of what it wants …
    private static let resumption = 0.5
    /// … and goes off below this one, so that it does not come and go with every change of the path.
    private static let suspension = 0.3

    struct Encoding {
        var encoding: Int
        /// What it can use at most.
        var bitrate: DataRate
    }

    /// What each encoding gets; those that are left out are not worth sending.
    ///
    /// - Parameter active: The encodings that are sent at present.
    static func allocate(_ rate: DataRate, among encodings: [Encoding], active: Set<Int>) -> [Int: DataRate] {
        var left = rate.bitsPerSecond
        var shares: [Int: DataRate] = [:]
        for one in encodings.sorted(by: { ($0.bitrate, $0.encoding) < ($1.bitrate, $1.encoding) }) {
            let wanted = one.bitrate.bitsPerSecond
            let threshold = active.contains(one.encoding) ? suspension : resumption
            // Something is better than nothing: the smallest is sent whatever it gets.
            guard shares.isEmpty || Double(left) >= Double(wanted) * threshold else { break }
            let share = min(left, wanted)
            shares[one.encoding] = .bitsPerSecond(max(1, share))
            left -= share
        }
        return shares
    }
}
