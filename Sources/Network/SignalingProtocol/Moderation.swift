/// Pictures, sound, or both.
package struct MediaSelection: Equatable, Sendable {
    package var video: Bool
    package var audio: Bool

    package init(video: Bool, audio: Bool) {
        self.video = video
        self.audio = audio
    }

    package static let everything = Self(video: true, audio: true)
}

/// A moderator's word that a stream be muted.
package struct ForcedMute: Equatable, Sendable {
    /// `nil`: all streams of the room but the moderator's own.
    package var stream: String?
    package var media: MediaSelection
    /// The moderator's words for a person.
    package var reason: String?
    /// The moderator. The server writes it.
    package var by: String?

    package init(stream: String?, media: MediaSelection, reason: String? = nil, by: String? = nil) {
        self.stream = stream
        self.media = media
        self.reason = reason
        self.by = by
    }
}

/// A moderator's word that a participant leave.
package struct ForcedDisconnect: Equatable, Sendable {
    package var id: String
    /// The moderator's words for a person.
    package var reason: String?
    /// The moderator. The server writes it.
    package var by: String?

    package init(id: String, reason: String? = nil, by: String? = nil) {
        self.id = id
        self.reason = reason
        self.by = by
    }
}

/// The bounds of what moderators say.
package enum Moderation {
    /// The longest reason, in bytes of UTF-8.
    package static let maximumReasonByteCount = 256

    /// It is shown to a person, perhaps on a terminal, which nobody else's text may steer.
    package static func isAllowed(reason: String?) -> Bool {
        guard let reason else { return true }
        return reason.utf8.count <= maximumReasonByteCount
            && reason.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: false
                default: true
                }
            }
    }

    /// What of another's reason may be shown.
    package static func shown(_ reason: String?) -> String? { isAllowed(reason: reason) ? reason : nil }
}

extension MediaSelection: Codable {
    private enum Key: String, CodingKey {
        case video, audio
    }

    /// What is not named is not chosen.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        video = try fields.decodeIfPresent(Bool.self, forKey: .video) ?? false
        audio = try fields.decodeIfPresent(Bool.self, forKey: .audio) ?? false
    }
}

extension ForcedMute: Codable {
    private enum Key: String, CodingKey {
        case stream, reason, by
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        stream = try fields.decodeIfPresent(String.self, forKey: .stream)
        reason = try fields.decodeIfPresent(String.self, forKey: .reason)
        by = try fields.decodeIfPresent(String.self, forKey: .by)
        media = try MediaSelection(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encodeIfPresent(stream, forKey: .stream)
        try fields.encodeIfPresent(reason, forKey: .reason)
        try fields.encodeIfPresent(by, forKey: .by)
        try media.encode(to: encoder)
    }
}

extension ForcedDisconnect: Codable {}
