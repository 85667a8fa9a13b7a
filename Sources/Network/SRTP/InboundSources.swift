/// The sources of a peer, with what has to outlast their libsrtp streams.
///
/// A stream costs about 1 kB, so that only so many are kept; the one that was used longest ago makes room. Should its
/// source speak again, it goes on where it was: with its rollover counter, and without any packet being taken twice,
/// which libsrtp, that begins its replay list anew, could not know.
struct InboundSources {
    struct Source {
        /// Of its authentic packets (RFC 3711 §3.3.1).
        fileprivate(set) var highestIndex: UInt64?
        fileprivate(set) var highestRTCPIndex: UInt32?
        /// Up to here packets belong to a stream that is gone.
        fileprivate var floor: UInt64?
        fileprivate var rtcpFloor: UInt32?
        fileprivate var lastUse: UInt64 = 0
        fileprivate(set) var hasStream = true
        /// libsrtp's new stream has yet to be told the rollover counter.
        fileprivate(set) var needsRolloverCounter = false

        /// The most likely index of a packet with that number.
        func index(of sequenceNumber: UInt16) -> UInt64 {
            let number = UInt64(sequenceNumber)
            guard let highestIndex, highestIndex > 0x8000 else { return number }
            let rollover = highestIndex >> 16
            let last = highestIndex & 0xFFFF
            if last < 0x8000 {
                return (number > last + 0x8000 ? rollover &- 1 : rollover) << 16 | number
            }
            return (number < last - 0x8000 ? rollover &+ 1 : rollover) << 16 | number
        }

        /// Whether a packet may be new, as far as this remembers.
        func admits(index: UInt64) -> Bool { floor.map { index > $0 } ?? true }
        func admits(rtcpIndex: UInt32) -> Bool { rtcpFloor.map { rtcpIndex > $0 } ?? true }
    }

    let streamLimit: Int
    /// Of all together; 100 bytes each.
    let sourceLimit: Int
    private var sources: [UInt32: Source] = [:]
    /// Those with streams.
    private var live: [UInt32] = []
    private var uses: UInt64 = 0

    init(streamLimit: Int, sourceLimit: Int) {
        self.streamLimit = streamLimit
        self.sourceLimit = sourceLimit
    }

    subscript(ssrc: UInt32) -> Source? { sources[ssrc] }

    var streamCount: Int { live.count }
    var isFull: Bool { sources.count >= sourceLimit }

    /// An authentic packet came, for which libsrtp has a stream now. Gives the source whose stream is to make room.
    mutating func didAccept(rtp index: UInt64?, rtcp rtcpIndex: UInt32?, of ssrc: UInt32) -> UInt32? {
        uses += 1
        var source = sources[ssrc] ?? Source(hasStream: false)
        source.lastUse = uses
        if let index {
            source.highestIndex = max(index, source.highestIndex ?? 0)
            source.needsRolloverCounter = false
        }
        if let rtcpIndex { source.highestRTCPIndex = max(rtcpIndex, source.highestRTCPIndex ?? 0) }
        let isNew = !source.hasStream
        source.hasStream = true
        sources[ssrc] = source
        guard isNew else { return nil }
        live.append(ssrc)
        guard live.count > streamLimit else { return nil }
        return live.min { (sources[$0]?.lastUse ?? 0) < (sources[$1]?.lastUse ?? 0) }
    }

    /// libsrtp has no stream of the source any more.
    mutating func didRemoveStream(of ssrc: UInt32) {
        live.removeAll { $0 == ssrc }
        guard var source = sources[ssrc] else { return }
        source.hasStream = false
        source.needsRolloverCounter = true
        source.floor = source.highestIndex
        source.rtcpFloor = source.highestRTCPIndex
        sources[ssrc] = source
    }

    /// All sources that have streams.
    var withStreams: [UInt32] { live }
}
