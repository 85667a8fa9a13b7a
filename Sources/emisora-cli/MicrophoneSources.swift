import Emisora
import EmisoraMicrophone

/// What stands behind the colon of `mic:`, and what a person is told of the microphone.
enum MicrophoneSources {
    static func make(_ device: String?) -> MicrophoneCapture {
        MicrophoneCapture(device: device) { event in Terminal.note(text(of: event), as: "microphone.reported") }
    }

    private static func text(of event: MicrophoneEvent) -> String {
        switch event {
        case .opened(let device, let sampleRate, let channels):
            "Microphone \(device): \(sampleRate) Hz, \(channels == 1 ? "one channel" : "\(channels) channels")."
        case .soundLost(let duration, let loss):
            "\(seconds(duration)) of sound were lost (\(loss.rawValue))."
        case .interruptionBegan(let interruption): "\(interruption) Waiting for the microphone."
        case .interruptionEnded(let gap): "The microphone is back after \(seconds(gap))."
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        "\((duration.inSeconds * 100).rounded() / 100) s"
    }
}
