import EmisoraCore
import EmisoraVideo

/// An opened camera that streams: its node, what was negotiated, its buffers.
///
/// Used by one thread at a time; frames made of it live on their own.
final class CameraStream: Sendable {
    let identity: CameraIdentity
    let mode: CameraMode
    let reason: String
    let picture: CameraPicture
    /// How long a frame lasts, by the driver's word; `nil` if it has none.
    let interval: Duration?
    let device: any V4L2Device
    private let type: V4L2BufferType
    let buffers: CameraBuffers

    /// Sets the mode, reads back what became of it, and starts the stream.
    ///
    /// - Parameters:
    ///   - choice: What to ask for. Its interval may be `nil`: the rate is the driver's business then.
    ///   - wake: Told that something needs a look, on any thread.
    init(
        _ device: any V4L2Device, type: V4L2BufferType, identity: CameraIdentity, choice: CameraMode, reason: String,
        bufferCount: Int, in system: any V4L2System, wake: @escaping @Sendable () -> Void
    ) throws(CameraError) {
        do throws(CameraSetupFailure) {
            let (picture, mode) = try Self.negotiate(device, type, choice)
            self.picture = picture
            self.mode = mode
            interval = picture.format.frameRate?.interval
            let buffers: CameraBuffers
            do throws(V4L2Error) {
                buffers = try CameraBuffers(
                    device, type: type, picture: picture, count: bufferCount, onTrouble: wake)
                do throws(V4L2Error) {
                    // Devices whose input cannot change do not know the event.
                    _ = try? device.subscribeEvent(kind: V4L2Event.sourceChange)
                    try device.streamOn(type)
                } catch {
                    buffers.close()
                    _ = try? device.requestBuffers(type, count: 0)
                    throw error
                }
            } catch {
                throw .refused(error)
            }
            self.buffers = buffers
        } catch {
            device.close()
            switch error {
            case .refused(let error): throw CameraError(error, path: identity.path, in: system)
            case .unusable(let format): throw .unusableFormat(path: identity.path, format: format)
            }
        }
        self.device = device
        self.type = type
        self.identity = identity
        self.reason = reason
    }

    private static func negotiate(
        _ device: any V4L2Device, _ type: V4L2BufferType, _ choice: CameraMode
    ) throws(CameraSetupFailure) -> (CameraPicture, CameraMode) {
        let format: V4L2Format
        var interval: V4L2Fraction?
        do throws(V4L2Error) {
            format = try device.setFormat(
                V4L2Format(
                    type: type, width: UInt32(clamping: choice.width), height: UInt32(clamping: choice.height),
                    pixelFormat: choice.fourcc.rawValue))
            if let wanted = choice.interval {
                interval = try unlessUnsupported { () throws(V4L2Error) in
                    try device.setInterval(type, V4L2Fraction(wanted.numerator, wanted.denominator))
                }
            }
            if interval == nil {
                interval = try unlessUnsupported { () throws(V4L2Error) in try device.getInterval(type) }
            }
        } catch {
            throw .refused(error)
        }
        let set = interval.map { FrameInterval($0.numerator, $0.denominator) }
        let fourcc = FourCC(rawValue: format.pixelFormat)
        let mode = CameraMode(
            fourcc: fourcc, width: Int(format.width), height: Int(format.height),
            interval: set.flatMap { $0.isValid ? $0 : nil })
        guard let picture = CameraPicture(format, frameRate: mode.interval?.frameRate) else {
            let strides = (0..<format.planes.count).map { plane in
                "\(format.planes[plane].bytesPerLine)/\(format.planes[plane].sizeImage)"
            }
            throw .unusable("\(mode), bytes per line and picture \(strides.joined(separator: ", "))")
        }
        return (picture, mode)
    }

    /// `nil` if the driver does not know the request.
    private static func unlessUnsupported<Result>(
        _ body: () throws(V4L2Error) -> Result
    ) throws(V4L2Error) -> Result? {
        do throws(V4L2Error) {
            return try body()
        } catch {
            guard error.isUnsupported else { throw error }
            return nil
        }
    }

    /// The next buffer that has something, if any; the driver's error otherwise. A buffer that the driver did not have
    /// is an error of the driver.
    func dequeue() throws(V4L2Error) -> V4L2Buffer? {
        let buffer: V4L2Buffer
        do throws(V4L2Error) {
            buffer = try device.dequeueBuffer(type)
        } catch {
            if error.isAgain { return nil }
            throw error
        }
        guard buffers.take(buffer) else {
            throw V4L2Error("VIDIOC_DQBUF", code: V4L2Error.protocolViolation)
        }
        return buffer
    }

    /// Whether the buffer holds a whole picture.
    func isComplete(_ buffer: V4L2Buffer) -> Bool {
        guard !buffer.isErroneous, buffer.planes.count >= picture.memoryPlanes else { return false }
        for plane in 0..<picture.memoryPlanes {
            let used = buffer.planes[plane]
            let (needed, overflow) = Int(used.dataOffset).addingReportingOverflow(picture.neededBytes(inPlane: plane))
            guard !overflow, Int(used.bytesUsed) >= needed, buffers.memory(buffer.index, plane: plane).count >= needed
            else { return false }
        }
        return true
    }

    /// The bytes of a compressed picture.
    func bytes(of buffer: V4L2Buffer) -> UnsafeRawBufferPointer {
        let memory = buffers.memory(buffer.index, plane: 0)
        let end = min(Int(buffer.planes[0].bytesUsed), memory.count)
        let start = min(Int(buffer.planes[0].dataOffset), end)
        return UnsafeRawBufferPointer(rebasing: memory[start..<end])
    }

    /// Whether the buffer's picture must be copied: too few buffers would be left with the driver, or the picture does
    /// not begin where the memory does.
    func mustCopy(_ buffer: V4L2Buffer) -> Bool {
        if buffers.withDriver < 2 { return true }
        for plane in 0..<picture.memoryPlanes where buffer.planes[plane].dataOffset != 0 { return true }
        return false
    }

    /// Copies a whole picture, row by row, into `target`, which has the same pixel format and size.
    func copy(_ buffer: V4L2Buffer, into target: inout MutableVideoFrame) {
        let source = picture.format
        for plane in 0..<source.planeCount {
            let piece = picture.planeOffsets == nil ? plane : 0
            let start = Int(buffer.planes[piece].dataOffset) + (picture.planeOffsets?[plane] ?? 0)
            let layout = source.layout(ofPlane: plane)
            let memory = buffers.memory(buffer.index, plane: piece)
            let from = UnsafeRawBufferPointer(rebasing: memory[start..<start + layout.byteCount])
            let stride = target.format.stride(ofPlane: plane)
            target.withUnsafeMutablePlane(plane) { $0.copyRows(from: from, layout, stride: stride) }
        }
    }

    /// Stops the stream and starts it again with the same buffers. Those that frames hold come back by themselves.
    func restart() throws(V4L2Error) {
        try buffers.reclaim { () throws(V4L2Error) in try device.streamOff(type) }
        try device.streamOn(type)
    }

    /// Ends the stream and closes the camera. Frames keep the memory that they hold.
    func close() {
        buffers.close()
        _ = try? device.streamOff(type)
        // Frees the driver's claim on the device: mappings that frames still hold would keep it otherwise.
        _ = try? device.requestBuffers(type, count: 0)
        device.close()
    }
}

private enum CameraSetupFailure: Error {
    case refused(V4L2Error)
    case unusable(String)
}

extension UnsafeMutableRawBufferPointer {
    /// Fills a plane of rows `stride` bytes apart with the rows of another; at once if they are as far apart.
    func copyRows(from source: UnsafeRawBufferPointer, _ layout: PlaneLayout, stride: Int) {
        if layout.stride == stride {
            copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<Swift.min(source.count, count)]))
            return
        }
        for row in 0..<layout.rows {
            let start = row * layout.stride
            UnsafeMutableRawBufferPointer(rebasing: self[(row * stride)...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<start + layout.rowBytes]))
        }
    }
}
