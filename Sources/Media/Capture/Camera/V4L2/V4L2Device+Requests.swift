import Glibc

/// The requests with their answers unpacked. An answer of another kind, which only a broken script can give, is `EPROTO`.
extension V4L2Device {
    package func queryCapability() throws(V4L2Error) -> V4L2Capability {
        let request = V4L2Request.queryCapability
        guard case .capability(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func enumerateFormat(_ type: V4L2BufferType, index: UInt32) throws(V4L2Error) -> V4L2FormatDescription {
        let request = V4L2Request.enumerateFormat(type, index: index)
        guard case .formatDescription(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func enumerateFrameSize(pixelFormat: UInt32, index: UInt32) throws(V4L2Error) -> V4L2FrameSize {
        let request = V4L2Request.enumerateFrameSize(pixelFormat: pixelFormat, index: index)
        guard case .frameSize(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func enumerateFrameInterval(
        pixelFormat: UInt32, width: UInt32, height: UInt32, index: UInt32
    ) throws(V4L2Error) -> V4L2FrameInterval {
        let request = V4L2Request.enumerateFrameInterval(
            pixelFormat: pixelFormat, width: width, height: height, index: index)
        guard case .frameInterval(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func getFormat(_ type: V4L2BufferType) throws(V4L2Error) -> V4L2Format {
        try format(.getFormat(type))
    }

    package func setFormat(_ format: V4L2Format) throws(V4L2Error) -> V4L2Format {
        try self.format(.setFormat(format))
    }

    package func tryFormat(_ format: V4L2Format) throws(V4L2Error) -> V4L2Format {
        try self.format(.tryFormat(format))
    }

    private func format(_ request: V4L2Request) throws(V4L2Error) -> V4L2Format {
        guard case .format(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func getInterval(_ type: V4L2BufferType) throws(V4L2Error) -> V4L2Fraction {
        let request = V4L2Request.getInterval(type)
        guard case .interval(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func setInterval(_ type: V4L2BufferType, _ interval: V4L2Fraction) throws(V4L2Error) -> V4L2Fraction {
        let request = V4L2Request.setInterval(type, interval)
        guard case .interval(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func requestBuffers(_ type: V4L2BufferType, count: UInt32) throws(V4L2Error) -> UInt32 {
        let request = V4L2Request.requestBuffers(type, count: count)
        guard case .count(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func queryBuffer(_ type: V4L2BufferType, index: UInt32) throws(V4L2Error) -> V4L2Buffer {
        let request = V4L2Request.queryBuffer(type, index: index)
        guard case .buffer(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func dequeueBuffer(_ type: V4L2BufferType) throws(V4L2Error) -> V4L2Buffer {
        let request = V4L2Request.dequeueBuffer(type)
        guard case .buffer(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func queueBuffer(_ type: V4L2BufferType, index: UInt32, planeCount: Int) throws(V4L2Error) {
        _ = try perform(.queueBuffer(type, index: index, planeCount: UInt32(clamping: planeCount)))
    }

    package func streamOn(_ type: V4L2BufferType) throws(V4L2Error) { _ = try perform(.streamOn(type)) }
    package func streamOff(_ type: V4L2BufferType) throws(V4L2Error) { _ = try perform(.streamOff(type)) }

    package func subscribeEvent(kind: UInt32, id: UInt32 = 0) throws(V4L2Error) {
        _ = try perform(.subscribeEvent(kind: kind, id: id))
    }

    package func dequeueEvent() throws(V4L2Error) -> V4L2Event {
        let request = V4L2Request.dequeueEvent
        guard case .event(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func queryControl(id: UInt32) throws(V4L2Error) -> V4L2ControlInfo {
        let request = V4L2Request.queryControl(id: id)
        guard case .controlInfo(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func queryMenu(id: UInt32, index: UInt32, isInteger: Bool) throws(V4L2Error) -> V4L2MenuItem {
        let request = V4L2Request.queryMenu(id: id, index: index, isInteger: isInteger)
        guard case .menuItem(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    package func getControl(id: UInt32, isWide: Bool = false) throws(V4L2Error) -> Int64 {
        let request = V4L2Request.getControl(id: id, isWide: isWide)
        guard case .value(let value) = try perform(request) else { throw request.mismatch }
        return value
    }

    @discardableResult
    package func setControl(id: UInt32, isWide: Bool = false, value: Int64) throws(V4L2Error) -> Int64 {
        let request = V4L2Request.setControl(id: id, isWide: isWide, value: value)
        guard case .value(let value) = try perform(request) else { throw request.mismatch }
        return value
    }
}

extension V4L2Request {
    fileprivate var mismatch: V4L2Error { V4L2Error(name, code: EPROTO) }
}
