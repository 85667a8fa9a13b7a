import EmisoraCapture
import EmisoraCodecs
import EmisoraCore
import EmisoraCrypto
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSignalingProtocol
import Glibc

/// Hands what was encoded once to every subscriber: packetised once, shared by all queues and histories. Confined to the
/// event loop's thread.
final class MediaFanout: TurnParticipant {
    private let video: VideoPipeline?
    private let audio: AudioPipeline?
    private var subscribers: [Subscriber] = []
    /// The publisher's encodings by their number; one without simulcast.
    private var streams: [EncodedStream]
    /// Which of them peers without simulcast get.
    private let main: Int
    private let rates: EncoderRate
    private let wishes: WishesControl
    private var sendsPictures = true

    struct Subscriber {
        let id: String
        let peer: Peer
        var ledger = DeliveryLedger()
        /// Of which encodings it was given a key frame to begin with.
        var hasBegun: Set<Int> = []
        /// Encodings of which a picture was left out for it: those behind are of use from the next key frame on.
        var isBehind: Set<Int> = []
        /// What it wants to be sent.
        var media = MediaSelection.everything
    }

    init(video: VideoPipeline?, audio: AudioPipeline?) {
        self.video = video
        self.audio = audio
        rates = EncoderRate(video: video, audioBitrate: audio?.bitrate)
        wishes = WishesControl(video: video, audio: audio)
        let encodings = video?.layers?.encodings ?? []
        streams = (0..<max(1, encodings.count)).map { _ in EncodedStream() }
        main = VideoEncoding.main(of: encodings)
    }

    /// While none are sent, those of a moment before are handed to nobody who comes.
    func setSendsPictures(_ sends: Bool) {
        sendsPictures = sends
    }

    /// Leaves out what a subscriber does not want.
    func select(_ media: MediaSelection, for peer: Peer, now: Instant) {
        guard let index = subscribers.firstIndex(where: { $0.peer === peer }) else { return }
        let gainsVideo = media.video && !subscribers[index].media.video
        subscribers[index].media = media
        // Its encodings are those it is behind in.
        if gainsVideo { for encoding in subscribers[index].isBehind { requestKeyFrame(encoding, now: now) } }
    }

    /// How many of these subscribers want pictures, and how many sound.
    func receivers(among ids: Set<String>) -> (video: Int, audio: Int) {
        let present = subscribers.filter { ids.contains($0.id) }
        return (present.count { $0.media.video }, present.count { $0.media.audio })
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
    ///
    /// - Parameter encoding: Of which; `nil`: of the one for peers without simulcast.
    func keyFrameNeeded(by peer: Peer, encoding: Int? = nil, now: Instant) {
        let encoding = encoding ?? main
        guard streams.indices.contains(encoding) else { return }
        let recent = streams[encoding].start(now: now)
        if let index = subscribers.firstIndex(where: { $0.peer === peer }),
            sendsPictures, subscribers[index].media.video, !subscribers[index].hasBegun.contains(encoding),
            !recent.isEmpty,
            mayHave(recent.map(\.picture), peer.engine)
        {
            subscribers[index].hasBegun.insert(encoding)
            for (frame, picture) in recent {
                // Not counted: the ledger counts each encoded picture once.
                _ = subscribers[index].peer.engine.sendVideo(
                    frame, encoding: encoding, captureTime: picture.captureTime, now: now)
            }
            return
        }
        requestKeyFrame(encoding, now: now)
    }

    private func requestKeyFrame(_ encoding: Int, now: Instant) {
        streams[encoding].requestKeyFrame()
        pollKeyFrames(now: now)
    }

    /// Pictures of before somebody joined were made without regard to what it can decode.
    private func mayHave(_ recent: [EncodedVideoFrame], _ engine: Engine) -> Bool {
        let most = engine.wishes.video?.limits.maximumFrameRate.map(Double.init) ?? .infinity
        return most >= video?.currentSettings.maximumFramesPerSecond ?? 0
            && recent.allSatisfy { wishes.suits($0, engine) }
    }

    func turn(now: Instant) {
        wishes.update(for: engines, now: now)
        for encoding in streams.indices {
            let pictures = encoding == main ? video?.queue.takeAll() : video?.layers?.takeAll(encoding)
            for encoded in pictures ?? [] { send(encoded, encoding, now: now) }
        }
        for encoded in audio?.queue.takeAll() ?? [] { send(encoded, now: now) }
        pollKeyFrames(now: now)
        rates.turn(for: engines, now: now)
    }

    var nextDeadline: Instant? {
        (streams.map(\.keyFrameDeadline) + [rates.nextDeadline]).lazy.compactMap { $0 }.min()
    }

    private func pollKeyFrames(now: Instant) {
        for encoding in streams.indices where streams[encoding].pollKeyFrame(now: now) {
            if encoding == main { video?.requestKeyFrame() } else { video?.layers?.requestKeyFrame(encoding) }
        }
    }

    private func send(_ encoded: EncodedVideoFrame, _ encoding: Int, now: Instant) {
        guard let frame = streams[encoding].packetize(encoded, now: now) else { return }
        for index in subscribers.indices {
            let engine = subscribers[index].peer.engine
            // What a peer does not take of a simulcast is none of its deliveries.
            guard encoding == main || engine.simulcast.contains(where: { $0.encoding == encoding }) else { continue }
            if let reason = reasonAgainst(encoded, encoding, &subscribers[index]) {
                subscribers[index].ledger.recordEncoded()
                subscribers[index].ledger.recordNotSent(reason)
                // What made pictures suit again begins with a key frame by itself, but for a change of their rate.
                if reason == .awaitingKeyFrame { requestKeyFrame(encoding, now: now) }
                continue
            }
            let result = engine.sendVideo(frame, encoding: encoding, captureTime: encoded.captureTime, now: now)
            subscribers[index].ledger.record(result)
            if result == .queued { subscribers[index].hasBegun.insert(encoding) }
        }
    }

    /// Why a picture cannot be of use to a subscriber.
    private func reasonAgainst(
        _ picture: EncodedVideoFrame, _ encoding: Int, _ subscriber: inout Subscriber
    ) -> NotSentReason? {
        guard subscriber.media.video else {
            subscriber.isBehind.insert(encoding)
            return .paused
        }
        guard wishes.suits(picture, subscriber.peer.engine) else {
            subscriber.isBehind.insert(encoding)
            return .unsuitable
        }
        if picture.isKeyFrame { subscriber.isBehind.remove(encoding) }
        return subscriber.isBehind.contains(encoding) ? .awaitingKeyFrame : nil
    }

    private func send(_ encoded: EncodedAudioFrame, now: Instant) {
        let packetized = try? OpusPacketizer.packetize(
            payload: encoded.payload, startsTalkspurt: encoded.startsTalkspurt,
            audioLevel: HeaderExtensionValues.AudioLevel(rootMeanSquare: encoded.level))
        guard let frame = packetized else { return }
        for subscriber in subscribers where subscriber.media.audio {
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
        case .paused: recordNotSent(.paused)
        case .waitingForKeyFrame: recordNotSent(.awaitingKeyFrame)
        case .queueFull: recordNotSent(.queueFull)
        case .congestion: recordNotSent(.congestion)
        }
    }
}
