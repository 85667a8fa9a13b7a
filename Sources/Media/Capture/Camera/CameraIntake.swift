import EmisoraCore
import EmisoraVideo

/// Takes pictures from a stream and makes frames of them: borrowed where the driver can spare the buffer, else copied
/// once, decoded where they are compressed. Counts what is lost.
///
/// Used on the capturer's thread.
struct CameraIntake: ~Copyable {
    private let consumer: VideoCaptureConsumer
    private let policy: CameraOptions.LateFramePolicy
    private let emit: @Sendable (CameraEvent) -> Void
    private var clock = CameraClock()
    private var sequence = CameraSequence()
    private var meter: CameraRateMeter?
    private let decoder = MJPEGDecoder()
    private var thinner = FrameThinner()
    /// The newest picture that was handed on.
    private(set) var last: VideoFrame?
    private var pictures = 0

    init(_ consumer: VideoCaptureConsumer, options: CameraOptions, emit: @escaping @Sendable (CameraEvent) -> Void) {
        self.consumer = consumer
        policy = options.lateFramePolicy
        self.emit = emit
    }

    /// A stream begins anew: its numbers and stamps may, too.
    mutating func begin(_ stream: CameraStream) {
        sequence.restart()
        clock.restart()
        meter = stream.picture.format.frameRate.map { CameraRateMeter(negotiated: $0) }
    }

    /// Lets go of the last picture, which may lie in the driver's memory.
    mutating func forgetLast() {
        last = nil
    }

    /// Fetches what the driver has.
    ///
    /// - Parameters:
    ///   - isStopped: Asked before a frame is handed on; none is after a stop.
    ///   - now: The clock.
    /// - Returns: How many buffers there were, and how many pictures were handed on.
    mutating func fetch(
        _ stream: CameraStream, now: () -> Instant, isStopped: () -> Bool
    ) throws(V4L2Error) -> (buffers: Int, pictures: Int) {
        let before = pictures
        var count = 0
        var waiting: V4L2Buffer?
        do throws(V4L2Error) {
            // No more than there are buffers: a driver that always has one must not keep the thread from all else.
            while count < stream.buffers.count, let buffer = try stream.dequeue() {
                count += 1
                register(stream, buffer, now())
                guard stream.isComplete(buffer) else {
                    stream.buffers.giveBack(buffer.index)
                    drop(.invalid)
                    continue
                }
                if let late = waiting {
                    stream.buffers.giveBack(late.index)
                    drop(.captureLate)
                    waiting = nil
                }
                if policy == .discard {
                    waiting = buffer
                } else {
                    hand(stream, buffer, now(), isStopped)
                }
            }
        } catch {
            if let waiting { hand(stream, waiting, now(), isStopped) }
            throw error
        }
        if let waiting { hand(stream, waiting, now(), isStopped) }
        return (count, pictures - before)
    }

    /// Hands on a picture that does not come from the camera.
    mutating func hand(away picture: VideoFrame, now: Instant) {
        var frame = picture
        frame.timestamp = clock.instant(at: now)
        consumer.consume(frame)
    }

    private mutating func register(_ stream: CameraStream, _ buffer: V4L2Buffer, _ now: Instant) {
        let lost = sequence.gap(before: buffer.sequence)
        if lost > 0 {
            consumer.didLoseInDriver(count: lost)
            emit(.framesLostByDriver(lost))
        }
        if let measured = meter?.record(now), let negotiated = stream.picture.format.frameRate {
            emit(.rateMissed(negotiated: negotiated, measured: measured))
        }
    }

    private func drop(_ reason: DropReason) {
        consumer.didDrop(reason)
        emit(.framesDropped(reason, count: 1))
    }

    private mutating func hand(
        _ stream: CameraStream, _ buffer: V4L2Buffer, _ now: Instant, _ isStopped: () -> Bool
    ) {
        guard !isStopped() else {
            stream.buffers.giveBack(buffer.index)
            return drop(.captureStopped)
        }
        let timestamp = clock.instant(of: buffer, interval: stream.interval ?? .zero, now: now)
        // Before anything is decoded or copied. The consumer thins with the same rule, so it leaves out none of the rest.
        guard thinner.keep(timestamp, rate: consumer.wants.highestFrameRate) else {
            stream.buffers.giveBack(buffer.index)
            return drop(.adaptation)
        }
        let frame: VideoFrame
        do {
            switch stream.picture.coding {
            case .jpeg: frame = try decoded(stream, buffer, timestamp)
            case .raw where stream.mustCopy(buffer): frame = try copied(stream, buffer, timestamp)
            case .raw:
                frame = try VideoFrame(
                    borrowing: stream.buffers.lend(buffer.index), format: stream.picture.format,
                    planeOffsets: stream.picture.planeOffsets, timestamp: timestamp)
            }
        } catch VideoFrameError.poolExhausted {
            return drop(.noBuffer)
        } catch {
            return drop(.invalid)
        }
        last = frame
        pictures += 1
        consumer.consume(frame)
    }

    private func copied(
        _ stream: CameraStream, _ buffer: V4L2Buffer, _ timestamp: Instant
    ) throws(VideoFrameError) -> VideoFrame {
        defer { stream.buffers.giveBack(buffer.index) }
        var target = try consumer.makeFrame(stream.picture.tightFormat)
        stream.copy(buffer, into: &target)
        return target.finish(timestamp: timestamp)
    }

    private func decoded(_ stream: CameraStream, _ buffer: V4L2Buffer, _ timestamp: Instant) throws -> VideoFrame {
        defer { stream.buffers.giveBack(buffer.index) }
        guard let decoder else { throw VideoFrameError.poolExhausted(limit: 0) }
        let bytes = stream.bytes(of: buffer)
        let format = stream.picture.format
        let header = try decoder.header(of: bytes, limit: format.size)
        var target = try consumer.makeFrame(
            VideoFormat(
                .i420, size: header.size, colorMatrix: format.colorMatrix, colorRange: format.colorRange,
                frameRate: format.frameRate))
        try decoder.decode(bytes, header, into: &target)
        return target.finish(timestamp: timestamp)
    }
}
