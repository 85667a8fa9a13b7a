import CEmisoraALSA
import Glibc

/// A device that ALSA can record from.
public struct MicrophoneDevice: Hashable, Sendable {
    /// What ``MicrophoneCapture/init(device:channels:onEvent:)`` takes, such as `hw:CARD=PCH,DEV=0`.
    public let name: String
    /// For people, in one line.
    public let title: String
}

/// The devices that ALSA's configuration names.
enum ALSADevices {
    /// These convert, or discard; no sound comes from them alone.
    private static let filters: Set<String> = [
        "jack", "lavrate", "null", "oss", "samplerate", "speex", "speexrate", "upmix", "vdownmix",
    ]
    /// Of the many names that each card has.
    private static let cardNames: Set<String> = ["default", "hw", "sysdefault"]
    private static let mostDevices = 1000

    static func list() -> [MicrophoneDevice] {
        emisora_alsa_silence_thread()
        var hints: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
        guard snd_device_name_hint(-1, "pcm", &hints) >= 0, let hints else { return [] }
        defer { _ = snd_device_name_free_hint(hints) }
        var devices: [MicrophoneDevice] = []
        for index in 0..<mostDevices {
            guard let hint = hints[index] else { break }
            guard let name = text("NAME", of: hint), text("IOID", of: hint) ?? "Input" == "Input", isSource(name) else {
                continue
            }
            let title = text("DESC", of: hint).map { $0.split(separator: "\n").joined(separator: ", ") }
            devices.append(MicrophoneDevice(name: name, title: title ?? name))
        }
        return devices
    }

    private static func isSource(_ name: String) -> Bool {
        let parts = name.split(separator: ":", maxSplits: 1).map(String.init)
        guard let kind = parts.first else { return false }
        if parts.count > 1, parts[1].contains("CARD=") { return cardNames.contains(kind) }
        switch kind {
        case "pulse": return getenv("PULSE_SERVER") != nil || hasServer("pulse/native")
        case "pipewire": return hasServer("pipewire-0")
        default: return !filters.contains(kind)
        }
    }

    /// A sound server that is not there must not be asked: some are started by that.
    private static func hasServer(_ socket: String) -> Bool {
        guard let folder = getenv("XDG_RUNTIME_DIR") else { return false }
        return access("\(String(cString: folder))/\(socket)", F_OK) == 0
    }

    private static func text(_ key: String, of hint: UnsafeMutableRawPointer) -> String? {
        guard let value = snd_device_name_get_hint(hint, key) else { return nil }
        defer { free(value) }
        return String(cString: value)
    }
}
