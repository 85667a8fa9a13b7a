import Emisora
import Glibc

/// `emisora-bench viewers URL COUNT [STREAM]`: viewers of a stream that take what comes, by real ICE, DTLS and SRTP and with a
/// player's feedback, and decode nothing, so that a machine carries many of them beside their publisher.
///
/// Says `connected` when media has come to each. Each line on standard input is then answered by one of JSON with what they
/// have had until then, all together; the end of standard input ends them.
enum Viewers {
    /// Fewer than a server lets one participant have.
    private static let perSession = 32

    static func run(_ arguments: [String]) async -> Int32 {
        guard (2...3).contains(arguments.count), let count = Int(arguments[1]), (1...256).contains(count) else {
            return complain("usage: emisora-bench viewers URL COUNT [STREAM], with a COUNT from 1 to 256")
        }
        do throws(SessionError) {
            let stream = arguments.count > 2 ? arguments[2] : "main"
            let sessions = try await connect(count, to: arguments[0], stream)
            say("connected")
            while readLine() != nil { say(await figures(of: sessions)) }
            for session in sessions { await session.disconnect() }
            return 0
        } catch {
            return complain("\(error)")
        }
    }

    private static func connect(_ count: Int, to url: String, _ stream: String) async throws(SessionError) -> [Session]
    {
        var options = Subscriber.Options()
        options.decodes = false
        var sessions: [Session] = []
        for first in stride(from: 0, to: count, by: perSession) {
            let session = try await Session.connect(to: url)
            sessions.append(session)
            // One after the other, so that what a crowd costs at its coming is not what is measured.
            for _ in first..<min(count, first + perSession) {
                try await session.subscribe(Subscriber(options: options), to: stream)
            }
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            var present = 0
            for session in sessions {
                present += await session.statistics().subscribers.count { $0.framesReceived > 0 }
            }
            if present == count { return sessions }
            guard ContinuousClock.now < deadline else {
                throw .system("Only \(present) of \(count) viewers see pictures after a minute.")
            }
            do { try await Task.sleep(for: .milliseconds(50)) } catch { throw .cancelled }
        }
    }

    private static func figures(of sessions: [Session]) async -> String {
        var viewers = 0
        var (frames, packets, bytes, lost) = (UInt64(0), UInt64(0), UInt64(0), Int64(0))
        for session in sessions {
            for viewer in await session.statistics().subscribers {
                viewers += 1
                frames += viewer.framesReceived
                packets += viewer.packetsReceived
                bytes += viewer.bytesReceived
                lost += viewer.packetsLost
            }
        }
        return #"{"viewers":\#(viewers),"framesReceived":\#(frames),"packetsReceived":\#(packets),"#
            + #""bytesReceived":\#(bytes),"packetsLost":\#(lost)}"#
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func complain(_ line: String) -> Int32 {
        print("emisora-bench: \(line)")
        return 2
    }
}
