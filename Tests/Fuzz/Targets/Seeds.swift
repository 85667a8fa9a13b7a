import EmisoraCore
import EmisoraCrypto
import EmisoraDTLS
import EmisoraRTP
import EmisoraSDP
import EmisoraSTUN
import EmisoraSignalingProtocol

/// Messages as they should be, made by the project's own writers with random values.
enum Seeds {
    // MARK: STUN and TURN

    static func stun(using random: inout FuzzRandom) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 2_048)
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        let id = STUNTransactionID(high: random.word(), low: random.next())
        let address = SocketAddress(ip: IPAddress(v4: random.word()), port: random.short())
        do throws(STUNError) {
            var builder = try STUNMessageBuilder(
                &buffer,
                type: STUNMessageType(
                    rawValue: [0x0001, 0x0101, 0x0111, 0x0003, 0x0113, 0x0017][random.number(below: 6)]),
                transactionID: id)
            if random.chance(percent: 60) { try builder.add(username: random.bytes(random.number(below: 40))) }
            if random.chance(percent: 60) { try builder.add(priority: random.word()) }
            if random.chance(percent: 30) { try builder.addUseCandidate() }
            if random.chance(percent: 60) {
                try builder.add(tieBreaker: random.next(), isControlling: random.chance(percent: 50))
            }
            if random.chance(percent: 40) { try builder.add(xorMappedAddress: address) }
            if random.chance(percent: 30) {
                try builder.add(errorCode: 300 + UInt16(random.number(below: 400)), reason: "no")
            }
            for _ in 0..<random.number(below: 4) {
                let known: [UInt16] = [0x0014, 0x0015, 0x0012, 0x0016, 0x0013, 0x000D, 0x8002, 0x8003, 0x001D, 0x8022]
                try builder.add(
                    attribute: known[random.number(below: known.count)], value: random.bytes(random.number(below: 24)))
            }
            let key = HMACSHA1Key(Array("password".utf8).span.bytes)
            let byteCount = try builder.finish(integrity: random.chance(percent: 70) ? .sha1(key) : nil)
            return Array(bytes[..<byteCount])
        } catch {
            return []
        }
    }

    static func channelData(using random: inout FuzzRandom) -> [UInt8] {
        let data = random.bytes(random.number(below: 60))
        let padding = [UInt8](repeating: 0, count: (4 - data.count % 4) % 4)
        return [0x40 | random.byte() & 0x0F, random.byte(), 0, UInt8(data.count)] + data + padding
    }

    // MARK: Texts

    static let transport = TransportParameters(
        iceUfrag: "ours", icePassword: "0123456789abcdef01234567",
        fingerprint: FingerprintLine(
            algorithm: "sha-256", value: Array(repeating: "AB", count: 32).joined(separator: ":")))

    static func machine(sends: Bool) -> OfferAnswerMachine {
        let tracks = [MediaConfiguration.Kind.audio, .video].map { kind in
            MediaConfiguration.Track(
                kind: kind, sends: sends, receives: !sends, ssrc: kind == .audio ? 11 : 21,
                retransmissionSSRC: kind == .video ? 22 : nil)
        }
        return OfferAnswerMachine(
            configuration: MediaConfiguration(tracks: tracks, cname: "cname", streamID: "stream"), sessionID: 84)
    }

    static let offerer: OfferAnswerMachine = {
        var machine = Self.machine(sends: true)
        _ = try? machine.makeOffer(transport: transport)
        return machine
    }()

    static func description(using random: inout FuzzRandom) -> [UInt8] {
        var viewer = machine(sends: false)
        var text = (try? viewer.makeOffer(transport: transport)) ?? ""
        if random.chance(percent: 40) {
            var offering = machine(sends: true)
            var answering = machine(sends: false)
            let offer = (try? offering.makeOffer(transport: transport)) ?? ""
            text = (try? answering.answer(offer: offer, transport: transport).answer) ?? ""
        }
        let extra = [
            "a=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host", "a=rid:h send", "a=simulcast:send h;l",
            "a=extmap:7 urn:ietf:params:rtp-hdrext:encrypt urn:ietf:params:rtp-hdrext:sdes:mid", "a=ice-lite",
            "a=ssrc:1 cname:x", "a=ssrc-group:FID 1 2", "b=AS:500", "a=rtcp-fb:* nack", "a=fmtp:96 max-fs=1;max-fr=2",
            "a=bundle-only", "a=end-of-candidates", "m=video 9 UDP/TLS/RTP/SAVPF 96",
        ]
        for _ in 0..<random.number(below: 4) { text += extra[random.number(below: extra.count)] + "\r\n" }
        return Array(text.utf8)
    }

    static func candidate(using random: inout FuzzRandom) -> [UInt8] {
        let addresses = [
            "192.0.2.1", "2001:db8::1", "::ffff:1.2.3.4", "df7216a6-2ebb-4835.local", "fe80::1%eth0", "256.1.1.1",
        ]
        let types = ["host", "srflx", "prflx", "relay", "other"]
        let line = ICECandidateLine(
            foundation: String(random.word()), component: UInt16(1 + random.number(below: 2)),
            transport: ["udp", "tcp", "UDP"][random.number(below: 3)], priority: random.word(),
            address: addresses[random.number(below: addresses.count)], port: random.short(),
            type: types[random.number(below: types.count)],
            relatedAddress: random.chance(percent: 50)
                ? SocketAddress(ip: IPAddress(v4: random.word()), port: random.short()) : nil,
            extensions: [.init(name: "tcptype", value: "active"), .init(name: "generation", value: "0")])
        if random.chance(percent: 20) { return Array("turns:example.org:443?transport=tcp".utf8) }
        return Array((random.chance(percent: 30) ? "a=" : "").utf8) + Array(line.text.utf8)
    }

    static func signaling(using random: inout FuzzRandom) -> [UInt8] {
        let id = "0123456789abcdef0123456789abcdef"
        var holdings = SessionHoldings()
        holdings.publishes = ["main"]
        holdings.receives = [nil, "studio"]
        holdings.sending = ["main": [id]]
        let messages: [SignalingMessage] = [
            .join(
                version: 1, room: "demo",
                resume: SessionResumption(id: id, secret: BearerToken("a.b.c"), holdings: holdings)),
            .join(version: 1, room: "demo"), .publish(stream: "main"), .leave,
            .subscribe(subscription: id, stream: "main", sdp: "v=0\r\n"), .answer(subscription: id, sdp: "v=0\r\n"),
            .candidate(
                subscription: id,
                candidate: TrickledCandidate(
                    candidate: "candidate:1 1 udp 1 192.0.2.1 5000 typ host", sdpMid: "0", sdpMLineIndex: 0,
                    usernameFragment: "abcd")),
            .bye(subscription: id, reason: .bye),
            .welcome(
                version: 1, id: id, room: "demo", streams: [.init(stream: "main", publisher: id)],
                iceServers: [.init(urls: ["turn:a:1"], username: "u", credential: "c")],
                resume: ResumptionTicket(secret: BearerToken("a.b.c"), grace: 10)),
            .participantLeft(id: id), .signal(RoutedSignal(SignalContent(type: "chat", data: "hello"), to: id)),
            .updateStream(
                stream: "main",
                properties: StreamProperties(
                    hasVideo: true, hasAudio: false, width: 640, height: 480, rotation: 90, codecs: ["VP8"])),
            .select(subscription: id, MediaSelection(video: true, audio: false)),
            .forceMute(ForcedMute(stream: "main", media: .everything, reason: "why")),
            .forceDisconnect(ForcedDisconnect(id: id, reason: "why")),
        ]
        return messages[random.number(below: messages.count)].json()
    }

    static func node(using random: inout FuzzRandom) -> [UInt8] {
        let ids = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"]
        let relayed = try? SignalingMessage(json: signaling(using: &random))
        let messages: [NodeMessage] = [
            .hello(asks: random.chance(percent: 50)), .listed, .alive, .ending,
            .left(id: ids[0], reason: .signalingLost),
            .member(
                NodeMember(
                    id: ids[0], room: "demo", data: "{}",
                    streams: [
                        NodeStream(
                            "main", properties: StreamProperties(hasVideo: true, hasAudio: false, codecs: ["VP8"]))
                    ], receives: [nil, "studio"],
                    isAway: random.chance(percent: 50))),
            .relay(
                NodeRelay(
                    room: "demo", from: random.chance(percent: 70) ? ids[0] : nil, to: ids[1],
                    message: relayed ?? .leave, isForwarded: random.chance(percent: 20))),
            .holding(
                NodeHolding(
                    room: "demo", from: ids[0], to: ids[1], subscription: ids[0], stream: "main",
                    sends: random.chance(percent: 50), stands: random.chance(percent: 50),
                    asks: random.chance(percent: 50))),
        ]
        return messages[random.number(below: messages.count)].json(from: ids[1])
    }

    // MARK: DTLS

    /// Made once: keys cost a millisecond.
    static let dtlsContext: DTLSContext = {
        var random = SecureRandom()
        guard let certificate = try? Certificate(unixTime: 1_700_000_000, using: &random),
            let context = try? DTLSContext(certificate: certificate)
        else { preconditionFailure("OpenSSL gives no DTLS context") }
        return context
    }()

    /// What a client and a server say to each other, cut off somewhere.
    static func dtls(using random: inout FuzzRandom) -> [UInt8] {
        let now = Instant.zero + .seconds(1)
        guard let client = try? DTLSTransport(context: dtlsContext),
            let server = try? DTLSTransport(context: dtlsContext)
        else { return [] }
        for transport in [client, server] {
            transport.setExpectedFingerprints([dtlsContext.certificate.fingerprint], now: now)
        }
        server.start(role: .server, now: now)
        client.start(role: .client, now: now)
        let forServer = random.chance(percent: 70)
        var heard: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 2_048)
        for _ in 0..<random.number(below: 8) {
            for (from, to, isHeard) in [(client, server, forServer), (server, client, !forServer)] {
                while true {
                    var span = buffer.mutableSpan
                    var raw = span.mutableBytes
                    guard let count = from.pollTransmit(into: &raw) else { break }
                    let datagram = Array(buffer[..<count])
                    if isHeard { heard.append(datagram) }
                    to.handle(datagram.span.bytes, now: now)
                }
            }
        }
        // The last flights would finish the handshake, if only the other side had the same random numbers.
        return [forServer ? 0 : 1] + Parts.joined(heard)
    }
}
