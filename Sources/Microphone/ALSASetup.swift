import CEmisoraALSA
import EmisoraCapture
import Glibc

/// Sets a device up: 48 kHz and 16 bits where it has them, else what is nearest.
struct ALSASetup {
    private let handle: OpaquePointer
    private let device: String

    private static let period: UInt32 = 10_000
    private static let buffer: UInt32 = 200_000
    private static let sampleRates: ClosedRange<UInt32> = 8_000...192_000
    private static let channelCounts: ClosedRange<UInt32> = 1...64
    private static let longestBuffer = 1 << 20
    /// In the order in which they are taken.
    private static let encodings: [(snd_pcm_format_t, PCMEncoding)] = [
        (SND_PCM_FORMAT_S16_LE, .signed16), (SND_PCM_FORMAT_FLOAT_LE, .float32), (SND_PCM_FORMAT_S32_LE, .signed32),
        (SND_PCM_FORMAT_S24_3LE, .signed24), (SND_PCM_FORMAT_S24_LE, .signed24In32), (SND_PCM_FORMAT_U8, .unsigned8),
    ]

    init(_ handle: OpaquePointer, _ device: String) {
        self.handle = handle
        self.device = device
    }

    func apply(channels: Int) throws(MicrophoneError) -> PCMConfiguration {
        var parameters: OpaquePointer?
        guard snd_pcm_hw_params_malloc(&parameters) >= 0, let parameters else {
            throw .driver(device: device, operation: "set it up", code: ENOMEM)
        }
        defer { snd_pcm_hw_params_free(parameters) }
        let configuration = try applyHardware(parameters, channels: channels)
        try applySoftware(configuration)
        return configuration
    }

    private func applyHardware(
        _ parameters: OpaquePointer, channels wished: Int
    ) throws(MicrophoneError) -> PCMConfiguration {
        try check(snd_pcm_hw_params_any(handle, parameters), "ask what it can do")
        // ALSA's own conversion of rates is coarse: ours starts from what the device really has.
        _ = snd_pcm_hw_params_set_rate_resample(handle, parameters, 0)
        guard snd_pcm_hw_params_set_access(handle, parameters, SND_PCM_ACCESS_RW_INTERLEAVED) >= 0 else {
            throw .unusable(device: device, reason: "it does not deliver its channels interleaved")
        }
        let encoding = Self.encodings.first { snd_pcm_hw_params_test_format(handle, parameters, $0.0) == 0 }
        guard let encoding, snd_pcm_hw_params_set_format(handle, parameters, encoding.0) >= 0 else {
            throw .unusable(device: device, reason: "it has none of the sample formats that can be read")
        }
        var channels = UInt32(clamping: wished)
        try check(snd_pcm_hw_params_set_channels_near(handle, parameters, &channels), "set its channels")
        var rate = UInt32(DriftCorrector.sampleRate)
        try check(snd_pcm_hw_params_set_rate_near(handle, parameters, &rate, nil), "set its sample rate")
        guard Self.channelCounts.contains(channels) else {
            throw .unusable(device: device, reason: "it has \(channels) channels")
        }
        guard Self.sampleRates.contains(rate) else {
            throw .unusable(device: device, reason: "its sample rate is \(rate) Hz")
        }
        var period = Self.period
        try check(snd_pcm_hw_params_set_period_time_near(handle, parameters, &period, nil), "set its period")
        var buffer = Self.buffer
        try check(snd_pcm_hw_params_set_buffer_time_near(handle, parameters, &buffer, nil), "set its buffer")
        try check(snd_pcm_hw_params(handle, parameters), "set it up")

        var (periodLength, bufferLength) = (snd_pcm_uframes_t(0), snd_pcm_uframes_t(0))
        try check(snd_pcm_hw_params_get_period_size(parameters, &periodLength, nil), "read its period")
        try check(snd_pcm_hw_params_get_buffer_size(parameters, &bufferLength), "read its buffer")
        let length = min(max(1, Int(clamping: bufferLength)), Self.longestBuffer)
        return PCMConfiguration(
            encoding: encoding.1, channels: Int(channels), sampleRate: Int(rate),
            periodLength: min(max(1, Int(clamping: periodLength)), length), bufferLength: length)
    }

    /// Samples are announced by the period, and stamped on the monotonic clock where the device can.
    private func applySoftware(_ configuration: PCMConfiguration) throws(MicrophoneError) {
        var parameters: OpaquePointer?
        guard snd_pcm_sw_params_malloc(&parameters) >= 0, let parameters else {
            throw .driver(device: device, operation: "set it up", code: ENOMEM)
        }
        defer { snd_pcm_sw_params_free(parameters) }
        try check(snd_pcm_sw_params_current(handle, parameters), "read its settings")
        let period = snd_pcm_uframes_t(configuration.periodLength)
        _ = snd_pcm_sw_params_set_avail_min(handle, parameters, period)
        _ = snd_pcm_sw_params_set_tstamp_mode(handle, parameters, SND_PCM_TSTAMP_ENABLE)
        _ = snd_pcm_sw_params_set_tstamp_type(handle, parameters, SND_PCM_TSTAMP_TYPE_MONOTONIC)
        try check(snd_pcm_sw_params(handle, parameters), "change its settings")
    }

    private func check(_ code: Int32, _ operation: String) throws(MicrophoneError) {
        guard code < 0 else { return }
        switch -code {
        case EBUSY: throw .busy(device: device)
        case ENODEV, ENXIO: throw .unplugged(device: device)
        default: throw .driver(device: device, operation: operation, code: -code)
        }
    }
}
