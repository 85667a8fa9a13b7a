/// What is wrong with a Y4M file, and where.
public struct Y4MError: Error, Hashable, Sendable {
    /// Bytes from the start of the file to what is wrong.
    public let offset: Int
    public let problem: Problem

    package init(offset: Int, problem: Problem) {
        self.offset = offset
        self.problem = problem
    }

    public enum Problem: Hashable, Sendable {
        /// The file does not begin with `YUV4MPEG2`.
        case notY4M
        /// A header line does not end within the given number of bytes.
        case headerTooLong(limit: Int)
        /// A parameter of the header cannot be understood.
        case invalidParameter(String)
        /// The header lacks a parameter, such as `W`.
        case missingParameter(String)
        /// Chroma other than 4:2:0 with 8 bits.
        case unsupportedChroma(String)
        /// Interlaced pictures.
        case unsupportedInterlacing(String)
        /// The picture's size is not one a frame can have.
        case sizeOutOfRange(String)
        /// A picture does not begin with `FRAME`.
        case missingFrameHeader
        /// The file ends within a picture. Counted from ``Y4MError/offset``.
        case truncated(needed: Int, available: Int)
        /// There is no picture at all.
        case noFrames
    }
}

extension Y4MError: CustomStringConvertible {
    public var description: String {
        "byte \(offset): \(problem)"
    }
}

extension Y4MError.Problem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notY4M: "not a Y4M file, it must begin with YUV4MPEG2"
        case .headerTooLong(let limit): "header line longer than \(limit) bytes"
        case .invalidParameter(let text): "parameter \"\(text)\" cannot be understood"
        case .missingParameter(let name): "the header has no parameter \(name)"
        case .unsupportedChroma(let text): "chroma \"\(text)\" is not supported, only 8-bit 4:2:0 and mono are"
        case .unsupportedInterlacing(let text): "interlaced pictures (\"\(text)\") are not supported"
        case .sizeOutOfRange(let size): "pictures of \(size) are too large or empty"
        case .missingFrameHeader: "a picture must begin with FRAME"
        case .truncated(let needed, let available): "the file ends: \(needed) bytes needed, \(available) left"
        case .noFrames: "the file has no pictures"
        }
    }
}
