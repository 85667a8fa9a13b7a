import Emisora
import Glibc
import Synchronization

/// Pictures and sound of a peer on their way back: what is decoded is captured again.
final class Echo: VideoFrameSink, AudioFrameSink {
    private let pictures = PushCapture(format: VideoFormat(.i420, width: 640, height: 480, frameRate: 30))
    private let sound = EchoedSound()

    func receive(_ frame: VideoFrame) { pictures.push(frame) }
    func receive(_ frame: AudioFrame) { sound.push(frame) }

    /// Answers an offer, and echoes until the peer leaves. `onEnd` follows where this does not throw.
    static func begin(_ offer: String, onEnd: @escaping @Sendable () -> Void) async throws -> String {
        let echo = Echo()
        let session = try await Session.standalone()
        do {
            let publisher = Publisher(name: "echo", videoCapture: echo.pictures, audioCapture: echo.sound)
            try await session.publish(publisher)
            let subscriber = Subscriber(videoSink: echo, audioSink: echo, options: .init(audioChannels: 2))
            let answer = try await session.answer(offer, sending: publisher, receiving: subscriber)
            Task {
                loop: for await event in session.events {
                    switch event {
                    case .subscriberConnected: say("a peer is echoed")
                    case .subscriptionEnded(_, let reason):
                        say("a peer left: \(reason)")
                        break loop
                    default: break
                    }
                }
                await session.disconnect()
                onEnd()
            }
            return answer
        } catch {
            await session.disconnect()
            throw error
        }
    }
}

/// A line at once, also into a pipe.
func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

/// Sound that comes by itself, for a publisher.
final class EchoedSound: AudioCapture {
    let format = AudioFormat.stereo
    private let consumer = Mutex<AudioCaptureConsumer?>(nil)

    var isCapturing: Bool { consumer.withLock { $0 != nil } }

    func push(_ frame: AudioFrame) { consumer.withLock { $0 }?.consume(frame) }

    func start(into consumer: AudioCaptureConsumer) throws(CaptureError) {
        try self.consumer.withLock { current throws(CaptureError) in
            guard current == nil else { throw .alreadyCapturing }
            current = consumer
        }
    }

    func stop() { consumer.withLock { $0 = nil } }
}
