import Emisora

/// Receives a stream of a room whenever it is there: waits for it, and takes it up again when it comes back. Either one
/// that a participant publishes, or one that an HTTP encoder sends.
actor StreamFollower {
    private let session: Session
    private let wanted: String?
    private let offerer: Offerer?
    private let receives: Bool
    private var wasConnected = false
    /// Whether a stream is there now.
    private var isReceiving = false
    /// Whether there is nothing to wait for.
    private var isHopeless = false
    private let sink: WatchSink
    private var subscriber: Subscriber?
    private var figures = WatchFigures()

    init(session: Session, stream: String?, offerer: Offerer?, receives: Bool, sink: WatchSink) {
        self.session = session
        wanted = stream
        self.offerer = offerer
        self.receives = receives
        self.sink = sink
    }

    func run() async {
        await receiveOrFollow()
        if isHopeless { return }
        for await event in session.events {
            switch event {
            case .streamPublished(let name): if !receives { await follow([name]) }
            case .subscriptionConnected:
                wasConnected = true
                isReceiving = true
            case .subscriptionEnded(_, let reason):
                if subscriber != nil {
                    Terminal.note(
                        "The stream ended (\(reason)); waiting for it to come back.", as: "stream.ended", .warning)
                }
                await keepFigures()
                subscriber = nil
                isReceiving = false
                await receiveOrFollow()
            case .receivingEnded(_, let error):
                Terminal.note("emisora watch: \(error)", as: "receiving.ended", .error)
                // What flows goes on; without it there is nothing to wait for.
                isHopeless = !isReceiving
            case .iceConnectionStateChanged(_, _, .disconnected, let reason):
                Terminal.note("The path to the publisher is interrupted: \(reason)", as: "path.interrupted", .warning)
            case .selectedCandidatePairChanged(_, _, let pair):
                Terminal.note("Path to the publisher: \(pair.text)", as: "path.selected")
            case .iceServerFailed(let url, let reason):
                Terminal.note("\(url): \(reason)", as: "iceServer.failed", .warning, ["url": .text(url)])
            case .serverReported(let text): Terminal.note(text, as: "server.reported")
            case .reconnecting(let attempt, let reason):
                Terminal.note(
                    "\(reason) Attempt \(attempt) to come back.", as: "signaling.lost", .warning,
                    ["attempt": .integer(attempt)])
            case .reconnected: Terminal.note("The signaling server is back.", as: "signaling.restored")
            case .ended(let reason): Terminal.note("Session over: \(reason)", as: "session.ended", .warning)
            default: break
            }
            if isHopeless { return }
        }
    }

    /// Whether to try again would give the same: an address where nobody is, a server that refuses what we are.
    private func isFinal(_ error: SessionError) -> Bool {
        switch error {
        case .connectFailed: !wasConnected
        case .refused(let code, _):
            Int(code).map { (300...499).contains($0) && ![404, 408, 409, 425, 429].contains($0) } ?? false
        default: false
        }
    }

    private func receiveOrFollow() async {
        guard receives else { return await follow(await session.streams) }
        guard !Task.isCancelled, subscriber == nil else { return }
        let subscriber = Subscriber(videoSink: sink, audioSink: sink)
        self.subscriber = subscriber
        do {
            try await session.receive(subscriber, as: wanted)
            Terminal.note("Receiving \(wanted ?? "any stream"); waiting for an encoder.", as: "receive.waiting")
        } catch .cancelled {
            self.subscriber = nil
        } catch {
            Terminal.note("emisora watch: \(error)", as: "receive.failed", .error)
            self.subscriber = nil
            isHopeless = true
        }
    }

    private func follow(_ streams: [String]) async {
        // What was already on its way when the task was cancelled is no reason to begin anew.
        guard !Task.isCancelled, subscriber == nil, let name = streams.first(where: { wanted == nil || wanted == $0 })
        else { return }
        let subscriber = Subscriber(videoSink: sink, audioSink: sink)
        self.subscriber = subscriber
        do {
            try await session.subscribe(subscriber, to: name, offerer: offerer)
        } catch .cancelled {
            self.subscriber = nil
        } catch {
            Terminal.note("\(name): \(error)", as: "subscribe.failed", .warning, ["stream": .text(name)])
            if self.subscriber === subscriber { self.subscriber = nil }
            isHopeless = isHopeless || isFinal(error)
        }
    }

    /// Ends receiving and gives the figures of all of it.
    func finish() async -> WatchFigures {
        await keepFigures()
        if let subscriber { await session.unsubscribe(subscriber) }
        sink.fill(&figures)
        return figures
    }

    private func keepFigures() async {
        guard let now = await session.statistics().subscribers.first else { return }
        figures.framesDecoded += now.framesDecoded
        figures.keyFramesDecoded += now.keyFramesDecoded
        figures.framesReceived += now.framesReceived
        figures.framesDropped += now.framesDropped
        figures.frameWidth = now.frameWidth
        figures.frameHeight = now.frameHeight
        figures.bytesReceived += now.bytesReceived
        figures.packetsReceived += now.packetsReceived
        figures.packetsLost += now.packetsLost
        figures.jitter = now.jitter
        figures.retransmittedPacketsReceived += now.retransmittedPacketsReceived
        figures.fecPacketsReceived += now.fecPacketsReceived
        figures.fecBytesReceived += now.fecBytesReceived
        figures.fecPacketsDiscarded += now.fecPacketsDiscarded
        figures.packetsRepaired += now.packetsRepaired
        figures.nackCount += now.nackCount
        figures.pliCount += now.pliCount
        figures.totalSamplesReceived += now.totalSamplesReceived
        figures.concealedSamples += now.concealedSamples
        figures.announcedAudioLevel = now.announcedAudioLevel
        figures.playoutDelayMs = now.playoutDelay.map {
            [$0.lowerBound.inMilliseconds, $0.upperBound.inMilliseconds]
        }
        figures.transport = TransportFigures(now.transport)
        figures.srtpCipher = now.srtpCipher
        figures.dtlsCipher = now.dtlsCipher
        figures.timeToFirstFrameMs = figures.timeToFirstFrameMs ?? now.timeToFirstFrame?.inMilliseconds
    }
}
