import CEmisoraALSA
import EmisoraCapture
import EmisoraCore
import Glibc

/// Owns an ALSA device that records.
final class ALSAStream: PCMStream {
    let configuration: PCMConfiguration
    private let handle: OpaquePointer
    private let status: OpaquePointer

    /// Readings farther from now than this are of another clock.
    private static let largestAge = Duration.seconds(2)

    /// - Parameter channels: How many are wished for; what the device has instead is in the configuration.
    convenience init(_ device: String, channels: Int) throws(MicrophoneError) {
        emisora_alsa_silence_thread()
        var handle: OpaquePointer?
        let code = snd_pcm_open(&handle, device, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK))
        guard code >= 0, let handle else { throw Self.refusal(code, device) }
        try self.init(handle, device, channels: channels)
    }

    /// Takes over an open device (`snd_pcm_t`), and closes it if it cannot be used.
    init(_ handle: OpaquePointer, _ device: String, channels: Int) throws(MicrophoneError) {
        var status: OpaquePointer?
        guard snd_pcm_status_malloc(&status) >= 0, let status else {
            snd_pcm_close(handle)
            throw .driver(device: device, operation: "open it", code: ENOMEM)
        }
        do throws(MicrophoneError) {
            configuration = try ALSASetup(handle, device).apply(channels: channels)
            let code = snd_pcm_start(handle)
            guard code >= 0 else { throw .driver(device: device, operation: "start it", code: -code) }
        } catch {
            snd_pcm_status_free(status)
            snd_pcm_close(handle)
            throw error
        }
        self.handle = handle
        self.status = status
    }

    deinit {
        snd_pcm_status_free(status)
        snd_pcm_close(handle)
    }

    func wait(_ limit: Duration) throws(PCMFault) -> Bool {
        let code = snd_pcm_wait(handle, Int32(clamping: Int(limit.inMilliseconds.rounded(.up))))
        if code == -EINTR { return false }
        return try check(code, "wait for sound") > 0
    }

    func position() throws(PCMFault) -> PCMPosition {
        try check(snd_pcm_status(handle, status), "ask where it stands")
        switch snd_pcm_status_get_state(status) {
        case SND_PCM_STATE_XRUN: throw .overrun
        case SND_PCM_STATE_SUSPENDED: throw .suspended
        case SND_PCM_STATE_DISCONNECTED: throw .unplugged
        default: break
        }
        let available = Int(clamping: snd_pcm_status_get_avail(status))
        // What was taken but is not ready yet counts, too. Some plug-ins know of no delay.
        let age = max(available, snd_pcm_status_get_delay(status))
        var stamp = snd_htimestamp_t()
        snd_pcm_status_get_htstamp(status, &stamp)
        let now = MonotonicClock.now
        let measured = Instant(nanoseconds: Int64(stamp.tv_sec) &* 1_000_000_000 &+ Int64(stamp.tv_nsec))
        let isMonotonic = measured <= now && now - measured < Self.largestAge
        let seconds = Double(min(age, 2 * configuration.sampleRate)) / Double(configuration.sampleRate)
        return PCMPosition(
            time: (isMonotonic ? measured : now) - .nanoseconds(Int64(seconds * 1e9)), available: available)
    }

    func read(_ count: Int, into buffer: UnsafeMutableRawBufferPointer) throws(PCMFault) -> Int {
        let count = min(count, buffer.count / configuration.bytesPerSample)
        guard count > 0 else { return 0 }
        let read = snd_pcm_readi(handle, buffer.baseAddress, snd_pcm_uframes_t(count))
        if read == -Int(EAGAIN) || read == -Int(EINTR) { return 0 }
        return min(count, Int(try check(Int32(clamping: read), "read sound")))
    }

    func restart() throws(PCMFault) {
        try check(snd_pcm_prepare(handle), "prepare it")
        try check(snd_pcm_start(handle), "start it")
    }

    func resume() throws(PCMFault) -> Bool {
        let code = snd_pcm_resume(handle)
        if code == -EAGAIN { return false }
        // Drivers that cannot resume are started anew.
        if code < 0 || snd_pcm_state(handle) != SND_PCM_STATE_RUNNING { try restart() }
        return true
    }

    @discardableResult
    private func check(_ code: Int32, _ operation: String) throws(PCMFault) -> Int32 {
        guard code < 0 else { return code }
        switch -code {
        case EPIPE: throw .overrun
        case ESTRPIPE: throw .suspended
        case ENODEV, ENXIO, ENOENT: throw .unplugged
        default: throw .failed(operation: operation, code: -code)
        }
    }

    private static func refusal(_ code: Int32, _ device: String) -> MicrophoneError {
        switch -code {
        case EBUSY, EAGAIN: .busy(device: device)
        case EACCES, EPERM: .permissionDenied(device: device)
        case ENOENT, ENODEV, ENXIO:
            .notFound(device: device, available: ALSADevices.list().map(\.name))
        case EINVAL: .unusable(device: device, reason: "it does not record")
        default: .driver(device: device, operation: "open it", code: -code)
        }
    }
}
