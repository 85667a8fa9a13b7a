/// Which weights turn red, green and blue into luma (ITU-R BT.601 or BT.709).
public enum ColorMatrix: String, Hashable, Sendable, CaseIterable {
    case bt601
    case bt709
}

/// Whether luma spans 16–235 (limited, as television has it) or 0–255 (full, as JPEG has it).
public enum ColorRange: String, Hashable, Sendable, CaseIterable {
    case limited
    case full
}

/// How far a picture has to be turned clockwise to stand upright.
public enum VideoRotation: Int, Hashable, Sendable, CaseIterable {
    case none = 0
    case clockwise90 = 90
    case clockwise180 = 180
    case clockwise270 = 270
}

/// What a picture shows, so that the encoder knows what to keep when bits are short (W3C mst-content-hint).
public enum VideoContentHint: String, Hashable, Sendable, CaseIterable {
    case none
    /// Keep the rate: a camera, a film, a game.
    case motion
    /// Keep the detail: a painting, a map.
    case detail
    /// Keep the edges: a screen, slides.
    case text
}
