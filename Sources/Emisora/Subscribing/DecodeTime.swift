import EmisoraCore

/// How long a picture is to be given for decoding: the usual time and twice its variation.
struct DecodeTime: Sendable {
    private static let longest = 0.1

    private var mean = 0.0
    private var deviation = 0.0
    private var isKnown = false

    var allowance: Duration {
        .nanoseconds(Int64(min(Self.longest, mean + 2 * deviation) * 1e9))
    }

    mutating func add(_ duration: Duration) {
        let seconds = max(0, duration.inSeconds)
        guard isKnown else {
            mean = seconds
            isKnown = true
            return
        }
        // As RFC 6298 has it for round trips.
        deviation += (abs(seconds - mean) - deviation) / 4
        mean += (seconds - mean) / 8
    }
}
