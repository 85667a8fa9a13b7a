import EmisoraVideo

/// The first line of a Y4M file: `YUV4MPEG2 W640 H480 F30000:1001 Ip A1:1 C420jpeg XCOLORRANGE=FULL`.
struct Y4MHeader: Hashable, Sendable {
    static let magic = "YUV4MPEG2"
    /// The longest line that is accepted, with its end.
    static let longestLine = 1024

    var format: VideoFormat
    /// Only luma in the file; the frames get neutral chroma.
    var isMono: Bool
    /// Bytes up to and with the end of the line.
    var byteCount: Int

    /// - Parameter bytes: The start of the file, ``longestLine`` bytes of it if it has so many.
    init(_ bytes: [UInt8]) throws(Y4MError) {
        guard bytes.starts(with: Array(Self.magic.utf8)) else { throw Y4MError(offset: 0, problem: .notY4M) }
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            throw Y4MError(
                offset: bytes.count,
                problem: bytes.count >= Self.longestLine
                    ? .headerTooLong(limit: Self.longestLine)
                    : .truncated(needed: 1, available: 0))
        }
        let magicEnd = Self.magic.utf8.count
        guard end == magicEnd || bytes[magicEnd] == UInt8(ascii: " ") else {
            throw Y4MError(offset: magicEnd, problem: .notY4M)
        }
        var parameters = Parameters()
        var start = magicEnd
        for token in bytes[magicEnd..<end].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false) {
            if let first = token.first {
                let value = String(decoding: token.dropFirst(), as: UTF8.self)
                try parameters.read(first, value, offset: start)
            }
            start += token.count + 1
        }
        try self.init(parameters, lineEnd: end)
    }

    private init(_ parameters: Parameters, lineEnd: Int) throws(Y4MError) {
        guard let width = parameters.width else {
            throw Y4MError(offset: lineEnd, problem: .missingParameter("W (width)"))
        }
        guard let height = parameters.height else {
            throw Y4MError(offset: lineEnd, problem: .missingParameter("H (height)"))
        }
        guard let rate = parameters.frameRate else {
            throw Y4MError(offset: lineEnd, problem: .missingParameter("F (frame rate)"))
        }
        format = VideoFormat(
            .i420, width: width, height: height, colorRange: parameters.colorRange, frameRate: rate)
        isMono = parameters.isMono
        byteCount = lineEnd + 1
        do throws(VideoFrameError) {
            try format.validate()
        } catch {
            throw Y4MError(offset: parameters.sizeOffset, problem: .sizeOutOfRange("\(width)x\(height)"))
        }
    }

    private struct Parameters {
        var width: Int?
        var height: Int?
        var frameRate: FrameRate?
        var isMono = false
        var colorRange = ColorRange.limited
        /// Where the later of width and height stands.
        var sizeOffset = 0

        mutating func read(_ name: UInt8, _ value: String, offset: Int) throws(Y4MError) {
            let text = String(UnicodeScalar(name)) + value
            let invalid = Y4MError(offset: offset, problem: .invalidParameter(text))
            switch name {
            case UInt8(ascii: "W"):
                guard let number = Int(value) else { throw invalid }
                width = number
                sizeOffset = offset
            case UInt8(ascii: "H"):
                guard let number = Int(value) else { throw invalid }
                height = number
                sizeOffset = offset
            case UInt8(ascii: "F"):
                let sides = value.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
                guard sides.count == 2, let above = sides[0], let below = sides[1],
                    let rate = FrameRate(above, below), rate <= PacedCapture.highestFrameRate
                else { throw invalid }
                frameRate = rate
            case UInt8(ascii: "I"):
                // "?" is unknown, which files of progressive pictures often say.
                guard value == "p" || value == "?" else {
                    throw Y4MError(offset: offset, problem: .unsupportedInterlacing(text))
                }
            case UInt8(ascii: "C"):
                guard ["420", "420jpeg", "420mpeg2", "420paldv", "mono"].contains(value) else {
                    throw Y4MError(offset: offset, problem: .unsupportedChroma(text))
                }
                isMono = value == "mono"
            case UInt8(ascii: "X"):
                if value == "COLORRANGE=FULL" { colorRange = .full }
            case UInt8(ascii: "A"):
                // The pixels' shape is not carried any further.
                break
            default:
                throw invalid
            }
        }
    }
}
