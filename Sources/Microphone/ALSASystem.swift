import EmisoraCapture
import EmisoraCore

/// ALSA and the machine's clock, for one thread.
struct ALSASystem: PCMSystem {
    let run: CaptureRun

    var now: Instant { MonotonicClock.now }

    func wait(until deadline: Instant) -> Bool { run.wait(until: deadline) }

    func open(_ device: String, channels: Int) throws(MicrophoneError) -> any PCMStream {
        try ALSAStream(device, channels: channels)
    }
}
