import EmisoraCore
import EmisoraRTP
import EmisoraSRTP
import Testing

/// Whole streams through libsrtp in virtual time: sources that are silent for hours and then go on.
@Suite struct SRTPPauseTests {
    private static let pause: Duration = .seconds(8 * 3_600)

    /// A source, and what its number has to be with.
    private struct Source {
        var stream: RTPSendStream
        /// Of its packets, as the reference has to be told it.
        var rollover: UInt32 = 0
        var last: UInt16 = 0
        var count = 0
    }

    /// One direction of a session: two sources, the real contexts, and who watches.
    private struct Session {
        let outbound: SRTPContext
        let inbound: SRTPContext
        let reference: ReferenceSRTP
        var now = Instant.zero + .seconds(1)
        var video: Source
        var sound: Source
        var viewer = RTPVideoReceiveStream(.init(payloadType: 96))
        var lastSealed: [[UInt8]] = []

        init(_ profile: SRTPProfile) throws {
            var random = SeededRandom(seed: 8)
            let keys = random.bytes(profile.keyByteCount + profile.saltByteCount)
            outbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .outbound)
            inbound = try SRTPContext(profile: profile, masterKeyAndSalt: keys, direction: .inbound)
            reference = ReferenceSRTP(profile: profile.reference, masterKeyAndSalt: keys)
            video = Source(stream: RTPSendStream(.init(ssrc: 1, payloadType: 96, clockRate: 90_000), using: &random))
            sound = Source(stream: RTPSendStream(.init(ssrc: 2, payloadType: 111, clockRate: 48_000), using: &random))
        }

        /// The source's next packet, of one frame, 20 ms after the one before.
        private mutating func next(_ source: WritableKeyPath<Session, Source>) throws -> [UInt8] {
            now = now + .milliseconds(20)
            let isVideo = source == \.video
            let number = self[keyPath: source].count
            let payload: [UInt8] = isVideo ? [number == 0 ? 0x10 : 0x11, 1, 2, 3] : [0xFC, 1, 2]
            let frame =
                isVideo
                ? try VP8Packetizer.packetize(
                    payload: payload, isKeyFrame: number == 0, pictureID: UInt16(number & 0x7FFF), maxPayloadSize: 100)
                : try OpusPacketizer.packetize(payload: payload)
            self[keyPath: source].stream.enqueue(frame, captureTime: now, now: now)
            var bytes = [UInt8](repeating: 0, count: 100)
            var span = bytes.mutableSpan
            var raw = span.mutableBytes
            let polled = self[keyPath: source].stream.pollPacket(into: &raw, now: now)
            let packet = try #require(polled)
            self[keyPath: source].count += 1
            if packet.sequenceNumber < self[keyPath: source].last { self[keyPath: source].rollover += 1 }
            self[keyPath: source].last = packet.sequenceNumber
            return Array(bytes[..<packet.byteCount])
        }

        /// Sends that many frames; each has to come out as it went in, under the source's own index, and pictures are shown.
        mutating func send(_ count: Int, of source: WritableKeyPath<Session, Source>) throws {
            for _ in 0..<count {
                let plain = try next(source)
                let sealed = try outbound.protect(rtp: plain)
                let state = self[keyPath: source]
                #expect(reference.unprotect(rtp: sealed, rollover: state.rollover) == plain, "at \(state.last)")
                #expect(try inbound.unprotect(rtp: sealed) == plain, "at \(state.last)")
                #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtp: sealed) }
                lastSealed.append(sealed)
                guard source == \.video else { continue }
                viewer.handle(try RTPHeader(parsing: plain.span.bytes), packet: plain.span.bytes, now: now)
                #expect(viewer.pollFrame(now: now) != nil, "at \(state.last)")
            }
        }

        /// Sends up to that number, of which few arrive. Who watches begins anew behind it.
        mutating func skip(to number: UInt16, of source: WritableKeyPath<Session, Source>) throws {
            while self[keyPath: source].last != number {
                let plain = try next(source)
                let sealed = try outbound.protect(rtp: plain)
                if self[keyPath: source].last % 1_024 == 0 { _ = try inbound.unprotect(rtp: sealed) }
            }
            viewer = RTPVideoReceiveStream(.init(payloadType: 96))
            video.count = 0
            lastSealed = []
        }

        /// Nothing is sent for eight hours, and what was recorded before is not taken afterwards.
        mutating func rest() {
            now = now + pause
            for sealed in lastSealed {
                #expect(throws: SRTPError.replayed) { try inbound.unprotect(rtp: sealed) }
            }
        }
    }

    @Test(
        "RFC 3711 §3.3.1: after eight hours of silence each source goes on, with a rollover counter of its own",
        arguments: SRTPProfile.allCases)
    func sourcesGoOnAfterEightHours(profile: SRTPProfile) throws {
        var session = try Session(profile)
        func both(_ count: Int) throws {
            for _ in 0..<count {
                try session.send(1, of: \.video)
                try session.send(1, of: \.sound)
            }
        }
        try both(10)
        session.rest()
        try both(10)
        // The wrap of each lies right behind a pause, while the other one stays where it is.
        for wrap in [\Session.video, \.sound] {
            try session.skip(to: 65_530, of: wrap)
            try both(5)
            session.rest()
            try both(10)
            session.rest()
            try both(5)
        }
        #expect(session.video.rollover == 1 && session.sound.rollover == 1)
    }
}
