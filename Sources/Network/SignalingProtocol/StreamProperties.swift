/// What a stream has in it at the moment. Its publisher says so, and the room is told as it changes.
package struct StreamProperties: Equatable, Hashable, Sendable {
    private static let codecLimit = 8
    private static let codecByteLimit = 16
    private static let sideLimit = 16_383

    /// Pictures are sent: there are some, and they are not muted.
    package var hasVideo: Bool
    package var hasAudio: Bool
    /// Of the pictures before they are turned, in pixels; `nil`: there are none, or it is not known yet.
    package var width: Int?
    package var height: Int?
    /// How far pictures must be turned clockwise to stand upright: 0, 90, 180 or 270 degrees.
    package var rotation: Int
    /// The names of the codecs that the publisher sends (`a=rtpmap`), of pictures first; empty: it does not say.
    package var codecs: [String]

    package init(
        hasVideo: Bool, hasAudio: Bool, width: Int? = nil, height: Int? = nil, rotation: Int = 0, codecs: [String] = []
    ) {
        self.hasVideo = hasVideo
        self.hasAudio = hasAudio
        self.width = width
        self.height = height
        self.rotation = rotation
        self.codecs = codecs
    }

    /// Whether every value is within its bounds.
    package var isValid: Bool {
        (width == nil) == (height == nil)
            && [width, height].allSatisfy { $0.map { (1...Self.sideLimit).contains($0) } ?? true }
            && [0, 90, 180, 270].contains(rotation)
            && codecs.count <= Self.codecLimit
            && codecs.allSatisfy { name in
                (1...Self.codecByteLimit).contains(name.utf8.count) && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            }
    }

    /// Whether somebody who knows these codecs can play something of the stream. Names are compared without regard to
    /// case (RFC 4855 §3).
    package func isPlayable(with known: [String]) -> Bool {
        codecs.isEmpty || codecs.contains { codec in known.contains { $0.lowercased() == codec.lowercased() } }
    }
}

extension StreamProperties: Codable {
    private enum Key: String, CodingKey {
        case hasVideo, hasAudio, width, height, rotation, codecs
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        hasVideo = try fields.decode(Bool.self, forKey: .hasVideo)
        hasAudio = try fields.decode(Bool.self, forKey: .hasAudio)
        width = try fields.decodeIfPresent(Int.self, forKey: .width)
        height = try fields.decodeIfPresent(Int.self, forKey: .height)
        rotation = try fields.decodeIfPresent(Int.self, forKey: .rotation) ?? 0
        codecs = try fields.decodeIfPresent([String].self, forKey: .codecs) ?? []
    }
}
