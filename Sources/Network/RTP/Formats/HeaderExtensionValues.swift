import EmisoraCore

/// The header extensions whose values differ from packet to packet; `nil`: not in this packet.
///
/// ```swift
/// let values = HeaderExtensionValues(of: header, in: packet, ids: ids)
/// if let number = values.transportSequenceNumber { … }
/// ```
package struct HeaderExtensionValues: Equatable, Sendable {
    /// Volume of the packet's sound (RFC 6464 §3).
    package struct AudioLevel: Equatable, Sendable {
        package var hasVoice: Bool
        /// In −dBov: 0 is the loudest, 127 silence.
        package var level: UInt8

        package init(hasVoice: Bool, level: UInt8) {
            self.hasVoice = hasVoice
            self.level = level
        }
    }

    /// How a picture is to be turned before it is shown (CVO, 3GPP TS 26.114 §7.4.5).
    package struct VideoOrientation: Equatable, Sendable {
        /// Quarter turns clockwise that the receiver makes, 0…3.
        package var quarterTurns: UInt8
        /// Mirrored left to right.
        package var isFlipped: Bool
        /// Of a camera that faces away from its user.
        package var isBackFacing: Bool

        package init(quarterTurns: UInt8, isFlipped: Bool = false, isBackFacing: Bool = false) {
            self.quarterTurns = quarterTurns
            self.isFlipped = isFlipped
            self.isBackFacing = isBackFacing
        }

        /// As pictures lie of which nothing is said.
        package static let upright = VideoOrientation(quarterTurns: 0)
    }

    /// Bounds for the time between capture and display, in units of 10 ms, 0…4095.
    package struct PlayoutDelay: Equatable, Sendable {
        package var minimum: UInt16
        package var maximum: UInt16

        package init(minimum: UInt16, maximum: UInt16) {
            self.minimum = minimum
            self.maximum = maximum
        }

        /// The nearest bounds that can be told: whole units of 10 ms, no longer than 40.95 s.
        package init(_ bounds: ClosedRange<Duration>) {
            func units(_ duration: Duration, roundedUp: Bool) -> UInt16 {
                let longest: Duration = .milliseconds(40_950)
                let nanoseconds = min(longest, max(.zero, duration)).nanoseconds
                return UInt16(clamping: (nanoseconds + (roundedUp ? 9_999_999 : 0)) / 10_000_000)
            }
            minimum = units(bounds.lowerBound, roundedUp: false)
            maximum = units(bounds.upperBound, roundedUp: true)
        }

        /// As durations; `nil` where they are the wrong way round.
        package var durations: ClosedRange<Duration>? {
            guard minimum <= maximum else { return nil }
            return .milliseconds(Int64(minimum) * 10) ... .milliseconds(Int64(maximum) * 10)
        }
    }

    package struct AbsoluteCaptureTime: Equatable, Sendable {
        /// Of the capturer's wall clock.
        package var timestamp: NTPTimestamp
        /// What a mixer adds to get from its own clock to the capturer's, in 1/2^32 s.
        package var clockOffset: Int64?

        package init(timestamp: NTPTimestamp, clockOffset: Int64? = nil) {
            self.timestamp = timestamp
            self.clockOffset = clockOffset
        }
    }

    /// When the packet was sent, in 1/2^18 s, modulo 64 s: the low 24 bits.
    package var absoluteSendTime: UInt32?
    package var transportSequenceNumber: UInt16?
    package var audioLevel: AudioLevel?
    package var videoOrientation: VideoOrientation?
    package var playoutDelay: PlayoutDelay?
    package var absoluteCaptureTime: AbsoluteCaptureTime?

    package init() {}

    /// The value of the abs-send-time extension for an instant.
    package static func absoluteSendTime(at instant: Instant) -> UInt32 {
        let (seconds, rest) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let fraction = seconds &<< 18 &+ (rest << 18) / 1_000_000_000
        return UInt32(truncatingIfNeeded: fraction) & 0xFF_FFFF
    }

    // MARK: Reading

    /// The values in a parsed packet. Elements of a length that their extension does not have are ignored.
    package init(of header: RTPHeader, in packet: RawSpan, ids: HeaderExtensionIDs) {
        var extensions = HeaderExtensions(of: header, in: packet)
        while let element = extensions.next() {
            var reader = ByteReader(extensions.value(of: element))
            // What is too short stays unread.
            try? read(element.id, ids, &reader)
        }
    }

    private mutating func read(
        _ id: UInt8, _ ids: HeaderExtensionIDs, _ reader: inout ByteReader
    ) throws(ByteError) {
        switch id {
        case ids.absoluteSendTime where reader.remaining == 3:
            absoluteSendTime = try reader.readUInt24()
        case ids.transportSequenceNumber:
            // Version 2 of the extension may carry a request for feedback behind it.
            transportSequenceNumber = try reader.readInteger(UInt16.self)
        case ids.audioLevel:
            let byte: UInt8 = try reader.readInteger()
            audioLevel = AudioLevel(hasVoice: byte & 0x80 != 0, level: byte & 0x7F)
        case ids.videoOrientation where reader.remaining == 1:
            let byte: UInt8 = try reader.readInteger()
            videoOrientation = VideoOrientation(
                quarterTurns: byte & 3, isFlipped: byte & 4 != 0, isBackFacing: byte & 8 != 0)
        case ids.playoutDelay where reader.remaining == 3:
            let field = try reader.readUInt24()
            let bounds = PlayoutDelay(minimum: UInt16(field >> 12), maximum: UInt16(field & 0xFFF))
            playoutDelay = bounds.minimum <= bounds.maximum ? bounds : nil
        case ids.absoluteCaptureTime:
            let timestamp = NTPTimestamp(rawValue: try reader.readInteger())
            let offset = reader.remaining >= 8 ? try reader.readInteger(Int64.self) : nil
            absoluteCaptureTime = AbsoluteCaptureTime(timestamp: timestamp, clockOffset: offset)
        default:
            break
        }
    }

    // MARK: Writing

    /// Writes the elements whose ids were negotiated.
    @_lifetime(writer: copy writer)
    func write(to writer: inout ByteWriter, ids: HeaderExtensionIDs, isOneByteForm: Bool) throws(ByteError) {
        if let id = ids.absoluteSendTime, let absoluteSendTime {
            try Self.writeHead(id, 3, isOneByteForm, &writer)
            try writer.writeUInt24(absoluteSendTime)
        }
        if let id = ids.transportSequenceNumber, let transportSequenceNumber {
            try Self.writeHead(id, 2, isOneByteForm, &writer)
            try writer.writeInteger(transportSequenceNumber)
        }
        if let id = ids.audioLevel, let audioLevel {
            try Self.writeHead(id, 1, isOneByteForm, &writer)
            try writer.writeInteger(min(audioLevel.level, 127) | (audioLevel.hasVoice ? 0x80 : 0))
        }
        if let id = ids.videoOrientation, let videoOrientation {
            try Self.writeHead(id, 1, isOneByteForm, &writer)
            try writer.writeInteger(
                UInt8(videoOrientation.quarterTurns & 3 | (videoOrientation.isFlipped ? 4 : 0))
                    | (videoOrientation.isBackFacing ? 8 : 0))
        }
        if let id = ids.playoutDelay, let playoutDelay {
            try Self.writeHead(id, 3, isOneByteForm, &writer)
            let maximum = min(playoutDelay.maximum, 0xFFF)
            try writer.writeUInt24(UInt32(min(playoutDelay.minimum, maximum)) << 12 | UInt32(maximum))
        }
        if let id = ids.absoluteCaptureTime, let absoluteCaptureTime {
            try Self.writeHead(id, absoluteCaptureTime.clockOffset == nil ? 8 : 16, isOneByteForm, &writer)
            try writer.writeInteger(absoluteCaptureTime.timestamp.rawValue)
            if let offset = absoluteCaptureTime.clockOffset { try writer.writeInteger(offset) }
        }
    }

    @_lifetime(writer: copy writer)
    private static func writeHead(
        _ id: UInt8, _ byteCount: UInt8, _ isOneByteForm: Bool, _ writer: inout ByteWriter
    ) throws(ByteError) {
        if isOneByteForm {
            try writer.writeInteger(id << 4 | (byteCount - 1))
        } else {
            try writer.writeInteger(id)
            try writer.writeInteger(byteCount)
        }
    }
}
