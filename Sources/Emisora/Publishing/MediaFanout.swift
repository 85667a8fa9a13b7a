import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraCrypto
import EmisoraPeerEngine
import EmisoraRTP
import Glibc

/// Hands what was encoded once to every subscriber: packetised once, shared by all queues and histories. Confined to the
/// event loop's thread.
///
/// The pictures since the last key frame are kept for half a second, so that who joins within that time begins with
/// them at once and costs no further key frame.
final class MediaFanout: TurnParticipant {
    private let video: VideoPipeline?
    private let audio: AudioPipeline?
    private var subscribers: [Subscriber] = []
    private var pictureIDs: VP8PictureIDSequence
    private var limiter = KeyFrameLimiter()
    private var recent: [(frame: PacketizedFrame, picture: EncodedVideoFrame)] = []
    private var recentSince: Instant?
    private var keyFrameDeadline: Instant?
    private let rates: EncoderRate
    private let wishes: WishesControl

    struct Subscriber {
        let id: String
        let peer: Peer
        var ledger = DeliveryLedger()
        /// Whether it was given a key frame to begin with.
        var hasBegun = false
        /// A picture was left out for it: those behind are of use from the next key frame on.
        var isBehind = false
    }

    init(video: VideoPipeline?, audio: AudioPipeline?) {
        self.video = video
        self.audio = audio
        rates = EncoderRate(video: video, audioBitrate: audio?.bitrate)
        wishes = WishesControl(video: video, audio: audio)
        var random = SecureRandom()
        pictureIDs = VP8PictureIDSequence(startingAt: UInt16(truncatingIfNeeded: random.next()))
    }

    var subscriberCount: Int { subscribers.count }
    var ledgers: [String: DeliveryLedger] {
        Dictionary(subscribers.map { ($0.id, $0.ledger) }, uniquingKeysWith: { first, _ in first })
    }
    var engines: [Engine] { subscribers.map(\.peer.engine) }

    func add(_ peer: Peer, id: String, now: Instant) {
        subscribers.append(Subscriber(id: id, peer: peer))
        rates.prepare(peer.engine, now: now)
    }

    /// Forgets a subscriber; gives the ledger of what it got.
    func remove(_ peer: Peer) -> DeliveryLedger? {
        guard let index = subscribers.firstIndex(where: { $0.peer === peer }) else { return nil }
        let ledger = subscribers.remove(at: index).ledger
        rates.update(for: engines)
        return ledger
    }

    /// A subscriber connected, or its path carries more or less than before.
    func pathChanged(now: Instant) {
        rates.update(for: engines)
        wishes.update(for: engines, now: now)
    }

    /// Whether a receiver can decode less than the source makes.
    var isLimitedByReceivers: Bool { video?.currentSettings.isLimited ?? false }

    var rateStatistics: EncoderRate.Statistics { rates.statistics(of: engines) }

    /// A subscriber needs a key frame: the one of a moment ago serves where it has not had it, else a new one is asked
    /// for, at most two a second.
    func keyFrameNeeded(by peer: Peer, now: Instant) {
        if let index = subscribers.firstIndex(where: { $0.peer === peer }), !subscribers[index].hasBegun,
            let since = recentSince,
            now - since < KeyFrameLimiter.interval, !recent.isEmpty, mayHaveRecent(peer.engine)
        {
            subscribers[index].hasBegun = true
            for (frame, picture) in recent {
                // Not counted: the ledger counts each encoded picture once.
                _ = subscribers[index].peer.engine.sendVideo(frame, captureTime: picture.captureTime, now: now)
            }
            return
        }
        requestKeyFrame(now: now)
    }

    private func requestKeyFrame(now: Instant) {
        limiter.request()
        pollLimiter(now: now)
    }

    /// Pictures of before somebody joined were made without regard to what it can decode.
    private func mayHaveRecent(_ engine: Engine) -> Bool {
        let most = engine.wishes.video?.limits.maximumFrameRate.map(Double.init) ?? .infinity
        return most >= video?.currentSettings.maximumFramesPerSecond ?? 0
            && recent.allSatisfy { wishes.suits($0.picture, engine) }
    }

    func turn(now: Instant) {
        wishes.update(for: engines, now: now)
        for encoded in video?.queue.takeAll() ?? [] { send(encoded, now: now) }
        for encoded in audio?.queue.takeAll() ?? [] { send(encoded, now: now) }
        pollLimiter(now: now)
        rates.turn(for: engines, now: now)
    }

    var nextDeadline: Instant? {
        [keyFrameDeadline, rates.nextDeadline].lazy.compactMap { $0 }.min()
    }

    private func pollLimiter(now: Instant) {
        if limiter.poll(now: now) { video?.requestKeyFrame() }
        keyFrameDeadline = limiter.nextDeadline(now: now)
    }

    private func send(_ encoded: EncodedVideoFrame, now: Instant) {
        let packetized = try? VP8Packetizer.packetize(
            payload: encoded.payload, isKeyFrame: encoded.isKeyFrame, pictureID: pictureIDs.next(),
            maxPayloadSize: Engine.maximumPayloadByteCount,
            orientation: HeaderExtensionValues.VideoOrientation(
                quarterTurns: UInt8(truncatingIfNeeded: encoded.rotation.quarterTurns)))
        guard let frame = packetized else { return }
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
        for index in subscribers.indices {
            if let reason = reasonAgainst(encoded, &subscribers[index]) {
                subscribers[index].ledger.recordEncoded()
                subscribers[index].ledger.recordNotSent(reason)
                // What made pictures suit again begins with a key frame by itself, but for a change of their rate.
                if reason == .awaitingKeyFrame { requestKeyFrame(now: now) }
                continue
            }
            let result = subscribers[index].peer.engine.sendVideo(frame, captureTime: encoded.captureTime, now: now)
            subscribers[index].ledger.record(result)
            if result == .queued { subscribers[index].hasBegun = true }
        }
    }

    /// Why a picture cannot be of use to a subscriber.
    private func reasonAgainst(_ picture: EncodedVideoFrame, _ subscriber: inout Subscriber) -> NotSentReason? {
        guard wishes.suits(picture, subscriber.peer.engine) else {
            subscriber.isBehind = true
            return .unsuitable
        }
        if picture.isKeyFrame { subscriber.isBehind = false }
        return subscriber.isBehind ? .awaitingKeyFrame : nil
    }

    private func send(_ encoded: EncodedAudioFrame, now: Instant) {
        let packetized = try? OpusPacketizer.packetize(
            payload: encoded.payload, startsTalkspurt: encoded.startsTalkspurt,
            audioLevel: HeaderExtensionValues.AudioLevel(rootMeanSquare: encoded.level))
        guard let frame = packetized else { return }
        for subscriber in subscribers {
            _ = subscriber.peer.engine.sendAudio(frame, captureTime: encoded.captureTime, now: now)
        }
    }
}

extension HeaderExtensionValues.AudioLevel {
    /// Above it sound is taken for voice: energy is all that is looked at.
    private static let voiceLevel: UInt8 = 50

    /// Of samples with this root mean square, 1 being full scale (RFC 6464 §3).
    init(rootMeanSquare: Double) {
        let decibels = rootMeanSquare > 0 ? -20 * log10(rootMeanSquare) : 127
        let level = UInt8(max(0, min(127, decibels.rounded())))
        self.init(hasVoice: level < Self.voiceLevel, level: level)
    }

    /// 0…1; 127 is silence.
    var linear: Double { level >= 127 ? 0 : pow(10, -Double(level) / 20) }
}

extension DeliveryLedger {
    /// A frame counts as sent when the subscriber's queue took it.
    fileprivate mutating func record(_ result: FrameSendResult) {
        recordEncoded()
        switch result {
        case .queued: recordSent()
        case .notConnected: recordNotSent(.notConnected)
        case .notNegotiated: recordNotSent(.notNegotiated)
        case .waitingForKeyFrame: recordNotSent(.awaitingKeyFrame)
        case .queueFull: recordNotSent(.queueFull)
        case .congestion: recordNotSent(.congestion)
        }
    }
}
