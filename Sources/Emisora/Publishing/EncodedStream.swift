import EmisoraCodecs
import EmisoraCore
import EmisoraCrypto
import EmisoraPeerEngine
import EmisoraRTP

/// One encoding on its way to all its receivers: packetised once, with picture numbers and key frames of its own.
///
/// The pictures since the last key frame are kept for half a second, so that who joins within that time begins with
/// them at once and costs no further key frame.
struct EncodedStream {
    private var pictureIDs: VP8PictureIDSequence
    private var limiter = KeyFrameLimiter()
    private var recent: [(frame: PacketizedFrame, picture: EncodedVideoFrame)] = []
    private var recentSince: Instant?
    /// When the next key frame may be asked for; `nil`: none is wanted.
    private(set) var keyFrameDeadline: Instant?

    init() {
        var random = SecureRandom()
        pictureIDs = VP8PictureIDSequence(startingAt: UInt16(truncatingIfNeeded: random.next()))
    }

    /// Takes what the encoder made; `nil` where it is no picture.
    mutating func packetize(_ encoded: EncodedVideoFrame, now: Instant) -> PacketizedFrame? {
        let packetized = try? VP8Packetizer.packetize(
            payload: encoded.payload, isKeyFrame: encoded.isKeyFrame, pictureID: pictureIDs.next(),
            maxPayloadSize: Engine.maximumPayloadByteCount,
            orientation: HeaderExtensionValues.VideoOrientation(
                quarterTurns: UInt8(truncatingIfNeeded: encoded.rotation.quarterTurns)))
        guard let frame = packetized else { return nil }
        if encoded.isKeyFrame {
            limiter.didProduceKeyFrame(now: now)
            recent.removeAll(keepingCapacity: true)
            recentSince = now
        }
        if let since = recentSince {
            if now - since < KeyFrameLimiter.interval {
                recent.append((frame, encoded))
            } else {
                recent.removeAll(keepingCapacity: true)
                recentSince = nil
            }
        }
        return frame
    }

    /// A key frame of a moment ago with what followed it; empty where there is none.
    func start(now: Instant) -> [(frame: PacketizedFrame, picture: EncodedVideoFrame)] {
        guard let since = recentSince, now - since < KeyFrameLimiter.interval else { return [] }
        return recent
    }

    mutating func requestKeyFrame() { limiter.request() }

    /// Whether the encoder shall be told now: at most twice a second.
    mutating func pollKeyFrame(now: Instant) -> Bool {
        defer { keyFrameDeadline = limiter.nextDeadline(now: now) }
        return limiter.poll(now: now)
    }
}
