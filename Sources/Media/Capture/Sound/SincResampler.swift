import Glibc

/// Resamples sound at a ratio that may change a little from frame to frame: a windowed sinc in a table of phases, with
/// linear interpolation between neighbouring ones. Images and aliases lie below −75 dB; the pass band reaches 0.41 of
/// the lower rate (19.7 kHz at 48 kHz).
///
/// No sample is lost or invented when the ratio changes, so nothing clicks. Source: J. O. Smith, "Digital Audio
/// Resampling", bandlimited interpolation.
package struct SincResampler: Sendable {
    package let channels: Int
    /// Input samples for each output sample.
    package var step: Double
    private let filter: Filter
    /// Interleaved input that is still needed.
    private var buffer: [Float]
    /// Where the next output sample lies in the buffer, in samples per channel.
    private var position: Double
    /// Samples per channel that left the buffer.
    private var discarded: Int

    package init(channels: Int, inputRate: Int, outputRate: Int) {
        self.channels = max(1, channels)
        step = Double(inputRate) / Double(outputRate)
        filter = Filter(bandwidth: min(1, Double(outputRate) / Double(inputRate)))
        buffer = []
        position = 0
        discarded = 0
        restart()
    }

    /// Begins anew, with silence before the first sample.
    package mutating func restart() {
        buffer = [Float](repeating: 0, count: filter.reach * channels)
        position = Double(filter.reach)
        discarded = -filter.reach
    }

    /// Where the next output sample lies among all that was appended since the start.
    package var inputPosition: Double { Double(discarded) + position }

    package mutating func append(_ samples: [Float]) {
        buffer += samples
    }

    /// The next `count` samples of each channel, interleaved; `nil` until enough was appended: some 25 samples more than
    /// what they span.
    package mutating func make(_ count: Int) -> [Float]? {
        guard count > 0, step > 0 else { return nil }
        let last = position + Double(count - 1) * step
        guard Int(last) + filter.reach < buffer.count / channels else { return nil }
        let result = [Float](unsafeUninitializedCapacity: count * channels) { output, initialized in
            buffer.withUnsafeBufferPointer { input in
                guard let input = input.baseAddress, let output = output.baseAddress else { return }
                for index in 0..<count {
                    filter.apply(input, channels, at: position + Double(index) * step, to: output + index * channels)
                }
                initialized = count * channels
            }
        }
        position += Double(count) * step
        // The filter reaches back; what lies before goes.
        let surplus = min(max(0, Int(position) - filter.reach), buffer.count / channels)
        buffer.removeFirst(surplus * channels)
        position -= Double(surplus)
        discarded += surplus
        return result
    }
}

/// The low-pass filter's impulse response at 256 phases between two samples.
private struct Filter: Sendable {
    /// Samples to each side.
    let reach: Int
    private let table: [Float]
    private static let phases = 256
    /// Zero crossings to each side at equal rates.
    private static let halfWidth = 24
    /// Of the Kaiser window: 80 dB.
    private static let beta = 7.9

    private var taps: Int { 2 * reach }

    /// - Parameter bandwidth: 1, or less to keep what the output's rate cannot carry away from it.
    init(bandwidth: Double) {
        let reach = Int((Double(Self.halfWidth) / bandwidth).rounded(.up))
        // Cycles per input sample; the transition band ends at half the lower rate.
        let cutoff = 0.456 * bandwidth
        var table: [Float] = []
        table.reserveCapacity((Self.phases + 1) * 2 * reach)
        for phase in 0...Self.phases {
            let fraction = Double(phase) / Double(Self.phases)
            var row = (0..<2 * reach).map { tap -> Double in
                let distance = Double(tap - reach + 1) - fraction
                let angle = 2 * .pi * cutoff * distance
                let sinc = abs(angle) < 1e-9 ? 1 : sin(angle) / angle
                return sinc * Self.kaiser(distance / Double(reach))
            }
            // Each phase passes a constant alike: else the table's steps would be heard as a tone.
            let sum = row.reduce(0, +)
            for tap in row.indices { row[tap] /= sum }
            table += row.map { Float($0) }
        }
        self.reach = reach
        self.table = table
    }

    /// Makes one sample of each channel. The input has `reach` samples on both sides of `place`.
    func apply(
        _ input: UnsafePointer<Float>, _ channels: Int, at place: Double, to output: UnsafeMutablePointer<Float>
    ) {
        let base = Int(place)
        let phase = (place - Double(base)) * Double(Self.phases)
        let row = min(Int(phase), Self.phases - 1)
        let weight = Float(phase - Double(row))
        let taps = taps
        output.initialize(repeating: 0, count: channels)
        table.withUnsafeBufferPointer { table in
            guard var low = table.baseAddress.map({ $0 + row * taps }) else { return }
            var high = low + taps
            var sample = input + (base - reach + 1) * channels
            let end = high
            while low != end {
                let gain = low.pointee + weight * (high.pointee - low.pointee)
                var channel = 0
                while channel < channels {
                    output[channel] += gain * sample.pointee
                    sample += 1
                    channel += 1
                }
                low += 1
                high += 1
            }
        }
    }

    /// The Kaiser window, `x` from −1 to 1.
    private static func kaiser(_ x: Double) -> Double {
        abs(x) >= 1 ? 0 : bessel(beta * (1 - x * x).squareRoot()) / bessel(beta)
    }

    /// The modified Bessel function of the first kind, of order 0.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term, index) = (1.0, 1.0, 1.0)
        while term > sum * 1e-12 {
            term *= (x / (2 * index)) * (x / (2 * index))
            sum += term
            index += 1
        }
        return sum
    }
}
