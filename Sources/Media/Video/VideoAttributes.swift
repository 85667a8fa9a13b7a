/// Which coefficients turn luma and chroma into red, green and blue.
///
/// Of no meaning for pictures that are RGB already. VP8 in a browser is shown as BT.601 limited range.
public enum ColorMatrix: UInt8, CaseIterable, Hashable, Sendable {
    /// ITU-R BT.601: standard definition, most webcams.
    case bt601
    /// ITU-R BT.709: high definition.
    case bt709
}

/// Which sample values mean black and white.
public enum ColorRange: UInt8, CaseIterable, Hashable, Sendable {
    /// Luma 16…235, chroma 16…240 ("video", "MPEG" range).
    case limited
    /// 0…255 for all samples ("PC", "JPEG" range).
    case full
}

/// How far the picture must be turned clockwise to stand upright, as in the coordination of video orientation
/// (CVO, 3GPP TS 26.114 §7.4.5).
public enum VideoRotation: Int, CaseIterable, Hashable, Sendable {
    case none = 0
    case clockwise90 = 90
    case clockwise180 = 180
    case clockwise270 = 270

    /// The rotation in degrees, clockwise.
    public var degrees: Int { rawValue }
    /// Both turns, one after the other.
    public static func + (lhs: VideoRotation, rhs: VideoRotation) -> VideoRotation {
        VideoRotation(quarterTurns: lhs.quarterTurns + rhs.quarterTurns)
    }

    /// Quarter turns clockwise, of which four are none.
    package init(quarterTurns: Int) {
        self = [.none, .clockwise90, .clockwise180, .clockwise270][quarterTurns & 3]
    }

    /// 0…3.
    package var quarterTurns: Int { rawValue / 90 }

    /// Whether width and height change places when the rotation is applied.
    public var swapsSides: Bool { self == .clockwise90 || self == .clockwise270 }
}

/// What the pictures show, so that the encoder gives up the right thing when the rate is short
/// (W3C mst-content-hint).
public enum VideoContentHint: UInt8, CaseIterable, Hashable, Sendable {
    /// Nothing is known: treated as motion.
    case none
    /// Camera, film, games: keep the frame rate, let sharpness go.
    case motion
    /// Pictures whose detail matters, such as a document camera: keep sharpness, let the frame rate go.
    case detail
    /// Text and drawings, such as a shared screen: as `detail`, with the codec's screen-content tools.
    case text
}

/// A picture's width and height in pixels.
public struct VideoSize: Hashable, Sendable, CustomStringConvertible {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Such as `640x480`.
    public var description: String { "\(width)x\(height)" }
}
