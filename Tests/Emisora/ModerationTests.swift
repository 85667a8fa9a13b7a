import EmisoraSignalingClient
import EmisoraSignalingProtocol
import EmisoraSignalingServer
import Foundation
import Testing

@testable import Emisora

/// What moderators may do to others, with tokens as `emisora token` makes them.
@Suite(.serialized) struct ModerationTests {
    /// A server that asks for tokens.
    private final class House {
        let server: TestServer
        private let secret: String

        init() throws {
            secret = NSTemporaryDirectory() + "emisora-secret-\(UUID().uuidString)"
            try String(repeating: "s", count: 40).write(toFile: secret, atomically: true, encoding: .utf8)
            let path = secret
            server = try TestServer { $0.secretFile = path }
        }

        deinit { try? FileManager.default.removeItem(atPath: secret) }

        func join(_ role: String, _ more: [String] = []) async throws -> Participant {
            var token = ""
            let arguments = ["--secret-file", secret, "--room", "demo", "--role", role] + more
            let code = TokenCommand.run(arguments, output: { token = $0 }, complaint: { Issue.record("\($0)") })
            #expect(code == 0)
            return try await server.join(token: token)
        }
    }

    @Test func aModeratorMutesWhoObeysAndTheRoomSeesIt() async throws {
        let house = try House()
        let moderator = try await house.join("moderator")
        let sender = try await house.join("publisher", ["--data", "Ana"])
        let publisher = Publisher(
            name: "camera", videoCapture: PatternCapture(width: 320, height: 240), audioCapture: ToneCapture())
        try await sender.session.publish(publisher)
        let known = try await moderator.first("the publisher is known") { event in
            if case .connectionCreated(let connection) = event { connection } else { nil }
        }
        #expect(known.data == "Ana")
        try await moderator.session.forceMute(stream: "camera", video: true, reason: "Quiet, please")
        let reason = try await sender.first("the publisher hears why") { event -> String? in
            guard case .muteForced("camera", video: true, audio: true, by: _, let reason) = event else { return nil }
            return reason
        }
        #expect(reason == "Quiet, please")
        #expect(!publisher.publishesVideo)
        #expect(!publisher.publishesAudio)
        _ = try await moderator.first("the room sees it") { event in
            if case .streamPropertyChanged(let stream, from: _) = event, !stream.hasVideo, !stream.hasAudio {
                true
            } else {
                nil
            }
        }
        for one in [moderator, sender] { await one.session.disconnect() }
    }

    @Test func whoIsPutOutHearsWhyAndLetsGoOfItsCamera() async throws {
        let house = try House()
        let moderator = try await house.join("moderator")
        let sender = try await house.join("publisher")
        let capture = PatternCapture(width: 320, height: 240)
        try await sender.session.publish(Publisher(name: "camera", videoCapture: capture))
        try await moderator.session.forceDisconnect(await sender.session.connection, reason: "Enough")
        let reason = try await sender.first("it hears why") { event -> String? in
            if case .forceDisconnected(by: _, let reason) = event { reason } else { nil }
        }
        #expect(reason == "Enough")
        _ = try await sender.first("its session is over") { event in
            if case .ended = event { true } else { nil }
        }
        try await eventually("its camera is let go of") { !capture.isCapturing }
        try await eventually("the room is without it") { await moderator.session.roomStreams.isEmpty }
        // It does not come back by itself.
        let id = await sender.session.connection.id
        let gone = try await moderator.first("it is gone") { event in
            if case .connectionDestroyed(let connection) = event { connection } else { nil }
        }
        #expect(gone.id == id)
        for one in [moderator, sender] { await one.session.disconnect() }
        let joined = moderator.all { if case .connectionCreated(let one) = $0 { one } else { nil } }
        #expect(joined.count == 1)
    }

    @Test func othersMayNot() async throws {
        let house = try House()
        let sender = try await house.join("publisher")
        let viewer = try await house.join("subscriber")
        let publisher = Publisher(name: "camera", videoCapture: nil, audioCapture: ToneCapture())
        try await sender.session.publish(publisher)
        try await viewer.session.forceMute()
        try await viewer.session.forceDisconnect(await sender.session.connection)
        for request in ["forceMute", "forceDisconnect"] {
            let code = try await viewer.first("\(request) is refused") { event -> String? in
                guard case .requestRefused(request, let code, _) = event else { return nil }
                return code
            }
            #expect(code == "notAllowed")
        }
        #expect(publisher.publishesAudio)
        do throws(SessionError) {
            try await viewer.session.publish(Publisher(name: "mine", videoCapture: nil, audioCapture: ToneCapture()))
            Issue.record("a subscriber publishes")
        } catch {
            guard case .refused(code: "notAllowed", _) = error else {
                Issue.record("\(error)")
                return
            }
        }
        for one in [sender, viewer] { await one.session.disconnect() }
    }

    @Test func aFullRoomSaysSo() async throws {
        let house = try House()
        let first = try await house.join("subscriber")
        do {
            let second = try await house.join("subscriber", ["--capacity", "1"])
            await second.session.disconnect()
            Issue.record("the room takes more than its capacity")
        } catch let error as SessionError {
            guard case .refused(code: "roomFull", _) = error else {
                Issue.record("\(error)")
                return
            }
        }
        await first.session.disconnect()
    }

    /// A stream of another program's, with codecs that we do not have: no offer is made for it.
    @Test func aStreamThatCannotBePlayedIsRefusedBeforeAnOffer() async throws {
        let server = try TestServer()
        let viewer = try await server.join()
        let channel = ServerChannel(
            url: try SignalingURL("ws://127.0.0.1:\(server.port)/demo"), options: .init(addresses: .loopback))
        let heard = Heard()
        channel.open { event in
            guard case .message(let message) = event else { return }
            if case .welcome = message {
                channel.send(
                    .publish(
                        stream: "film",
                        properties: StreamProperties(hasVideo: true, hasAudio: true, codecs: ["H264", "PCMU"])))
            }
            heard.add(message)
        }
        _ = try await viewer.first("the stream is there") { event in
            if case .streamPublished(name: "film") = event { true } else { nil }
        }
        await #expect {
            try await viewer.session.subscribe(Subscriber(), to: "film")
        } throws: { error in
            if case .refused(code: "noCommonCodec", _)? = error as? SessionError { true } else { false }
        }
        // What came after it would have come before this.
        try await viewer.session.signal(data: "last", to: await viewer.session.roomStreams[0].publisher)
        try await eventually("the publisher hears the signal") { heard.types.contains("signal") }
        #expect(!heard.types.contains("subscribe"))
        channel.close()
        await viewer.session.disconnect()
    }
}
