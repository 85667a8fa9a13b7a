import EmisoraCore
import EmisoraCrypto
import EmisoraICE
import EmisoraRTP
import EmisoraSCTP
import EmisoraSDP
import EmisoraSTUN

/// One peer connection without socket, thread or clock: ICE, transport security and media streams behind one surface.
///
/// It only routes between its machines. Call one mutating method, then drain `pollTransmit`, `pollEvent`,
/// `pollVideoFrame`, then wait until `nextDeadline` and call `handleTimeout`. Confined to one thread; generic over
/// its security, so that a simulator can run it in virtual time.
///
/// ```
/// datagram ─▶ STUN ──▶ ICE ──selected path──▶ security ──established──▶ streams
///            DTLS ──▶ security (only from validated paths)
///         RTP/RTCP ─▶ security.unprotect ─▶ receive streams, feedback to send streams
/// ```
package final class PeerEngine<Security: TransportSecurity> {
    /// What a packetiser may put into one packet. A datagram is 1200 bytes at the most: a parity packet over such packets
    /// has header and extension of its own, 24 bytes of FlexFEC's, the packets' extension and the SRTP tag besides.
    package static var maximumPayloadByteCount: Int { 1_100 }

    let configuration: PeerConfiguration
    /// What we have sent or could send, with sources that stay through all re-offers.
    var tracks: [MediaConfiguration.Track]
    var ice: ICEAgent
    var security: Security
    var negotiation: OfferAnswerMachine
    var random: RandomSource
    let cname: String

    /// What we send of pictures: one stream, or the layers of a simulcast.
    var videoLayers: [VideoLayer] = []
    var audioSender: RTPSendStream?
    var videoReceiver: RTPVideoReceiveStream?
    var audioReceiver: RTPAudioReceiveStream?
    var negotiated: NegotiatedSession?
    var negotiatedWishes = PeerWishes()

    var state: PeerConnectionState = .new
    var events: [PeerEvent] = []
    /// A circuit breaker holds pictures back.
    var isVideoPaused = false
    /// Both sides want sound sent: not while on hold.
    var isAudioWanted = false
    /// Which of the peer's sources of pictures is taken.
    var videoSources = VideoSources()
    var isSecurityStarted = false
    var remoteFingerprints: [Fingerprint] = []
    /// DTLS datagrams of the peer that overtook the answer to our own check on their path.
    var earlyDatagrams = EarlyDatagrams()
    var silence = PathSilence()
    /// When something authentic came from the peer by the selected path, if only a report; `nil`: nothing yet.
    package var lastHeardAt: Instant? { silence.lastHeardAt }
    /// Our candidates that the peer knows, from our description or one by one.
    var told = ToldCandidates()
    var reports: RTCPSchedule
    var isReportDue = false
    var isGoodbyeDue = false
    /// Where the last words go after the agent has closed.
    var lastPath: ICEPath?
    var firSequenceNumber: UInt8 = 0
    /// Sources of ours that gave way to a peer's of the same number; the next report says BYE for them.
    var departedSources: [UInt32] = []
    /// How often a source of ours gave way.
    var collisions = 0
    var packetsDiscarded: UInt64 = 0
    /// Sees all packets in the clear; for dumps and tests.
    package var packetTap: PacketTap?
    var sending: SendControl
    /// The peer tells of each packet by SSRC and number (RFC 8888).
    var isToldOfEachPacket = false
    var repair = RepairPolicy()
    /// Of media alone; what ``setMaximumBitrate(_:start:now:)`` set last.
    package var maximumBitrate: DataRate?
    var receiving = ReceiveControl()
    var playout = PlayoutControl()
    /// `nil` where they are not wanted.
    var dataChannels: DataChannels?
    /// Volume of the sound that came last, where the sender tells it.
    var remoteAudioLevel: HeaderExtensionValues.AudioLevel?

    package init(
        configuration: PeerConfiguration, security: Security, pacer: TransactionPacer,
        random: RandomSource, now: Instant
    ) {
        self.configuration = configuration
        self.security = security
        var random = random
        ice = ICEAgent(role: .controlled, options: configuration.iceOptions, pacer: pacer, random: random.split())
        for address in configuration.localAddresses { ice.addLocalHost(address, now: now) }
        for address in configuration.passiveAddresses { ice.addPassiveHost(address, now: now) }
        if !configuration.gathersCandidates { ice.endLocalCandidates(now: now) }
        cname = RandomToken.make(length: 16, using: &random)
        tracks = configuration.media.map { Self.track($0, using: &random) }
        var media = MediaConfiguration(tracks: tracks, cname: cname, streamID: "emisora")
        media.hasDataChannels = configuration.hasDataChannels
        negotiation = OfferAnswerMachine(configuration: media, sessionID: random.next())
        dataChannels = configuration.hasDataChannels ? DataChannels() : nil
        self.security.takesApplicationData = configuration.hasDataChannels
        reports = RTCPSchedule(now: now, using: &random)
        sending = SendControl(now: now)
        self.random = random
    }

    // MARK: Sending media

    /// Queues an encoded picture for this peer.
    ///
    /// - Parameter encoding: Which of the publisher's encodings it is of.
    package func sendVideo(
        _ frame: PacketizedFrame, encoding: Int = 0, captureTime: Instant, now: Instant
    ) -> FrameSendResult {
        guard let index = videoLayers.firstIndex(where: { $0.encoding == encoding }) else {
            return negotiated == nil ? .notConnected : .notNegotiated
        }
        guard videoLayers[index].isWanted else { return .paused }
        guard isReadyForMedia, !sending.isPaused.contains(.media) else { return .notConnected }
        guard videoLayers[index].isActive else { return .congestion }
        if videoLayers[index].isWaitingForKeyFrame, !frame.isKeyFrame {
            return videoLayers[index].resumeAt == nil ? .waitingForKeyFrame : .congestion
        }
        guard hasRoomForVideo(index, now: now) else { return .congestion }
        switch videoLayers[index].stream.enqueue(frame, captureTime: captureTime, now: now) {
        case .queued:
            videoLayers[index].isWaitingForKeyFrame = false
            videoLayers[index].resumeAt = nil
            return .queued
        case .queueFull:
            // What follows refers to this picture: nothing is of use before the next key frame.
            videoLayers[index].isWaitingForKeyFrame = true
            needKeyFrame(encoding)
            return .queueFull
        case .empty: return .notNegotiated
        }
    }

    /// Queues an encoded stretch of sound for this peer.
    package func sendAudio(_ frame: PacketizedFrame, captureTime: Instant, now: Instant) -> FrameSendResult {
        guard audioSender != nil else { return negotiated == nil ? .notConnected : .notNegotiated }
        guard isAudioWanted else { return .paused }
        guard isReadyForMedia, !sending.isPaused.contains(.audio) else { return .notConnected }
        return audioSender?.enqueue(frame, captureTime: captureTime, now: now) == .queued
            ? .queued : .queueFull
    }

    var isReadyForMedia: Bool { security.isEstablished && ice.selectedPath != nil }

    // MARK: Receiving media

    /// The next complete frame, once it is due: a moment before `playAt`, in which it is decoded.
    package func pollVideoFrame(now: Instant) -> ReceivedFrame? {
        videoReceiver?.pollFrame(now: now)
    }

    /// What to play next; to be called every 20 ms while sound is received.
    package func popAudio(now: Instant) -> AudioJitterBuffer.Output? {
        let output = audioReceiver?.pop(now: now)
        synchronize(now: now)
        return output
    }

    /// The decoder lost its way: asks the sender for a key frame.
    package func requestKeyFrame(now: Instant) {
        videoReceiver?.requestKeyFrame(now: now)
    }

    /// The sender's clock, which lines sound up with pictures.
    package var videoSenderClock: SenderClock? { videoReceiver?.senderClock }
    package var audioSenderClock: SenderClock? { audioReceiver?.senderClock }

    // MARK: Time and outputs

    package func handleTimeout(now: Instant) {
        guard state != .closed else { return }
        breakSilence(now: now)
        ice.handleTimeout(now: now)
        security.handleTimeout(now: now)
        videoReceiver?.handleTimeout(now: now)
        dataChannels?.handleTimeout(now: now)
        handleSendTimeout(now: now)
        if security.isEstablished, reports.isDue(now: now) {
            isReportDue = true
            reports.didSendReport(now: now, using: &random)
        }
        settle(now: now)
    }

    package func pollEvent() -> PeerEvent? {
        events.isEmpty ? nil : events.removeFirst()
    }

    /// Writes the next datagram into `buffer`, which holds 1500 bytes; `nil` when there is nothing to send.
    package func pollTransmit(into buffer: inout MutableRawSpan, now: Instant) -> Transmit? {
        if let transmit = ice.pollTransmit(into: &buffer, now: now) {
            let path = ICEPath(
                local: transmit.source, remote: transmit.destination, transport: transmit.transport)
            showSent(buffer, byteCount: transmit.byteCount, on: path, now: now)
            return transmit
        }
        guard let path = ice.selectedPath ?? (state == .closed ? lastPath : nil) else { return nil }
        let byteCount =
            isGoodbyeDue
            ? pollGoodbye(into: &buffer, now: now)
            : pollSecurity(into: &buffer, now: now) ?? pollDataChannels(into: &buffer, now: now)
                ?? pollReport(into: &buffer, now: now) ?? pollMedia(into: &buffer, now: now)
        return byteCount.map { path.transmit(byteCount: $0) }
    }

    /// Says BYE and `close_notify`; drain `pollTransmit` afterwards. Nothing is sent or accepted after that.
    package func close() {
        guard state != .closed else { return }
        lastPath = ice.selectedPath
        isGoodbyeDue = lastPath != nil
        closeDataChannels(reason: "The connection was closed.")
        ice.close()
        enter(.closed, reason: "")
    }

    // MARK: Inside

    /// A track of ours with sources of its own.
    static func track(
        _ media: PeerConfiguration.Media, using random: inout RandomSource
    ) -> MediaConfiguration.Track {
        func source() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }
        let isVideo = media.kind == .video
        var track = MediaConfiguration.Track(
            kind: media.kind, sends: media.sends, receives: media.receives, ssrc: source(),
            headerExtensions: headerExtensions(media.kind).map(\.uri), isStereo: media.isStereo)
        let (retransmissionSSRC, repairSSRC) = (source(), source())
        track.retransmissionSSRC = isVideo ? retransmissionSSRC : nil
        track.repairSSRC = isVideo && media.sends ? repairSSRC : nil
        guard isVideo, media.encodings.indices.contains(media.mainEncoding) else { return track }
        track.encodings = media.encodings.map { rid in
            MediaConfiguration.Encoding(rid: rid, ssrc: source(), retransmissionSSRC: source())
        }
        track.mainEncoding = media.mainEncoding
        track.encodings[media.mainEncoding].ssrc = track.ssrc
        track.encodings[media.mainEncoding].retransmissionSSRC = retransmissionSSRC
        return track
    }

    func enter(_ new: PeerConnectionState, reason: String) {
        guard new != state, state != .closed else { return }
        state = new
        if new == .failed || new == .closed { closeDataChannels(reason: reason) }
        events.append(.stateChanged(new, reason: reason))
    }

    private func tell(_ state: ICEState) {
        let reason =
            switch state {
            case .disconnected: ice.disconnectionReason
            case .failed(let reason): reason
            case .new, .checking, .connected, .closed: ""
            }
        events.append(.iceStateChanged(state, reason: reason))
    }

    /// Passes on what one machine's change means for the others.
    func settle(now: Instant) {
        while let event = ice.pollEvent() {
            if case .stateChanged(let state) = event { tell(state) }
            switch event {
            case .selectedPathChanged(let path, let statistics):
                startSecurityIfPossible(now: now)
                feedEarlyDatagrams(now: now)
                lastPath = path
                sending.pathChanged(now: now)
                heedPause()
                events.append(.selectedPathChanged(statistics))
            case .stateChanged(.disconnected): enter(.disconnected, reason: ice.disconnectionReason)
            case .stateChanged(.connected):
                if security.isEstablished { enter(.connected, reason: "") }
            case .stateChanged(.failed(let reason)): enter(.failed, reason: reason)
            case .localCandidate(let candidate): tell(candidate)
            case .localCandidatesEnded: tellEnd()
            case .connectionWanted(let address): events.append(.connectionWanted(to: address))
            case .stateChanged: break
            }
        }
        while let event = security.pollEvent() {
            switch event {
            case .established:
                isReportDue = true
                enter(.connected, reason: "")
                beginLayers()
                connectDataChannels(now: now)
            case .failed(let reason):
                ice.close()
                enter(.failed, reason: reason)
            case .closed:
                ice.close()
                enter(.closed, reason: "The peer said goodbye.")
            }
        }
        takeApplicationData(now: now)
    }
}

/// Bytes of the peer that cannot be judged yet; few, small, and only until the path they came by is validated.
struct EarlyDatagrams {
    private static let limit = 8
    private static let byteLimit = 2_048
    private var datagrams: [(path: ICEPath, bytes: [UInt8])] = []

    mutating func append(_ datagram: RawSpan, path: ICEPath) {
        guard datagrams.count < Self.limit, datagram.byteCount <= Self.byteLimit else { return }
        datagrams.append((path, datagram.withUnsafeBytes { Array($0) }))
    }

    /// Takes those out that came by paths for which `isValidated` holds.
    mutating func take(where isValidated: (ICEPath) -> Bool) -> [[UInt8]] {
        guard !datagrams.isEmpty else { return [] }
        let taken = datagrams.filter { isValidated($0.path) }.map(\.bytes)
        datagrams.removeAll { isValidated($0.path) }
        return taken
    }
}
