/// Which way up the pictures of a received stream are, by what their packets say (CVO, 3GPP TS 26.114 §7.4.5): the last
/// packet of a key frame does, and that of any picture that lies otherwise than the one before it. What is not said
/// stays as it was.
struct VideoOrientationTrack: Sendable {
    /// Of pictures whose packets have come and that wait to be put together; more than a jitter buffer holds.
    private static let limit = 128

    private var told: [(timestamp: UInt32, orientation: HeaderExtensionValues.VideoOrientation)] = []
    private var current: HeaderExtensionValues.VideoOrientation?

    /// A packet of the picture with that RTP timestamp says so.
    mutating func note(_ orientation: HeaderExtensionValues.VideoOrientation, timestamp: UInt32) {
        if let index = told.firstIndex(where: { $0.timestamp == timestamp }) {
            told[index].orientation = orientation
            return
        }
        // What a sender claims beyond any buffer's size is of no picture that will be shown.
        if told.count >= Self.limit { told.removeFirst() }
        told.append((timestamp, orientation))
    }

    /// How many pictures were told of that have not come yet.
    var count: Int { told.count }

    /// The orientation of the next picture to be shown; `nil` where none was ever told.
    mutating func orientation(at timestamp: UInt32) -> HeaderExtensionValues.VideoOrientation? {
        var newest: UInt32?
        for entry in told where Self.isDue(entry.timestamp, at: timestamp) {
            // Packets come in any order: the picture nearest to this one counts.
            if let newest, Int32(bitPattern: entry.timestamp &- newest) < 0 { continue }
            newest = entry.timestamp
            current = entry.orientation
        }
        told.removeAll { Self.isDue($0.timestamp, at: timestamp) }
        return current
    }

    private static func isDue(_ told: UInt32, at timestamp: UInt32) -> Bool {
        Int32(bitPattern: timestamp &- told) >= 0
    }
}
