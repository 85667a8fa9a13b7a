import EmisoraCore
import EmisoraEventLoop
import EmisoraPeerEngine
import EmisoraSDP
import EmisoraSignalingProtocol

/// Streams that HTTP encoders (WHIP) send to us through the room's server: here they offer and we answer.
extension SessionCore {
    /// A name that we registered for.
    struct Receiver {
        /// Who takes the next encoder; `nil` while one sends.
        var waiting: Subscriber?
        var registered: Completion?
        /// Which call of `receive` waits for the confirmation.
        var attempt = 0
        var isRegistered = false
    }

    private static let confirmationTimeout: Duration = .seconds(10)

    /// - Parameter stream: `nil` for streams of any name.
    func receive(_ subscriber: Subscriber, as stream: String?, attempt: Int, _ completion: @escaping Completion) {
        guard hub != nil else { return completion(.failure(.invalidState("The session is closed."))) }
        if let stream, !SignalingProtocol.isValid(name: stream) {
            return completion(
                .failure(
                    .invalidState("\(stream) is no stream name; use 1 to 64 of A-Z a-z 0-9 _ - that are not reserved."))
            )
        }
        var receiver = receivers[stream] ?? Receiver()
        guard receiver.waiting == nil, receiver.registered == nil else {
            return completion(.failure(.invalidState("The session has a subscriber for this stream already.")))
        }
        receiver.waiting = subscriber
        // A name that the room knows as ours stays so from one encoder to the next.
        if receiver.isRegistered {
            receivers[stream] = receiver
            return completion(.success(()))
        }
        receiver.registered = completion
        receiver.attempt = attempt
        receivers[stream] = receiver
        channel.send(.receive(stream: stream))
        schedule(after: Self.confirmationTimeout) { [weak self] in
            self?.completeReceive(
                stream, attempt: attempt, .failure(.timedOut("The server did not confirm it in 10 s.")))
        }
    }

    func handleReceiving(_ stream: String?) {
        receivers[stream]?.isRegistered = true
        completeReceive(stream, attempt: nil, .success(()))
    }

    /// The server refused a registration: one that is waited for, or one that somebody else took while we were away.
    ///
    /// - Parameter stream: `nil`: that of streams of any name, or one of a server that does not say which.
    func failReceive(_ stream: String?, _ error: SessionError) {
        guard let receiver = receivers[stream] else {
            guard stream == nil else { return }
            for (stream, receiver) in receivers where receiver.registered != nil {
                completeReceive(stream, attempt: nil, .failure(error))
            }
            return
        }
        guard receiver.registered == nil else { return completeReceive(stream, attempt: nil, .failure(error)) }
        receivers[stream] = nil
        emit(.receivingEnded(stream: stream, error))
    }

    /// - Parameter attempt: Whose end it is; `nil`: of whichever waits.
    func completeReceive(_ stream: String?, attempt: Int?, _ result: Result<Void, SessionError>) {
        guard let receiver = receivers[stream], let completion = receiver.registered,
            attempt == nil || attempt == receiver.attempt
        else { return }
        receivers[stream]?.registered = nil
        if case .failure = result {
            receivers[stream] = nil
            // The server may take it yet, and would then send encoders to nobody.
            channel.send(.stopReceiving(stream: stream))
        }
        completion(result)
    }

    func stopReceiving(_ stream: String?) {
        guard let receiver = receivers.removeValue(forKey: stream) else { return }
        channel.send(.stopReceiving(stream: stream))
        receiver.registered?(.failure(.invalidState("Receiving was ended before the room knew of it.")))
    }

    /// A server that came back knows nothing of us.
    func registerReceiversAgain() {
        for stream in receivers.keys { channel.send(.receive(stream: stream)) }
    }

    /// An encoder wants to send.
    func handleIngest(_ id: String, stream: String, offer: String, now: Instant) {
        let name: String? = receivers[stream] == nil ? nil : stream
        guard let subscriber = receivers[name]?.waiting,
            let peer = hub?.makePeer(
                media: Self.media(of: subscriber), hasDataChannels: subscriber.wantsDataChannels, sockets: .own,
                owner: self, now: now)
        else { return channel.send(.bye(subscription: id, reason: .tooManySubscribers)) }
        do throws(SDPError) {
            let answer = try peer.engine.answer(offer: offer, now: now)
            do throws(SessionError) {
                try begin(subscriber, id: id)
            } catch {
                receivers[name]?.waiting = nil
                hub?.close(peer, now: now)
                return channel.send(.bye(subscription: id, reason: .tooManySubscribers))
            }
            receivers[name]?.waiting = nil
            let reception = Reception(subscriber: subscriber, peer: peer, now: now)
            attach(subscriber.channels, to: peer, id: id)
            hub?.add(reception)
            subscriptions[id] = Subscription(stream: stream, reception: reception)
            channel.send(.answer(subscription: id, sdp: answer))
        } catch {
            hub?.close(peer, now: now)
            channel.send(.bye(subscription: id, reason: error == .noCommonCodec ? .noCommonCodec : .invalidOffer))
        }
    }
}
