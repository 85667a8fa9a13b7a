import EmisoraCore
import EmisoraSimulation

/// Each reader of bytes that come from the network, with what must hold for whatever bytes it gets.
///
/// A trap, an endless loop or memory without end is found by whoever runs it; what else must not be is thrown.
package enum FuzzTarget: String, CaseIterable, Sendable {
    case stun
    case turnFramer
    case candidate
    case description
    case signaling
    case nodes
    case rtp
    case rtcp
    case vp8
    case repair
    case sound
    case pictures
    case dtls
    case opening
    case dataChannels
    case engine
    case sender

    /// Runs the reader on `bytes`.
    package func run(_ bytes: [UInt8]) throws(FuzzFailure) {
        switch self {
        case .stun: try fuzzSTUN(bytes)
        case .turnFramer: try fuzzFramer(bytes)
        case .candidate: try fuzzCandidate(bytes)
        case .description: try fuzzDescription(bytes)
        case .signaling: try fuzzSignaling(bytes)
        case .nodes: try fuzzNodes(bytes)
        case .rtp: try fuzzRTP(bytes)
        case .rtcp: try fuzzRTCP(bytes)
        case .vp8: try fuzzVP8(bytes)
        case .repair: try fuzzRepair(bytes)
        case .sound: try fuzzSound(bytes)
        case .pictures: try fuzzPictures(bytes)
        case .dtls: try fuzzDTLS(bytes)
        case .opening: try fuzzOpening(bytes)
        case .dataChannels: try fuzzDataChannels(bytes)
        case .engine: try fuzzEngine(bytes, sends: false)
        case .sender: try fuzzEngine(bytes, sends: true)
        }
    }

    /// A message as it should be, with values of the generator's, for a mutator to begin with.
    package func seed(using random: inout FuzzRandom) -> [UInt8] {
        switch self {
        case .stun: return Seeds.stun(using: &random)
        case .turnFramer:
            return (0..<random.number(below: 4)).flatMap { _ in
                let isData = random.chance(percent: 50)
                return isData ? Seeds.channelData(using: &random) : Seeds.stun(using: &random)
            }
        case .candidate: return Seeds.candidate(using: &random)
        case .description: return Seeds.description(using: &random)
        case .signaling: return Seeds.signaling(using: &random)
        case .nodes: return Seeds.node(using: &random)
        case .rtp: return Seeds.rtp(using: &random)
        case .rtcp: return Seeds.rtcp(using: &random)
        case .vp8: return Seeds.vp8(using: &random)
        case .repair: return Seeds.parity(using: &random)
        case .sound: return Seeds.stream(of: 111, using: &random)
        case .pictures: return Seeds.stream(of: 96, using: &random)
        case .dtls: return Seeds.dtls(using: &random)
        case .opening: return Seeds.opening(using: &random)
        case .dataChannels: return Seeds.chunks(using: &random)
        case .engine, .sender: return Seeds.datagrams(using: &random)
        }
    }
}

/// What must hold and does not.
package struct FuzzFailure: Error, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }

    static func check(_ condition: Bool, _ description: @autoclosure () -> String) throws(FuzzFailure) {
        if !condition { throw FuzzFailure(description()) }
    }
}

/// The same seed gives the same bytes.
package struct FuzzRandom: RandomNumberGenerator {
    private var random: SeededRandom

    package init(seed: UInt64) {
        random = SeededRandom(seed)
    }

    package mutating func next() -> UInt64 { random.next() }

    package mutating func number(below bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }
    package mutating func chance(percent: Int) -> Bool { number(below: 100) < percent }
    package mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
    package mutating func word() -> UInt32 { UInt32(truncatingIfNeeded: next()) }
    package mutating func short() -> UInt16 { UInt16(truncatingIfNeeded: next()) }
    package mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }
}

/// Cuts the input into parts: a length of two bytes before each, as the generators write them.
struct Parts: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    mutating func next() -> [UInt8]? {
        guard rest.count >= 2 else { return nil }
        let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        rest = rest.dropFirst(2)
        let part = Array(rest.prefix(length).prefix(1_500))
        rest = rest.dropFirst(part.count)
        return part
    }

    static func joined(_ parts: [[UInt8]]) -> [UInt8] {
        parts.flatMap { [UInt8($0.count >> 8 & 255), UInt8($0.count & 255)] + $0 }
    }
}
