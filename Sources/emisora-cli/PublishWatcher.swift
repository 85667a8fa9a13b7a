import Emisora

/// Follows a session that publishes: a line of live figures a second for a person, figures at the end for a machine.
actor PublishWatcher {
    private let session: Session
    private let start: Instant
    private var previous: PublisherStatistics?
    private var subscribersTotal = 0
    private var firstFrameAt: Instant?
    private var isEnded = false
    private(set) var figures = PublishFigures()
    /// What ended the source, if something did.
    private(set) var captureError: CaptureError?
    /// Why the session ended by itself, if it did.
    private(set) var endReason: SessionEndReason?
    private let main: TrackKind
    private let exposition: PublisherExposition

    /// - Parameter main: With the end of this source publishing ends.
    init(session: Session, main: TrackKind, start: Instant, exposition: PublisherExposition) {
        self.session = session
        self.main = main
        self.start = start
        self.exposition = exposition
    }

    /// Returns at `end`, on a termination signal, or when the session or the main source is over.
    func run(until end: Instant?) async {
        let session = session
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.followEvents() }
            group.addTask { await self.printFigures() }
            group.addTask { await Termination.wait() }
            if let end {
                group.addTask { try? await Task.sleep(for: end - MonotonicClock.now) }
            }
            await group.next()
            isEnded = true
            group.cancelAll()
        }
        await update(with: session.statistics())
    }

    private func followEvents() async {
        for await event in session.events {
            if isEnded { return }
            switch event {
            case .subscriberConnected(_, let count):
                subscribersTotal += 1
                Terminal.note(
                    "A viewer joined; \(count) now.", as: "viewer.joined", .info, ["viewers": .integer(count)])
            case .subscriberDisconnected(_, let count, let reason):
                Terminal.note(
                    "A viewer left (\(reason)); \(count) now.", as: "viewer.left", .info,
                    ["viewers": .integer(count), "reason": .text("\(reason)")])
            case .reconnecting(let attempt, let reason):
                exposition.canBeJoined = false
                Terminal.note(
                    "\(reason) Media goes on; attempt \(attempt) to come back.", as: "signaling.lost", .warning,
                    ["attempt": .integer(attempt)])
            case .subscriberFailed(_, let reason):
                Terminal.note("A viewer could not be reached: \(reason)", as: "viewer.failed", .warning)
            case .iceConnectionStateChanged(_, _, .disconnected, let reason):
                Terminal.note("The path to a viewer is interrupted: \(reason)", as: "path.interrupted", .warning)
            case .selectedCandidatePairChanged(_, _, let pair):
                Terminal.note("Path to a viewer: \(pair.text)", as: "path.selected")
            case .iceServerFailed(let url, let reason):
                Terminal.note("\(url): \(reason)", as: "iceServer.failed", .warning, ["url": .text(url)])
            case .serverReported(let text): Terminal.note(text, as: "server.reported")
            case .reconnected:
                exposition.canBeJoined = true
                Terminal.note("The signaling server is back.", as: "signaling.restored")
            case .captureFailed(_, let error):
                Terminal.note("Capture failed: \(error)", as: "capture.failed", .error)
            case .ended(let reason):
                exposition.canBeJoined = false
                Terminal.note("Session over: \(reason)", as: "session.ended", .warning)
                endReason = reason
            case .captureReported(_, let kind, .ended(let error)):
                if let error { Terminal.note("\(kind) capture ended: \(error)", as: "capture.ended", .error) }
                // Sound without pictures goes on: someone may be listening.
                guard kind == main else { break }
                captureError = error
                Terminal.note("The source is over.", as: "source.over")
                return
            case .muteForced(_, let video, let audio, _, let reason):
                let what = video && audio ? "Video and audio" : video ? "Video" : "Audio"
                Terminal.note(
                    "\(what) muted by a moderator" + (reason.map { ": \($0)" } ?? "."), as: "publish.muteForced",
                    .warning,
                    ["video": .flag(video), "audio": .flag(audio)])
            case .forceDisconnected, .connectionCreated, .connectionDestroyed, .signalReceived, .requestRefused,
                .streamPropertyChanged:
                break
            case .streamPublished, .streamUnpublished, .subscriptionConnected, .receivingEnded, .subscriptionEnded,
                .captureReported, .iceConnectionStateChanged:
                break
            }
        }
    }

    private func printFigures() async {
        while !Task.isCancelled, !isEnded {
            // The interval of the display itself; nothing waits for it.
            try? await Task.sleep(for: .seconds(1))
            guard !Task.isCancelled, !isEnded else { return }
            let statistics = await session.statistics()
            guard let now = statistics.publishers.first else { continue }
            update(with: statistics)
            exposition.update(with: statistics)
            if let previous {
                let frames = now.framesEncoded - previous.framesEncoded
                let kilobits = Double(now.bytesEncoded - previous.bytesEncoded) * 8 / 1_000
                let dropped = now.capture.dropped - previous.capture.dropped
                let rate = now.targetBitrate.map { "  rate \($0.bitsPerSecond / 1_000)" } ?? ""
                let limit = now.qualityLimitationReason == .none ? "" : " (\(now.qualityLimitationReason.rawValue))"
                let idle = now.subscriberCount == 0 ? " (idle: nobody watches)" : ""
                Terminal.note(
                    "\(frames) fps  \(Int(kilobits)) kbit/s\(rate)\(limit)  viewers \(now.subscriberCount)  "
                        + "drops \(dropped)/s  captured \(now.capture.captured)\(idle)",
                    as: "figures", .info,
                    [
                        "framesPerSecond": .number(Double(frames)), "kilobitsPerSecond": .number(kilobits),
                        "viewers": .integer(now.subscriberCount), "dropped": .integer(dropped),
                        "framesCaptured": .integer(now.capture.captured),
                        "qualityLimitationReason": .text(now.qualityLimitationReason.rawValue),
                    ])
            }
            previous = now
        }
    }

    private func update(with statistics: SessionStatistics) {
        guard let now = statistics.publishers.first else { return }
        figures.keyFramesEncoded = now.keyFramesEncoded
        figures.framesSent = now.framesSent
        figures.bytesSent = now.bytesSent
        figures.packetsSent = now.packetsSent
        figures.retransmittedPacketsSent = now.retransmittedPacketsSent
        figures.fecPacketsSent = now.fecPacketsSent
        figures.fecBytesSent = now.fecBytesSent
        figures.nackCount = now.nackCount
        figures.pliCount = now.pliCount
        figures.firCount = now.firCount
        figures.audioFramesEncoded = now.audioFramesEncoded
        figures.totalEncodeTime = now.totalEncodeTime.inSeconds
        figures.encodings = now.encodings.map(EncodingFigures.init)
        figures.targetBitrate = now.targetBitrate?.bitsPerSecond
        // At the end there is nobody any more; what was known of the last ones stays.
        if let available = now.availableOutgoingBitrate {
            figures.availableOutgoingBitrate = available.bitsPerSecond
            figures.qualityLimitationReason = now.qualityLimitationReason.rawValue
        }
        figures.subscribersTotal = subscribersTotal
        if !now.transports.isEmpty { figures.transports = now.transports.map(TransportFigures.init) }
        figures.timeToFirstFrameMs = now.firstFrameEncodedAt.map { ($0 - start).inMilliseconds }
    }
}
