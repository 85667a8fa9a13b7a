/// Pictures or sound, as W3C's MediaStreamTrack names its kinds.
public enum TrackKind: String, CaseIterable, Hashable, Sendable {
    case audio
    case video
}
