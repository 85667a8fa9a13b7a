import EmisoraCodecs
import EmisoraCore
import EmisoraPeerEngine
import EmisoraVideo

/// Brings what the encoders make in line with what the present receivers ask for. Confined to the event loop's thread.
final class WishesControl {
    private let video: VideoPipeline?
    private let audio: AudioPipeline?
    private var applied = ReceiverWishes()
    private var loss = ReportedLoss()
    private var videoReceivers = 0

    init(video: VideoPipeline?, audio: AudioPipeline?) {
        self.video = video
        self.audio = audio
    }

    /// To be called when receivers came or went, and with every turn, since they report and describe themselves anew.
    func update(for engines: [Engine], now: Instant) {
        let wishes = engines.lazy.filter(\.mayBeSentTo).map(\.wishes)
        videoReceivers = wishes.count { $0.video != nil }
        var joined = ReceiverWishes(joining: Array(wishes))
        joined.sound.fractionLost = loss.update(joined.sound.fractionLost, now: now)
        guard joined != applied else { return }
        if joined.sound != applied.sound { audio?.update(joined.sound) }
        applied = joined
        video?.update {
            $0.limits = joined.limits
            $0.signalsOrientation = joined.takeOrientation
        }
    }

    /// Whether a receiver can show this picture. One that it cannot was encoded before its limits were heeded, or for
    /// others who must not suffer from what it cannot do.
    func suits(_ picture: EncodedVideoFrame, _ engine: Engine) -> Bool {
        guard let wishes = engine.wishes.video, ReceiverWishes.isServed(wishes, among: videoReceivers) else {
            return engine.wishes.video == nil
        }
        return wishes.suits(VideoSize(width: picture.width, height: picture.height), picture.rotation)
    }
}

/// The worst loss of the last while, since a path that loses goes on to lose: reports are 5 s apart and single ones say
/// little.
struct ReportedLoss {
    private static let memory: Duration = .seconds(20)

    private var worst = 0.0
    private var at = Instant.zero

    /// Takes the worst of the present reports.
    mutating func update(_ fraction: Double, now: Instant) -> Double {
        if fraction >= worst || now - at > Self.memory { (worst, at) = (fraction, now) }
        return worst
    }
}

extension PeerEngine {
    /// Media may go to it, if only to see whether its path comes back.
    fileprivate var mayBeSentTo: Bool { connectionState == .connected || connectionState == .disconnected }
}
