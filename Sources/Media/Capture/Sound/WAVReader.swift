/// Reads a WAV file's sound in order, at 48 kHz and in one or two channels; over and over if it is looped. Used by one
/// thread at a time.
struct WAVReader {
    let header: WAVHeader
    let channels: Int
    private let file: FileHandle
    private let path: String
    private let isLooped: Bool
    private let mixer: ChannelMixer
    /// `nil` for sound that is at 48 kHz already and stays as it is.
    private var resampler: SincResampler?
    /// The next sample of each channel that is read.
    private var position = 0

    /// How many samples of each channel are read at once.
    private static let blockLength = 1024

    init(path: String, isLooped: Bool) throws(CaptureError) {
        let file = try FileHandle(reading: path)
        do throws(WAVError) {
            header = try WAVHeader(file, path: path)
        } catch {
            throw .custom(error)
        }
        self.file = file
        self.path = path
        self.isLooped = isLooped
        channels = min(2, header.channels)
        mixer = ChannelMixer(inputs: header.channels, outputs: channels, speakers: header.speakers)
        if header.sampleRate != DriftCorrector.sampleRate {
            resampler = SincResampler(
                channels: channels, inputRate: header.sampleRate, outputRate: DriftCorrector.sampleRate)
        }
    }

    /// How many samples of each channel there are at 48 kHz.
    var length: Int { Self.scaled(header.frameCount, from: header.sampleRate, to: DriftCorrector.sampleRate) }

    /// Goes to a sample at 48 kHz, counted from the start of the first pass.
    mutating func seek(to sample: Int) {
        let target = Self.scaled(sample, from: DriftCorrector.sampleRate, to: header.sampleRate)
        position = isLooped ? target % header.frameCount : min(target, header.frameCount)
        resampler?.restart()
    }

    /// The next `count` samples of each channel, interleaved; silence behind the end.
    mutating func read(_ count: Int) throws(WAVError) -> [Float] {
        guard resampler != nil else { return try readInput(count) }
        while true {
            if let samples = resampler?.make(count) { return samples }
            let block = try readInput(Self.blockLength)
            resampler?.append(block)
        }
    }

    private mutating func readInput(_ count: Int) throws(WAVError) -> [Float] {
        var samples: [Float] = []
        samples.reserveCapacity(count * channels)
        while samples.count < count * channels {
            let wanted = count - samples.count / channels
            let left = min(wanted, header.frameCount - position)
            guard left > 0 else {
                samples += [Float](repeating: 0, count: wanted * channels)
                break
            }
            let offset = header.data.lowerBound + position * header.bytesPerFrame
            let bytes = file.bytes(at: offset, upTo: left * header.bytesPerFrame)
            // The file may have become shorter since it was opened.
            guard bytes.count == left * header.bytesPerFrame else {
                throw WAVError(
                    path: path, offset: offset,
                    problem: .truncated(needed: left * header.bytesPerFrame, available: bytes.count))
            }
            samples += mixer.mix(bytes.withUnsafeBytes { header.encoding.decode($0) })
            position += left
            if isLooped, position == header.frameCount { position = 0 }
        }
        return samples
    }

    /// Without overflow for whatever position, and exact.
    private static func scaled(_ samples: Int, from: Int, to: Int) -> Int {
        samples / from * to + samples % from * to / from
    }
}
