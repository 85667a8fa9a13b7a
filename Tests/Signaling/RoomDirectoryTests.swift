import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// Ids that differ and repeat from run to run.
struct CountingGenerator: RandomNumberGenerator, Sendable {
    private var value: UInt64

    init(from value: UInt64 = 0) {
        self.value = value
    }

    mutating func next() -> UInt64 {
        value &+= 0x9E37_79B9_7F4A_7C15
        return value
    }
}

@Suite struct RoomDirectoryTests {
    typealias Directory = RoomDirectory<CountingGenerator>
    typealias ConnectionID = Directory.ConnectionID

    static let subscription = "0123456789abcdef"

    /// What each connection got since the last look.
    static func drain(_ directory: inout Directory) -> [ConnectionID: [SignalingMessage]] {
        var got: [ConnectionID: [SignalingMessage]] = [:]
        while let output = directory.pollOutput() {
            switch output {
            case .send(let message, let to), .relay(let message, _, let to, _): got[to, default: []].append(message)
            case .close, .backplane: break
            }
        }
        return got
    }

    static func errorCode(_ messages: [SignalingMessage]?) -> SignalingError.Code? {
        guard case .error(let error)? = messages?.last else { return nil }
        return error.code
    }

    /// A room with a publisher of `camera` and a viewer, nothing left to drain.
    static func room() -> (Directory, publisher: ConnectionID, viewer: ConnectionID) {
        var directory = Directory(random: CountingGenerator())
        let publisher = directory.connect(allowedRoom: "demo")
        directory.handle(.join(version: 1, room: "demo"), from: publisher)
        directory.handle(.publish(stream: "camera"), from: publisher)
        let viewer = directory.connect(allowedRoom: "demo")
        directory.handle(.join(version: 1, room: "demo"), from: viewer)
        _ = drain(&directory)
        return (directory, publisher, viewer)
    }

    @Test func aNewcomerIsToldWhatIsLive() {
        var (directory, _, _) = Self.room()
        let late = directory.connect(allowedRoom: "demo")
        directory.handle(.join(version: 1, room: "demo"), from: late)
        guard case .welcome(1, let id, "demo", let streams, _, _)? = Self.drain(&directory)[late]?.first else {
            Issue.record("no welcome")
            return
        }
        #expect(id.count == 32)
        #expect(streams.map(\.stream) == ["camera"])
    }

    @Test func offerAnswerAndCandidatesReachTheOtherSideOnly() {
        var (directory, publisher, viewer) = Self.room()
        let other = directory.connect(allowedRoom: "demo")
        directory.handle(.join(version: 1, room: "demo"), from: other)
        _ = Self.drain(&directory)
        let subscribe = SignalingMessage.subscribe(subscription: Self.subscription, stream: "camera", sdp: "offer")
        directory.handle(subscribe, from: viewer)
        #expect(Self.drain(&directory) == [publisher: [subscribe]])
        let answer = SignalingMessage.answer(subscription: Self.subscription, sdp: "answer")
        directory.handle(answer, from: publisher)
        #expect(Self.drain(&directory) == [viewer: [answer]])
        let candidate = SignalingMessage.candidate(subscription: Self.subscription, candidate: .endOfCandidates)
        directory.handle(candidate, from: viewer)
        #expect(Self.drain(&directory) == [publisher: [candidate]])
        directory.handle(candidate, from: publisher)
        #expect(Self.drain(&directory) == [viewer: [candidate]])
    }

    @Test func aThirdPartyCannotTouchASubscription() {
        var (directory, _, viewer) = Self.room()
        directory.handle(.subscribe(subscription: Self.subscription, stream: "camera", sdp: "offer"), from: viewer)
        let stranger = directory.connect(allowedRoom: "demo")
        directory.handle(.join(version: 1, room: "demo"), from: stranger)
        _ = Self.drain(&directory)
        directory.handle(.bye(subscription: Self.subscription, reason: .bye), from: stranger)
        let got = Self.drain(&directory)
        #expect(Array(got.keys) == [stranger])
        #expect(Self.errorCode(got[stranger]) == .subscriptionNotFound)
        directory.handle(.subscribe(subscription: Self.subscription, stream: "camera", sdp: "x"), from: stranger)
        #expect(Self.errorCode(Self.drain(&directory)[stranger]) == .subscriptionTaken)
    }

    @Test func aSecondPublisherOfTheNameIsRefusedAndNobodyElseHears() {
        var (directory, publisher, viewer) = Self.room()
        directory.handle(.publish(stream: "camera"), from: viewer)
        let got = Self.drain(&directory)
        #expect(Self.errorCode(got[viewer]) == .streamTaken)
        #expect(got[publisher] == nil)
        #expect(directory.liveRooms.first?.streams == ["camera"])
    }

    @Test func whenThePublisherGoesItsViewersHearWhy() {
        for (reason, leaves) in [(SubscriptionEndReason.left, true), (.signalingLost, false)] {
            var (directory, publisher, viewer) = Self.room()
            directory.handle(.subscribe(subscription: Self.subscription, stream: "camera", sdp: "o"), from: viewer)
            _ = Self.drain(&directory)
            if leaves { directory.handle(.leave, from: publisher) } else { directory.disconnect(publisher) }
            let got = Self.drain(&directory)
            #expect(got[viewer]?.first == .subscriptionEnded(subscription: Self.subscription, reason: reason))
            #expect(got[viewer]?.contains { $0.type == "streamUnpublished" } == true)
            #expect(got[publisher] == nil)
            #expect(directory.liveStream(in: "demo", named: nil) == nil)
        }
    }

    @Test func whenAViewerGoesThePublisherHears() {
        var (directory, publisher, viewer) = Self.room()
        directory.handle(.subscribe(subscription: Self.subscription, stream: "camera", sdp: "o"), from: viewer)
        _ = Self.drain(&directory)
        directory.disconnect(viewer)
        #expect(
            Self.drain(&directory)[publisher]?.first
                == .subscriptionEnded(subscription: Self.subscription, reason: .signalingLost))
    }

    @Test func byeEndsTheSubscriptionForBoth() {
        var (directory, publisher, viewer) = Self.room()
        directory.handle(.subscribe(subscription: Self.subscription, stream: "camera", sdp: "o"), from: viewer)
        _ = Self.drain(&directory)
        directory.handle(.bye(subscription: Self.subscription, reason: .noCommonCodec), from: publisher)
        #expect(
            Self.drain(&directory)
                == [viewer: [.subscriptionEnded(subscription: Self.subscription, reason: .noCommonCodec)]])
        directory.handle(.answer(subscription: Self.subscription, sdp: "late"), from: publisher)
        #expect(Self.errorCode(Self.drain(&directory)[publisher]) == .subscriptionNotFound)
    }

    @Test func anEmptyRoomIsForgotten() {
        var (directory, publisher, viewer) = Self.room()
        directory.disconnect(publisher)
        directory.handle(.leave, from: viewer)
        #expect(directory.roomCount == 0)
    }

    @Test func whatIsNotAllowedIsRefusedWithItsCode() {
        let cases: [(SignalingMessage, SignalingError.Code)] = [
            (.join(version: 1, room: "demo"), .alreadyJoined), (.publish(stream: "a b"), .invalidName),
            (.publish(stream: "whip"), .reservedName), (.unpublish(stream: "camera"), .streamNotFound),
            (.subscribe(subscription: "short", stream: "camera", sdp: ""), .invalidName),
            (.subscribe(subscription: Self.subscription, stream: "nothing", sdp: ""), .streamNotFound),
            (.answer(subscription: Self.subscription, sdp: ""), .subscriptionNotFound),
            (.participantLeft(id: "x"), .notAllowed),
        ]
        for (message, code) in cases {
            var (directory, publisher, viewer) = Self.room()
            directory.handle(message, from: viewer)
            let got = Self.drain(&directory)
            #expect(Self.errorCode(got[viewer]) == code)
            #expect(got[publisher] == nil)
        }
        let joins: [(SignalingMessage, SignalingError.Code)] = [
            (.publish(stream: "camera"), .notJoined), (.join(version: 2, room: "demo"), .unsupportedVersion),
            (.join(version: 1, room: "other"), .notAllowed), (.join(version: 1, room: "healthz"), .reservedName),
            (.join(version: 1, room: ""), .invalidName),
        ]
        for (message, code) in joins {
            var directory = Directory(random: CountingGenerator())
            let connection = directory.connect(allowedRoom: "demo")
            directory.handle(message, from: connection)
            #expect(Self.errorCode(Self.drain(&directory)[connection]) == code)
            #expect(directory.roomCount == 0)
        }
    }

    @Test func limitsHold() {
        var limits = ServerLimits()
        limits.rooms = 1
        limits.participantsPerRoom = 1
        limits.streamsPerParticipant = 1
        limits.subscriptionsPerParticipant = 1
        var directory = Directory(random: CountingGenerator(), limits: limits)
        let first = directory.connect(allowedRoom: nil)
        directory.handle(.join(version: 1, room: "one"), from: first)
        directory.handle(.publish(stream: "a"), from: first)
        directory.handle(.subscribe(subscription: Self.subscription, stream: "a", sdp: ""), from: first)
        _ = Self.drain(&directory)
        directory.handle(.publish(stream: "b"), from: first)
        #expect(Self.errorCode(Self.drain(&directory)[first]) == .limitReached)
        directory.handle(.subscribe(subscription: Self.subscription + "1", stream: "a", sdp: ""), from: first)
        #expect(Self.errorCode(Self.drain(&directory)[first]) == .limitReached)
        for (room, code) in [("one", SignalingError.Code.roomFull), ("two", .limitReached)] {
            let second = directory.connect(allowedRoom: nil)
            directory.handle(.join(version: 1, room: room), from: second)
            #expect(Self.errorCode(Self.drain(&directory)[second]) == code)
        }
    }
}
