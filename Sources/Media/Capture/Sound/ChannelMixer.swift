/// Brings interleaved sound of any number of channels to one or two.
package struct ChannelMixer: Sendable {
    package let inputs: Int
    package let outputs: Int
    /// The share of each input in each output, outputs one behind the other.
    private let gains: [Float]

    /// - Parameters:
    ///   - speakers: The loudspeaker that each channel is meant for, as bits of the mask in WAVE_FORMAT_EXTENSIBLE from
    ///     the lowest; channels beyond have none. 0 for the usual order.
    package init(inputs: Int, outputs: Int, speakers: UInt32 = 0) {
        self.inputs = max(1, inputs)
        self.outputs = min(2, max(1, outputs))
        gains = Self.gains(self.inputs, self.outputs, Self.positions(self.inputs, speakers))
    }

    /// For a device: of more than two channels the first are taken, since a mean of microphones in different places
    /// sounds hollow.
    package init(microphones inputs: Int, outputs: Int) {
        self.inputs = max(1, inputs)
        self.outputs = min(2, max(1, outputs))
        if inputs <= 2 {
            gains = Self.gains(self.inputs, self.outputs, [])
        } else {
            let (inputs, outputs) = (self.inputs, self.outputs)
            gains = (0..<inputs * outputs).map { $0 % inputs == $0 / inputs ? 1 : 0 }
        }
    }

    /// Whether the sound stays as it is.
    package var isIdentity: Bool { inputs == outputs && inputs <= 2 }

    package func mix(_ samples: [Float]) -> [Float] {
        guard !isIdentity else { return samples }
        let count = samples.count / inputs
        return [Float](unsafeUninitializedCapacity: count * outputs) { mixed, initialized in
            for index in 0..<count {
                for output in 0..<outputs {
                    var sum: Float = 0
                    for input in 0..<inputs { sum += gains[output * inputs + input] * samples[index * inputs + input] }
                    mixed.initializeElement(at: index * outputs + output, to: sum)
                }
            }
            initialized = count * outputs
        }
    }

    private static func gains(_ inputs: Int, _ outputs: Int, _ positions: [Int?]) -> [Float] {
        if inputs == 1 { return [Float](repeating: 1, count: outputs) }
        if inputs == 2 { return outputs == 1 ? [0.5, 0.5] : [1, 0, 0, 1] }
        let shares = positions.map(share)
        let left = shares.map(\.left)
        let right = shares.map(\.right)
        let rows = outputs == 2 ? [left, right] : [zip(left, right).map { $0 + $1 }]
        // The loudest sound possible stays within full scale.
        let peak = rows.map { $0.reduce(0, +) }.max() ?? 1
        return rows.flatMap { $0 }.map { peak > 0 ? $0 / peak : 1 / Float(inputs) }
    }

    private static func positions(_ count: Int, _ speakers: UInt32) -> [Int?] {
        // The orders that files without a mask have: 3.0, quadro, 5.0, 5.1, 6.1, 7.1.
        let usual: [Int: UInt32] = [3: 0x7, 4: 0x33, 5: 0x37, 6: 0x3F, 7: 0x70F, 8: 0x63F]
        let mask = speakers == 0 ? usual[count] ?? 0 : speakers
        let bits = (0..<18).filter { mask & 1 << UInt32($0) != 0 }
        return (0..<count).map { $0 < bits.count ? bits[$0] : nil }
    }

    /// What of a loudspeaker's sound goes to the left and right, after ITU-R BS.775; the low-frequency one is left out.
    private static func share(of position: Int?) -> (left: Float, right: Float) {
        switch position {
        case 0: (1, 0)
        case 1: (0, 1)
        case 3: (0, 0)
        case 4, 6, 9: (0.7071, 0)
        case 5, 7, 10: (0, 0.7071)
        case 2: (0.7071, 0.7071)
        default: (0.5, 0.5)
        }
    }
}
