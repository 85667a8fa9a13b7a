import EmisoraCore
import EmisoraRTP
import EmisoraSimulation
import Testing

@testable import EmisoraCongestionControl

/// A receiver that asks its sender for less by TMMBR.
@Suite struct TemporaryMaximumRequesterTests {
    private static let ours: UInt32 = 7
    private static let media: UInt32 = 0x1111

    private func entry(_ ssrc: UInt32, _ kilobits: Int, _ overhead: UInt16 = 40) -> BoundingSet.Limit {
        .init(ssrc: ssrc, bitrate: .kilobitsPerSecond(kilobits), overhead: overhead)
    }

    private func notification(_ entries: BoundingSet.Limit...) -> TemporaryMaximumBitrate {
        TemporaryMaximumBitrate(.notification, senderSSRC: Self.media, entries: entries)
    }

    private func requester(_ kilobits: Int) -> TemporaryMaximumRequester {
        var requester = TemporaryMaximumRequester()
        requester.follow(.kilobitsPerSecond(kilobits), overhead: 40, of: Self.media)
        return requester
    }

    // MARK: Bounding set

    @Test("RFC 5104 §3.5.4.2: the bounding set holds the limits that leave the least at some packet rate, and no other")
    func theBoundingSetIsTheLowerEnvelope() {
        var random = SeededRandom(5104)
        var sizes: Set<Int> = []
        for _ in 0..<300 {
            let limits = (0..<Int(1 + random.next() % 6)).map { number in
                entry(UInt32(number), Int(100 + random.next() % 400), UInt16(random.next() % 100))
            }
            let bounding = BoundingSet.of(limits)
            sizes.insert(bounding.count)
            #expect(!bounding.isEmpty)
            // What is left for the payload at a packet rate, by all and by those that bind alone.
            for rate in stride(from: 0.0, through: 3_000, by: 0.5) {
                let left = { (limit: BoundingSet.Limit) in
                    Double(limit.bitrate.bitsPerSecond) - 8 * Double(limit.overhead) * rate
                }
                guard let least = limits.map(left).min(), least >= 0 else { break }
                let bound = bounding.map(left).min() ?? .infinity
                if bound != least { Issue.record("\(limits), \(bounding) at \(rate)") }
            }
            // None is there for nothing.
            for limit in bounding {
                #expect(BoundingSet.binds(limit, beside: bounding.filter { $0 != limit }), "\(limits), \(bounding)")
            }
        }
        #expect(sizes.isSuperset(of: [1, 2, 3]))
    }

    @Test func ofEqualLimitsOneBindsAndNothingAtAllBindsAlone() {
        #expect(BoundingSet.of([entry(9, 300), entry(8, 300)]).map(\.ssrc) == [8])
        #expect(BoundingSet.of([entry(9, 300), entry(8, 0), entry(7, 0, 20)]).map(\.ssrc) == [7])
        #expect(BoundingSet.of([]).isEmpty)
        // Hardly anything is left at the packet rates at which the other one would be stricter.
        #expect(BoundingSet.of([entry(1, 100, 40), entry(2, 200, 60)]).map(\.ssrc) == [1])
        #expect(BoundingSet.of([entry(1, 100, 40), entry(2, 110, 100)]).map(\.ssrc) == [1, 2])
    }

    // MARK: Asking

    @Test("RFC 5104 §4.2.1.3: the first request goes at once, repetitions with regular reports until they are answered")
    func aRequestIsRepeatedUntilItIsAnswered() throws {
        var requester = requester(300)
        #expect(requester.isUrgent(ours: Self.ours))
        let polled = requester.pollEntry(isRegular: false, ours: Self.ours)
        let first = try #require(polled)
        #expect(first == entry(Self.media, 300))
        for _ in 0..<3 {
            #expect(!requester.isUrgent(ours: Self.ours))
            #expect(requester.pollEntry(isRegular: false, ours: Self.ours) == nil)
            #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == first)
        }
        // The answer to somebody else's request, of another source, and to one before ours.
        requester.handle(notification(entry(8, 400)), ours: Self.ours)
        requester.handle(
            TemporaryMaximumBitrate(.notification, senderSSRC: 1, entries: [entry(Self.ours, 300)]), ours: Self.ours)
        requester.handle(notification(entry(Self.ours, 200)), ours: Self.ours)
        requester.handle(
            TemporaryMaximumBitrate(.request, senderSSRC: Self.media, entries: [entry(Self.ours, 300)]),
            ours: Self.ours)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == first)
        requester.handle(notification(entry(Self.ours, 300)), ours: Self.ours)
        for _ in 0..<3 { #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil) }
    }

    @Test("RFC 5104 §4.2.1.2: a bitrate of more than 17 bits is answered by what the message could hold of it")
    func aRoundedLimitIsAnswered() throws {
        var requester = TemporaryMaximumRequester()
        requester.follow(.bitsPerSecond(1_234_567), overhead: 28, of: Self.media)
        let polled = requester.pollEntry(isRegular: false, ours: Self.ours)
        let asked = try #require(polled)
        // As it comes out of the peer's reader.
        var bytes = [UInt8](repeating: 0, count: 100)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        var writer = RTCPWriter(&raw, form: .reducedSize)
        try writer.write(TemporaryMaximumBitrate(.request, senderSSRC: Self.ours, entries: [asked]))
        let count = writer.byteCount
        var reader = RTCPReader(raw.bytes.extracting(0..<count))
        guard case .temporaryMaximumBitrate(let request) = try reader.next() else {
            Issue.record("no request")
            return
        }
        #expect(request.entries == [asked])
        #expect(asked.bitrate > .bitsPerSecond(1_234_500) && asked.bitrate <= .bitsPerSecond(1_234_567))
        var limits = ReceiverLimits()
        let answered = limits.handle(request, ours: [Self.media], now: .zero)
        let answer = try #require(answered)
        requester.handle(answer, ours: Self.ours)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil)
    }

    @Test("RFC 5104 §4.2.1.2: who would not bind asks for nothing, and is heard when the others let go")
    func whoWouldNotBindDoesNotAsk() throws {
        var requester = requester(300)
        _ = requester.pollEntry(isRegular: false, ours: Self.ours)
        // A stricter one is there already.
        requester.handle(notification(entry(8, 200)), ours: Self.ours)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil)
        requester.follow(.kilobitsPerSecond(250), overhead: 40, of: Self.media)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil)
        requester.follow(.kilobitsPerSecond(150), overhead: 40, of: Self.media)
        #expect(requester.isUrgent(ours: Self.ours))
        #expect(requester.pollEntry(isRegular: false, ours: Self.ours) == entry(Self.media, 150))
        requester.handle(notification(entry(Self.ours, 150)), ours: Self.ours)
        requester.follow(.kilobitsPerSecond(300), overhead: 40, of: Self.media)
        _ = requester.pollEntry(isRegular: true, ours: Self.ours)
        requester.handle(notification(entry(8, 200)), ours: Self.ours)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil)
        // The stricter one left; the sender says that nothing binds it.
        requester.handle(notification(), ours: Self.ours)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == entry(Self.media, 300))
    }

    @Test("RFC 5104 §4.2.1.2: whose limit binds says what becomes of it, a drop at once, everything else in time")
    func changesAreTold() throws {
        var requester = requester(300)
        _ = requester.pollEntry(isRegular: false, ours: Self.ours)
        requester.handle(notification(entry(Self.ours, 300)), ours: Self.ours)
        // Not worth a message.
        requester.follow(.kilobitsPerSecond(295), overhead: 42, of: Self.media)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil)
        requester.follow(.kilobitsPerSecond(330), overhead: 40, of: Self.media)
        #expect(!requester.isUrgent(ours: Self.ours))
        #expect(requester.pollEntry(isRegular: false, ours: Self.ours) == nil)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == entry(Self.media, 330))
        requester.handle(notification(entry(Self.ours, 330)), ours: Self.ours)
        requester.follow(.kilobitsPerSecond(330), overhead: 60, of: Self.media)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == entry(Self.media, 330, 60))
        requester.follow(.kilobitsPerSecond(200), overhead: 60, of: Self.media)
        #expect(requester.isUrgent(ours: Self.ours))
        #expect(requester.pollEntry(isRegular: false, ours: Self.ours) == entry(Self.media, 200, 60))
    }

    @Test("RFC 5104 §4.2.1.2: a limit that is gone is let go of by asking for more than any stream has, until answered")
    func aLimitIsReleased() throws {
        var requester = requester(300)
        _ = requester.pollEntry(isRegular: false, ours: Self.ours)
        requester.handle(notification(entry(Self.ours, 300)), ours: Self.ours)
        #expect(requester.isLimiting)
        requester.follow(nil, overhead: 40, of: Self.media)
        for _ in 0..<2 {
            let polled = requester.pollEntry(isRegular: true, ours: Self.ours)
            let asked = try #require(polled)
            #expect(asked.bitrate == TemporaryMaximumRequester.release)
        }
        #expect(!requester.isLimiting)
        // The sender may name us with it, or have nothing to name.
        requester.handle(notification(), ours: Self.ours)
        requester.follow(nil, overhead: 40, of: Self.media)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil)
        // A new one begins anew.
        requester.follow(.kilobitsPerSecond(400), overhead: 40, of: Self.media)
        #expect(requester.isUrgent(ours: Self.ours))
    }

    @Test func nothingIsAskedForWithoutALimitAndAnotherSourceIsAskedAnew() {
        var requester = TemporaryMaximumRequester()
        requester.follow(nil, overhead: 40, of: Self.media)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil)
        requester.follow(TemporaryMaximumRequester.release, overhead: 40, of: Self.media)
        #expect(requester.pollEntry(isRegular: true, ours: Self.ours) == nil)
        requester = self.requester(300)
        _ = requester.pollEntry(isRegular: false, ours: Self.ours)
        requester.handle(notification(entry(Self.ours, 300)), ours: Self.ours)
        requester.follow(.kilobitsPerSecond(300), overhead: 40, of: 0x2222)
        #expect(requester.isUrgent(ours: Self.ours))
        #expect(requester.pollEntry(isRegular: false, ours: Self.ours) == entry(0x2222, 300))
    }

    // MARK: The sender's side

    @Test("RFC 5104 §4.2.2.2: a notification names all whose limits bind, also when one of them has gone")
    func theSenderNamesTheBoundingSet() throws {
        var limits = ReceiverLimits()
        func request(_ sender: UInt32, _ kilobits: Int, _ overhead: UInt16) -> TemporaryMaximumBitrate? {
            limits.handle(
                TemporaryMaximumBitrate(
                    .request, senderSSRC: sender, entries: [entry(Self.media, kilobits, overhead)]),
                ours: [1, Self.media], now: .zero)
        }
        #expect(request(8, 500, 40)?.entries == [entry(8, 500, 40)])
        #expect(request(9, 520, 200)?.entries == [entry(8, 500, 40), entry(9, 520, 200)])
        // Stricter nowhere.
        let answer = try #require(request(10, 600, 40))
        #expect(answer.entries.map(\.ssrc) == [8, 9])
        // From the source that was asked.
        #expect(answer.kind == .notification && answer.senderSSRC == Self.media)
        #expect(limits.expire(now: .zero + .seconds(1)) == nil)
        limits.heard(from: 9, now: .zero + .seconds(20))
        limits.heard(from: 10, now: .zero + .seconds(20))
        let expired = limits.expire(now: .zero + .seconds(30))
        let later = try #require(expired)
        #expect(later.entries == [entry(9, 520, 200)] && later.senderSSRC == Self.media)
        #expect(limits.expire(now: .zero + .seconds(31)) == nil)
        let removed = limits.remove(9, now: .zero + .seconds(31))
        let left = try #require(removed)
        #expect(left.entries == [entry(10, 600, 40)])
        #expect(limits.remove(10, now: .zero + .seconds(31))?.entries == [])
        #expect(limits.temporaryMaximum == nil)
    }
}
