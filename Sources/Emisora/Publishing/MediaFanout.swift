import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraCrypto
import EmisoraPeerEngine
import EmisoraRTP

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
    private var recent: [(frame: PacketizedFrame, captureTime: Instant)] = []
    private var recentSince: Instant?
    private var keyFrameDeadline: Instant?

    struct Subscriber {
        let id: String
        let peer: Peer
        var ledger = DeliveryLedger()
        /// Whether it was given a key frame to begin with.
        var hasBegun = false
    }

    init(video: VideoPipeline?, audio: AudioPipeline?) {
        self.video = video
        self.audio = audio
        var random = SecureRandom()
        pictureIDs = VP8PictureIDSequence(startingAt: UInt16(truncatingIfNeeded: random.next()))
    }

    var subscriberCount: Int { subscribers.count }
    var ledgers: [String: DeliveryLedger] {
        Dictionary(subscribers.map { ($0.id, $0.ledger) }, uniquingKeysWith: { first, _ in first })
    }
    var engines: [Engine] { subscribers.map(\.peer.engine) }

    func add(_ peer: Peer, id: String) {
        subscribers.append(Subscriber(id: id, peer: peer))
    }

    /// Forgets a subscriber; gives the ledger of what it got.
    func remove(_ peer: Peer) -> DeliveryLedger? {
        guard let index = subscribers.firstIndex(where: { $0.peer === peer }) else { return nil }
        return subscribers.remove(at: index).ledger
    }

    /// A subscriber needs a key frame: the one of a moment ago serves where it has not had it, else a new one is asked
    /// for, at most two a second.
    func keyFrameNeeded(by peer: Peer, now: Instant) {
        if let index = subscribers.firstIndex(where: { $0.peer === peer }), !subscribers[index].hasBegun,
            let since = recentSince,
            now - since < KeyFrameLimiter.interval, !recent.isEmpty
        {
            subscribers[index].hasBegun = true
            for (frame, captureTime) in recent {
                // Not counted: the ledger counts each encoded picture once.
                _ = subscribers[index].peer.engine.sendVideo(frame, captureTime: captureTime, now: now)
            }
            return
        }
        limiter.request()
        pollLimiter(now: now)
    }

    func turn(now: Instant) {
        for encoded in video?.queue.takeAll() ?? [] { send(encoded, now: now) }
        for encoded in audio?.queue.takeAll() ?? [] { send(encoded, now: now) }
        pollLimiter(now: now)
    }

    var nextDeadline: Instant? { keyFrameDeadline }

    private func pollLimiter(now: Instant) {
        if limiter.poll(now: now) { video?.requestKeyFrame() }
        keyFrameDeadline = limiter.nextDeadline(now: now)
    }

    private func send(_ encoded: EncodedVideoFrame, now: Instant) {
        let packetized = try? VP8Packetizer.packetize(
            payload: encoded.payload, isKeyFrame: encoded.isKeyFrame, pictureID: pictureIDs.next(),
            maxPayloadSize: Engine.maximumPayloadByteCount)
        guard let frame = packetized else { return }
        if encoded.isKeyFrame {
            limiter.didProduceKeyFrame(now: now)
            recent.removeAll(keepingCapacity: true)
            recentSince = now
        }
        if let since = recentSince {
            if now - since < KeyFrameLimiter.interval {
                recent.append((frame, encoded.captureTime))
            } else {
                recent.removeAll(keepingCapacity: true)
                recentSince = nil
            }
        }
        for index in subscribers.indices {
            let result = subscribers[index].peer.engine.sendVideo(frame, captureTime: encoded.captureTime, now: now)
            subscribers[index].ledger.record(result)
            if result == .queued { subscribers[index].hasBegun = true }
        }
    }

    private func send(_ encoded: EncodedAudioFrame, now: Instant) {
        guard let frame = try? OpusPacketizer.packetize(payload: encoded.payload) else { return }
        for subscriber in subscribers {
            _ = subscriber.peer.engine.sendAudio(frame, captureTime: encoded.captureTime, now: now)
        }
    }
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
        }
    }
}
