/// What a WAV file says of its samples, and where they lie. Everything is checked against the file's size.
///
/// Source: Microsoft, "Multimedia Programming Interface and Data Specifications 1.0" (RIFF WAVE) and
/// WAVEFORMATEXTENSIBLE.
struct WAVHeader: Hashable, Sendable {
    static let sampleRates = 8_000...192_000
    static let channelCounts = 1...64

    let encoding: PCMEncoding
    let channels: Int
    let sampleRate: Int
    /// Bits of loudspeakers, 0 if not told.
    let speakers: UInt32
    /// Where the samples lie.
    let data: Range<Int>

    var bytesPerFrame: Int { channels * encoding.bytesPerSample }
    /// Samples of each channel.
    var frameCount: Int { data.count / bytesPerFrame }

    private static let mostChunks = 1000
    /// Of the `fmt ` chunk, what is looked at.
    private static let longestFormat = 40
    /// Who writes to a pipe cannot know the length and writes the largest there is.
    private static let unknownLength = 0x7FFF_F000

    init(_ file: FileHandle, path: String) throws(WAVError) {
        func wrong(_ offset: Int, _ problem: WAVError.Problem) -> WAVError {
            WAVError(path: path, offset: offset, problem: problem)
        }
        let start = file.bytes(at: 0, upTo: 12)
        guard start.count == 12, start.starts(with: "RIFF".utf8), start[8...].elementsEqual("WAVE".utf8) else {
            throw wrong(0, .notWAV)
        }
        var format: Format?
        var position = 12
        for _ in 0..<Self.mostChunks {
            let head = file.bytes(at: position, upTo: 8)
            guard head.count == 8 else { break }
            let length = Int(head.littleEndian(at: 4, bytes: 4))
            let body = position + 8
            if head.starts(with: "fmt ".utf8), format == nil {
                let bytes = file.bytes(at: body, upTo: min(length, Self.longestFormat))
                do throws(WAVError.Problem) {
                    format = try Format(bytes)
                } catch {
                    throw wrong(body, error)
                }
            } else if head.starts(with: "data".utf8) {
                guard let format else { throw wrong(position, .missingChunk("fmt ")) }
                let available = file.size - body
                guard length <= available || length >= Self.unknownLength else {
                    throw wrong(body, .truncated(needed: length, available: max(0, available)))
                }
                let size = min(length, available) / format.bytesPerFrame * format.bytesPerFrame
                guard size > 0 else { throw wrong(body, .noSamples) }
                encoding = format.encoding
                channels = format.channels
                sampleRate = format.sampleRate
                speakers = format.speakers
                data = body..<body + size
                return
            }
            // Chunks begin at even places.
            position = body + length + length % 2
        }
        throw wrong(min(position, file.size), .missingChunk(format == nil ? "fmt " : "data"))
    }
}

/// The `fmt ` chunk.
private struct Format {
    let encoding: PCMEncoding
    let channels: Int
    let sampleRate: Int
    var speakers: UInt32 = 0

    var bytesPerFrame: Int { channels * encoding.bytesPerSample }

    private static let pcm = 1
    private static let float = 3
    private static let extensible = 0xFFFE
    /// What follows the number of the kind in a GUID made of one.
    private static let guidTail: [UInt8] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]

    init(_ bytes: [UInt8]) throws(WAVError.Problem) {
        guard bytes.count >= 16 else { throw .formatTooShort(bytes: bytes.count) }
        var tag = Int(bytes.littleEndian(at: 0, bytes: 2))
        channels = Int(bytes.littleEndian(at: 2, bytes: 2))
        sampleRate = Int(bytes.littleEndian(at: 4, bytes: 4))
        let blockSize = Int(bytes.littleEndian(at: 12, bytes: 2))
        let bits = Int(bytes.littleEndian(at: 14, bytes: 2))
        if tag == Self.extensible {
            guard bytes.count >= 40 else { throw .formatTooShort(bytes: bytes.count) }
            guard bytes[26..<40].elementsEqual(Self.guidTail) else { throw .unsupportedEncoding(tag: tag) }
            speakers = bytes.littleEndian(at: 20, bytes: 4)
            tag = Int(bytes.littleEndian(at: 24, bytes: 2))
        }
        switch (tag, bits) {
        case (Self.pcm, 8): encoding = .unsigned8
        case (Self.pcm, 16): encoding = .signed16
        case (Self.pcm, 24): encoding = .signed24
        case (Self.pcm, 32): encoding = .signed32
        case (Self.float, 32): encoding = .float32
        case (Self.pcm, _), (Self.float, _): throw .unsupportedBits(bits, isFloat: tag == Self.float)
        default: throw .unsupportedEncoding(tag: tag)
        }
        guard WAVHeader.channelCounts.contains(channels) else { throw .channelCountOutOfRange(channels) }
        guard WAVHeader.sampleRates.contains(sampleRate) else { throw .sampleRateOutOfRange(sampleRate) }
        let needed = channels * encoding.bytesPerSample
        guard blockSize == needed else { throw .contradictoryBlockSize(needed: needed, given: blockSize) }
    }
}

extension [UInt8] {
    /// A number of up to four bytes; what is missing counts as zero.
    fileprivate func littleEndian(at offset: Int, bytes: Int) -> UInt32 {
        var value: UInt32 = 0
        for index in 0..<bytes where offset + index < count {
            value |= UInt32(self[offset + index]) << UInt32(8 * index)
        }
        return value
    }
}
