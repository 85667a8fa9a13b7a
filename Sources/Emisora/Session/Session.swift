import EmisoraCore
import EmisoraEventLoop
import EmisoraHTTPClient
import EmisoraSignalingClient

/// A room joined: publish streams into it, receive streams from it.
///
/// ```swift
/// let session = try await Session.connect(to: "ws://127.0.0.1:8080/demo")
/// try await session.publish(Publisher(videoCapture: NoiseCapture()))
/// for await event in session.events { print(event) }
/// ```
///
/// The actor runs on the session's network thread. A lost signaling connection is restored by itself, while media that
/// flows goes on.
public actor Session {
    public nonisolated let events: SessionEvents
    nonisolated let loop: EventLoop
    let core: SessionCore

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(channel: any SignalingChannel, options: Options) async throws(SessionError) {
        events = SessionEvents()
        do throws(SystemError) {
            loop = try EventLoop()
        } catch {
            throw .system("The network thread cannot be started. \(error)")
        }
        core = SessionCore(loop: loop, channel: channel, events: events)
        try await start(options)
    }

    private func start(_ options: Options) async throws(SessionError) {
        try core.start(options)
        try await core.wait {
            $0.awaitWelcome(timeout: options.connectTimeout, $1)
        } cancel: {
            $0.failWelcome(.cancelled)
        }
    }

    deinit {
        loop.stop()
    }

    // Each `async` call below heeds the cancellation of its task: it undoes what it began and throws `cancelled`.

    /// Joins the room of a URL such as `ws://127.0.0.1:8080/demo` or `wss://example.org/demo`; `options.token` is what the
    /// server may ask for.
    ///
    /// Or connects to a WHIP or WHEP endpoint (RFC 9725), such as `https://example.org/whip/studio`: a stream that is
    /// published then goes to that server, or the stream that it has is there to be subscribed to. What the server says
    /// of itself comes with the first request, so a wrong address shows in `publish` and `subscribe`.
    ///
    /// Or joins a room of a Janus's VideoRoom plugin, such as `janus://127.0.0.1:8188/1234` or, by TLS,
    /// `januss://example.org/1234`; ``JanusOptions`` is what the room may ask for. Where a proxy has Janus's websocket at a
    /// path, that stands before the room: `januss://example.org:443/janus/1234`.
    public static func connect(to url: String, options: Options = Options()) async throws(SessionError) -> Session {
        if let endpoint = HTTPURL(url) {
            return try await open(HTTPChannel(endpoint: endpoint, options: options), options)
        }
        if let room = try JanusURL(url) {
            return try await open(JanusChannel(room: room, options: options), options)
        }
        let parsed: SignalingURL
        do throws(SignalingURLError) {
            parsed = try SignalingURL(url)
        } catch {
            // What stands behind the room may be a secret in the wrong place.
            throw .invalidURL(String(url.prefix { $0 != "?" && $0 != "#" }))
        }
        return try await open(ServerChannel(url: parsed, options: options), options)
    }

    /// Two sessions in one process, joined without a server, over the loopback interface: for an application's own
    /// tests. What the one publishes the other can subscribe to; all of ICE, DTLS and SRTP is real.
    public static func loopback() async throws(SessionError) -> (Session, Session) {
        let (first, second) = LoopbackChannel.pair()
        let options = Options(addresses: .loopback)
        return (try await open(first, options), try await open(second, options))
    }

    /// A session without a room and without a server: whoever wants a connection brings its offer by a way of the
    /// application's own, see ``answer(_:sending:receiving:)``.
    public static func standalone(options: Options = Options()) async throws(SessionError) -> Session {
        try await open(StandaloneChannel(), options)
    }

    static func open(
        _ channel: any SignalingChannel, _ options: Options
    ) async throws(SessionError) -> Session {
        let session = try await Session(channel: channel, options: options)
        return session
    }

    /// The names of the streams that are live in the room, ours included.
    public var streams: [String] { core.roomStreams.map(\.stream) }

    /// Starts the publisher's capturers and announces its stream; returns when the room knows it.
    public func publish(_ publisher: Publisher) async throws(SessionError) {
        try core.reserve(publisher)
        do throws(SessionError) {
            try await publisher.begin(
                onEvent: { [weak core, loop] event in loop.execute { [weak core] in core?.handle(event, of: publisher) }
                },
                // A turn of the loop fetches what was encoded; the closure itself has nothing to do.
                onEncoded: { [loop] in loop.execute {} })
        } catch {
            // A publisher that did not begin here may be at work in another session.
            core.removePublication(publisher)
            throw error
        }
        let attempt = core.nextAttempt()
        do throws(SessionError) {
            try await core.wait {
                $0.announce(publisher, attempt: attempt, $1)
            } cancel: {
                $0.completeAnnouncement(of: publisher.name, attempt: attempt, .failure(.cancelled))
            }
        } catch {
            core.removePublication(publisher)
            await publisher.end()
            throw error
        }
    }

    /// Takes the stream out of the room and stops its capturers.
    public func unpublish(_ publisher: Publisher) async {
        core.removePublication(publisher)
        await publisher.end()
    }

    /// Receives a stream of the room; returns when its publisher has offered or answered. `subscriptionConnected`
    /// follows.
    ///
    /// - Parameter offerer: who makes the SDP offer; `nil` is what the room is used to: the subscriber where there is a
    ///   server, the publisher between sessions of one process.
    public func subscribe(
        _ subscriber: Subscriber, to stream: String, offerer: Offerer? = nil
    ) async throws(SessionError) {
        let id = core.makeSubscriptionID()
        let offerer = offerer ?? core.channel.usualOfferer
        try await core.wait {
            $0.subscribe(subscriber, to: stream, id: id, offerer: offerer, $1)
        } cancel: {
            $0.cancelSubscribe(id)
        }
    }

    /// Receives what an HTTP encoder (WHIP, RFC 9725: GStreamer, a browser; whoever has VP8) sends into the room; returns when the
    /// room's server knows of it. The encoder posts to `http://HOST:PORT/whip/ROOM/STREAM`, and
    /// `subscriptionConnected` follows.
    ///
    /// ```swift
    /// try await session.receive(Subscriber(videoSink: myView), as: "studio")
    /// for await case .subscriptionEnded(stream: "studio", _) in session.events {
    ///     try await session.receive(Subscriber(videoSink: myView), as: "studio")  // for the next encoder
    /// }
    /// ```
    ///
    /// A subscriber takes one encoder. Others are told to come back later until there is another one; the name stays
    /// this session's until ``stopReceiving(_:)``.
    ///
    /// - Parameter stream: the name under which encoders send; `nil`: any that nobody else receives.
    /// - Throws: ``SessionError/refused(code:message:)`` where another participant receives that name.
    public func receive(_ subscriber: Subscriber, as stream: String? = nil) async throws(SessionError) {
        let attempt = core.nextAttempt()
        try await core.wait {
            $0.receive(subscriber, as: stream, attempt: attempt, $1)
        } cancel: {
            $0.completeReceive(stream, attempt: attempt, .failure(.cancelled))
        }
    }

    /// Answers a peer's SDP offer, by which it gets a stream of ours, or sends to us, or both by one connection.
    ///
    /// ```swift
    /// let session = try await Session.standalone()
    /// try await session.publish(publisher)
    /// let answer = try await session.answer(offer, sending: publisher, receiving: Subscriber(videoSink: myView))
    /// ```
    ///
    /// The answer has the candidates of this machine's addresses, so that it is all that the peer needs; those that the
    /// offer has are all that are known of the peer, and where it has none the peer is expected to come. Events tell what
    /// becomes of it: `subscriberConnected` and `subscriptionConnected`, with the publisher's name, or
    /// `main` where there is none. Data channels are the subscriber's where it wants them, else the publisher's.
    ///
    /// - Parameters:
    ///   - publisher: what the peer gets; published before. `nil`: nothing.
    ///   - subscriber: what takes that which the peer sends. `nil`: it may send nothing.
    /// - Returns: the SDP answer.
    public func answer(
        _ offer: String, sending publisher: Publisher? = nil, receiving subscriber: Subscriber? = nil
    ) async throws(SessionError) -> String {
        try core.answer(offer, sending: publisher, receiving: subscriber)
    }

    /// Gives a name back; what is being received goes on.
    public func stopReceiving(_ stream: String? = nil) {
        core.stopReceiving(stream)
    }

    /// Ends receiving, and waits for the subscriber's threads.
    public func unsubscribe(_ subscriber: Subscriber) {
        core.removeReception(of: subscriber)
    }

    /// Leaves the room: says goodbye to all peers, stops all capturers. The session cannot be used again; its figures
    /// stay. When this returns, no thread of the session is at work any more, so that the program may end.
    public nonisolated func disconnect() async {
        await leave()
        // A library's clean-up at the end of the process must not meet the network thread letting go of its keys.
        loop.shutdown()
    }

    private func leave() async {
        let publishers = core.publishers
        core.shutdown(.closed)
        for publisher in publishers { await publisher.end() }
    }

    /// Figures of everything that goes on, named as in W3C webrtc-stats.
    public func statistics() -> SessionStatistics { core.statistics }
}
