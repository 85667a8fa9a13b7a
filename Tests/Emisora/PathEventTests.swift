import Emisora
import Synchronization
import Testing

/// What a session tells of its paths while they come about.
@Suite(.serialized) struct PathEventTests {
    private struct Path: Sendable, Equatable {
        var stream: String
        var connection: String
        var states: [TransportStatistics.ICEState] = []
        var pairs: [CandidatePairStatistics] = []
    }

    /// Follows a session until its first path carries media.
    private static func path(of session: Session) -> Task<Path?, Never> {
        Task {
            var path: Path?
            for await event in session.events {
                switch event {
                case .iceConnectionStateChanged(let stream, let connection, let state, let reason):
                    #expect(reason.isEmpty)
                    #expect(path == nil || path?.connection == connection)
                    path = path ?? Path(stream: stream, connection: connection)
                    path?.states.append(state)
                case .selectedCandidatePairChanged(let stream, let connection, let pair):
                    #expect(path?.connection == connection && path?.stream == stream)
                    path?.pairs.append(pair)
                default: break
                }
                if path?.states.last == .connected, path?.pairs.isEmpty == false { return path }
            }
            return path
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: Offerer.allCases)
    func theStateAndThePairAreToldOnBothSidesAsTheStatisticsHaveThem(offerer: Offerer) async throws {
        let (publishing, receiving) = try await Session.loopback()
        let paths = (Self.path(of: publishing), Self.path(of: receiving))
        try await publishing.publish(
            Publisher(name: "main", videoCapture: PatternCapture(width: 320, height: 240), audioCapture: ToneCapture()))
        let collector = Collector()
        try await receiving.subscribe(
            Subscriber(videoSink: collector, audioSink: collector), to: "main", offerer: offerer)
        let published = try #require(await paths.0.value)
        let received = try #require(await paths.1.value)
        #expect(published.states == [.checking, .connected])
        #expect(received.states == [.checking, .connected])
        #expect(published.stream == "main" && received.stream == "main")
        #expect(published.pairs.first?.local.protocol == "udp")
        let there = try #require(await publishing.statistics().publishers.first?.transports.first)
        let here = try #require(await receiving.statistics().subscribers.first?.transport)
        #expect(there.connection == published.connection)
        #expect(here.connection == received.connection)
        #expect(there.iceState == .connected && here.iceState == .connected)
        await publishing.disconnect()
        await receiving.disconnect()
    }
}
