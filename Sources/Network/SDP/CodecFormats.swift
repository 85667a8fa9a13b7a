/// Payload types of loss repair beyond NACK and RTX, as far as both sides of an m-line have a use for them.
package struct RepairFormats: Hashable, Sendable {
    /// RED (RFC 2198). In sound each packet may carry those before it once more; of pictures it is what we receive from
    /// senders that add parity packets.
    package var red: UInt8?
    /// RTX of packets that were in RED.
    package var redRetransmission: UInt8?
    /// Parity packets inside RED (RFC 5109), received only.
    package var ulpfec: UInt8?
    /// Parity packets as a stream of their own (draft-ietf-payload-flexible-fec-scheme-03), sent only.
    package var flexfec: UInt8?

    package init() {}

    fileprivate var payloadTypes: [UInt8] { [red, redRetransmission, ulpfec, flexfec].compactMap { $0 } }

    /// Without those that `isKept` refuses, and what is of no use without them.
    fileprivate func filter(_ isKept: (UInt8, KeyPath<Self, UInt8?>) -> Bool) -> Self {
        func kept(_ path: KeyPath<Self, UInt8?>) -> UInt8? {
            self[keyPath: path].flatMap { isKept($0, path) ? $0 : nil }
        }
        var result = self
        result.flexfec = kept(\.flexfec)
        let isWhole = [\Self.red, \.redRetransmission, \.ulpfec].allSatisfy { self[keyPath: $0] == kept($0) }
        if !isWhole { (result.red, result.redRetransmission, result.ulpfec) = (nil, nil, nil) }
        return result
    }
}

/// What this project uses of an m-line's formats: its codec, retransmissions and repair, under the numbers of whoever wrote
/// them first.
struct CodecFormats: Hashable, Sendable {
    var payloadType: UInt8
    var retransmission: UInt8?
    var repair = RepairFormats()
    /// `a=fmtp` of the codec, as the section has it.
    var parameters = ""

    /// A time that everybody states; nobody's decoder depends on it.
    private static let flexfecParameters = "repair-window=10000000"
    private static let dynamicTypes = Array(UInt8(96)...127) + Array(UInt8(35)...63)

    private init(payloadType: UInt8) {
        self.payloadType = payloadType
    }

    /// In the order in which they are written.
    var payloadTypes: [UInt8] { [payloadType] + [retransmission].compactMap { $0 } + repair.payloadTypes }

    /// Those without which the codec is not taken.
    var neededTypes: [UInt8] { [payloadType] + [retransmission].compactMap { $0 } }

    // MARK: Offering

    /// Numbers for a section of ours: the usual ones, where nothing else in the bundle has them already (RFC 8843 §9.1.1).
    static func offered(for track: MediaConfiguration.Track, besides taken: Set<UInt8>) -> CodecFormats {
        var taken = taken
        func take(_ preferred: UInt8) -> UInt8 {
            let type = ([preferred] + dynamicTypes).first { !taken.contains($0) } ?? preferred
            taken.insert(type)
            return type
        }
        guard track.kind == .video else {
            var formats = CodecFormats(payloadType: take(111))
            formats.repair.red = take(112)
            return formats
        }
        var formats = CodecFormats(payloadType: take(96))
        formats.retransmission = take(97)
        if track.receives {
            formats.repair.red = take(98)
            formats.repair.redRetransmission = take(99)
            formats.repair.ulpfec = take(100)
        }
        if track.sends, track.repairSSRC != nil { formats.repair.flexfec = take(101) }
        return formats
    }

    /// The lines of a section of ours that these formats stand in.
    func rtpMaps(_ kind: MediaConfiguration.Kind) -> [RTPMap] {
        func map(_ type: UInt8?, _ name: String) -> RTPMap? {
            type.map {
                kind == .video
                    ? RTPMap(payloadType: $0, name: name, clockRate: 90_000)
                    : RTPMap(payloadType: $0, name: name, clockRate: 48_000, channels: 2)
            }
        }
        return [
            map(payloadType, kind == .video ? "VP8" : "opus"), map(retransmission, "rtx"), map(repair.red, "red"),
            map(repair.redRetransmission, "rtx"), map(repair.ulpfec, "ulpfec"), map(repair.flexfec, "flexfec-03"),
        ].compactMap { $0 }
    }

    /// The parameters of all but the codec itself.
    func associations(_ kind: MediaConfiguration.Kind) -> [UInt8: String] {
        var parameters: [UInt8: String] = [:]
        if let retransmission { parameters[retransmission] = "apt=\(payloadType)" }
        if let red = repair.red {
            if kind == .audio { parameters[red] = "\(payloadType)/\(payloadType)" }
            if let again = repair.redRetransmission { parameters[again] = "apt=\(red)" }
        }
        if let flexfec = repair.flexfec { parameters[flexfec] = Self.flexfecParameters }
        return parameters
    }

    // MARK: Reading

    /// Our codec in a section of the peer's. RFC 9429 §5.8: names compare without case; what was first in the m-line
    /// comes first.
    init?(in section: MediaSection, for track: MediaConfiguration.Track) {
        let named = Self.named(section, clockRate: track.kind == .video ? 90_000 : 48_000)
        func first(_ name: String, where isFit: (String?) -> Bool = { _ in true }) -> UInt8? {
            named.first { $0.name == name && isFit(section.formatParameters[$0.type]) }?.type
        }
        func retransmission(of type: UInt8) -> UInt8? { first("rtx") { Self.associatedType($0) == type } }
        guard let codec = first(track.kind == .video ? "vp8" : "opus") else { return nil }
        payloadType = codec
        self.retransmission = retransmission(of: codec)
        parameters = section.formatParameters[codec] ?? ""
        guard track.kind == .video else {
            // Its blocks may be of our codec alone, which is never to be guessed (RFC 2198 §5).
            repair.red = first("red") { Self.blockTypes($0).map { $0 == [codec] } ?? false }
            return
        }
        if track.sends, track.repairSSRC != nil { repair.flexfec = first("flexfec-03") }
        let red = first("red") { Self.blockTypes($0)?.contains(codec) != false }
        guard track.receives, let red, let ulpfec = first("ulpfec") else { return }
        let again = retransmission(of: red)
        // Packets in RED that cannot be repeated would be worse off than plain ones.
        guard again != nil || self.retransmission == nil else { return }
        repair.red = red
        repair.redRetransmission = again
        repair.ulpfec = ulpfec
    }

    /// Without repair under numbers that mean something else in the same bundle.
    func without(_ taken: Set<UInt8>) -> CodecFormats {
        var formats = self
        formats.repair = repair.filter { type, _ in !taken.contains(type) }
        return formats
    }

    /// Of an answer to `offer`: without repair that the offer means something else by.
    func limited(to offer: CodecFormats?) -> CodecFormats {
        var formats = self
        formats.repair = repair.filter { type, path in offer?.repair[keyPath: path] == type }
        return formats
    }

    /// What an m-line's payload types are called; a type that has several names goes by the first.
    private static func named(_ section: MediaSection, clockRate: UInt32) -> [(type: UInt8, name: String)] {
        section.formats.compactMap { format in
            // RFC 5761 §4: 64–95 would collide with RTCP.
            guard let type = UInt8(format), type < 128, !(64...95).contains(type),
                let map = section.rtpMaps.first(where: { $0.payloadType == type }), map.clockRate == clockRate
            else { return nil }
            return (type, map.name.lowercased())
        }
    }

    /// `apt` of an rtx format (RFC 4588 §8.1).
    private static func associatedType(_ parameters: String?) -> UInt8? {
        FormatParameters.pairs(parameters ?? "").first { $0.name == "apt" }.flatMap { SDPText.decimal($0.value) }
    }

    /// What may be in RED, written `111/111` (RFC 2198 §5); `nil` without parameters, empty where they are none.
    private static func blockTypes(_ parameters: String?) -> Set<UInt8>? {
        guard let parameters else { return nil }
        let parts = SDPText.parts(SDPText.words(Substring(parameters)).first ?? "", at: "/")
        let types: [UInt8] = parts.compactMap { SDPText.decimal($0) }
        return types.count == parts.count ? Set(types) : []
    }
}
