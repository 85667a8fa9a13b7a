import CEmisoraV4L2
import Glibc
import Synchronization

/// An open node of the kernel's. The descriptor is closed once, by `close` or with the object.
package final class LinuxV4L2Device: V4L2Device {
    let descriptor: Int32
    private let isClosed = Atomic(false)

    init(path: String, converting: Bool) throws(V4L2Error) {
        descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw V4L2Error("open", code: errno) }
        var status = stat()
        // Anything else would answer requests meant for a camera with whatever they mean to it.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else {
            close()
            throw V4L2Error("open", code: ENOTTY)
        }
        guard !converting || emisora_v4l2_convert(descriptor) == 0 else {
            let code = errno
            close()
            throw V4L2Error("open with conversion", code: code)
        }
    }

    deinit {
        close()
    }

    package func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        _ = emisora_v4l2_close(descriptor)
    }

    package func map(length: Int, offset: Int64) throws(V4L2Error) -> V4L2Mapping {
        guard length > 0, let memory = emisora_v4l2_map(descriptor, length, offset) else {
            throw V4L2Error("mmap", code: length > 0 ? errno : EINVAL)
        }
        // An address is a number that may cross to the thread that unmaps.
        let address = UInt(bitPattern: memory)
        return V4L2Mapping(UnsafeRawBufferPointer(start: memory, count: length)) {
            _ = emisora_v4l2_unmap(UnsafeMutableRawPointer(bitPattern: address), length)
        }
    }

    package func perform(_ request: V4L2Request) throws(V4L2Error) -> V4L2Answer {
        guard !isClosed.load(ordering: .acquiring) else { throw V4L2Error(request.name, code: EBADF) }
        switch request {
        case .queryCapability: return .capability(try queryCapability(request))
        case .enumerateFormat(let type, let index): return try enumerateFormat(type, index, request)
        case .enumerateFrameSize(let pixelFormat, let index): return try enumerateSize(pixelFormat, index, request)
        case .enumerateFrameInterval(let pixelFormat, let width, let height, let index):
            return try enumerateInterval(pixelFormat, width, height, index, request)
        case .getFormat(let type):
            return try format(V4L2Format(type: type, width: 0, height: 0, pixelFormat: 0), EMISORA_V4L2_GET, request)
        case .setFormat(let wanted): return try format(wanted, EMISORA_V4L2_SET, request)
        case .tryFormat(let wanted): return try format(wanted, EMISORA_V4L2_TRY, request)
        case .getInterval(let type): return try interval(type, nil, request)
        case .setInterval(let type, let wanted): return try interval(type, wanted, request)
        case .requestBuffers(let type, var count):
            try check(request, emisora_v4l2_request_buffers(descriptor, type.rawValue, &count))
            return .count(count)
        case .queryBuffer(let type, let index):
            return .buffer(try buffer(type, index, 0, EMISORA_V4L2_QUERYBUF, request))
        case .queueBuffer(let type, let index, let planeCount):
            _ = try buffer(type, index, planeCount, EMISORA_V4L2_QBUF, request)
        case .dequeueBuffer(let type): return .buffer(try buffer(type, 0, 0, EMISORA_V4L2_DQBUF, request))
        case .streamOn(let type): try check(request, emisora_v4l2_stream(descriptor, type.rawValue, 1))
        case .streamOff(let type): try check(request, emisora_v4l2_stream(descriptor, type.rawValue, 0))
        case .subscribeEvent(let kind, let id): try check(request, emisora_v4l2_subscribe(descriptor, kind, id, 1))
        case .unsubscribeEvent(let kind, let id): try check(request, emisora_v4l2_subscribe(descriptor, kind, id, 0))
        case .dequeueEvent:
            var raw = emisora_v4l2_event()
            try check(request, emisora_v4l2_dequeue_event(descriptor, &raw))
            return .event(V4L2Event(kind: raw.type, id: raw.id, pending: raw.pending, changes: raw.changes))
        case .queryControl(let id): return .controlInfo(try controlInfo(id, request))
        case .queryMenu(let id, let index, let isInteger): return try menuItem(id, index, isInteger, request)
        case .getControl(let id, let isWide):
            return try control(id, isWide: isWide, set: nil, request)
        case .setControl(let id, let isWide, let value):
            return try control(id, isWide: isWide, set: value, request)
        case .getControlPayload(let id, let byteCount):
            // Larger values than a rectangle or a small matrix are none of a camera's.
            guard (1...4096).contains(byteCount) else { throw V4L2Error(request.name, code: EINVAL) }
            return .payload(try payload(id, [UInt8](repeating: 0, count: Int(byteCount)), set: false, request))
        case .setControlPayload(let id, let bytes): _ = try payload(id, bytes, set: true, request)
        case .getSelection(let type, let target): return try selection(type, target, nil, request)
        case .setSelection(let type, let target, let wanted): return try selection(type, target, wanted, request)
        case .queryTimings:
            return .payload(
                try timings([UInt8](repeating: 0, count: Int(emisora_v4l2_timings_size())), set: false, request))
        case .setTimings(let bytes):
            guard bytes.count == emisora_v4l2_timings_size() else { throw V4L2Error(request.name, code: EINVAL) }
            _ = try timings(bytes, set: true, request)
        case .getPriority:
            var priority: UInt32 = 0
            try check(request, emisora_v4l2_priority(descriptor, 0, &priority))
            return .count(priority)
        case .setPriority(var priority): try check(request, emisora_v4l2_priority(descriptor, 1, &priority))
        }
        return .done
    }

    private func check(_ request: V4L2Request, _ result: Int32) throws(V4L2Error) {
        guard result >= 0 else { throw V4L2Error(request.name, code: errno) }
    }

    // MARK: Lists

    private func queryCapability(_ request: V4L2Request) throws(V4L2Error) -> V4L2Capability {
        var raw = v4l2_capability()
        try check(request, emisora_v4l2_querycap(descriptor, &raw))
        let hasDeviceCapabilities = raw.capabilities & 0x8000_0000 != 0
        return V4L2Capability(
            driver: text(of: raw.driver), card: text(of: raw.card), busInfo: text(of: raw.bus_info),
            capabilities: hasDeviceCapabilities ? raw.device_caps : raw.capabilities)
    }

    private func enumerateFormat(
        _ type: V4L2BufferType, _ index: UInt32, _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Answer {
        var raw = v4l2_fmtdesc()
        raw.index = index
        raw.type = type.rawValue
        try check(request, emisora_v4l2_enum_format(descriptor, &raw))
        return .formatDescription(
            V4L2FormatDescription(pixelFormat: raw.pixelformat, flags: raw.flags, text: text(of: raw.description)))
    }

    private func enumerateSize(
        _ pixelFormat: UInt32, _ index: UInt32, _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Answer {
        var raw = v4l2_frmsizeenum()
        raw.index = index
        raw.pixel_format = pixelFormat
        try check(request, emisora_v4l2_enum_frame_size(descriptor, &raw))
        if raw.type == 1 { return .frameSize(.discrete(width: raw.discrete.width, height: raw.discrete.height)) }
        let steps = raw.stepwise
        let isContinuous = raw.type == 2
        return .frameSize(
            .stepwise(
                width: V4L2SizeSteps(
                    minimum: steps.min_width, maximum: steps.max_width, step: isContinuous ? 1 : steps.step_width),
                height: V4L2SizeSteps(
                    minimum: steps.min_height, maximum: steps.max_height, step: isContinuous ? 1 : steps.step_height),
                isContinuous: isContinuous))
    }

    private func enumerateInterval(
        _ pixelFormat: UInt32, _ width: UInt32, _ height: UInt32, _ index: UInt32, _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Answer {
        var raw = v4l2_frmivalenum()
        raw.index = index
        raw.pixel_format = pixelFormat
        raw.width = width
        raw.height = height
        try check(request, emisora_v4l2_enum_frame_interval(descriptor, &raw))
        func fraction(_ raw: v4l2_fract) -> V4L2Fraction { V4L2Fraction(raw.numerator, raw.denominator) }
        if raw.type == 1 { return .frameInterval(.discrete(fraction(raw.discrete))) }
        return .frameInterval(
            .stepwise(
                minimum: fraction(raw.stepwise.min), maximum: fraction(raw.stepwise.max),
                step: fraction(raw.stepwise.step), isContinuous: raw.type == 2))
    }

    // MARK: Formats and buffers

    private func format(
        _ wanted: V4L2Format, _ verb: emisora_v4l2_verb, _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Answer {
        var raw = emisora_v4l2_format()
        raw.type = wanted.type.rawValue
        raw.width = wanted.width
        raw.height = wanted.height
        raw.pixelformat = wanted.pixelFormat
        raw.field = wanted.field
        raw.colorspace = wanted.colorspace
        try check(request, emisora_v4l2_do_format(descriptor, verb, &raw))
        var format = V4L2Format(
            type: wanted.type, width: raw.width, height: raw.height, pixelFormat: raw.pixelformat)
        format.field = raw.field
        format.colorspace = raw.colorspace
        format.ycbcrEncoding = raw.ycbcr_enc
        format.quantization = raw.quantization
        format.transferFunction = raw.xfer_func
        format.planes = planes(raw.num_planes) { index in
            V4L2PlaneFormat(
                bytesPerLine: element(index, of: raw.bytesperline), sizeImage: element(index, of: raw.sizeimage))
        }
        return .format(format)
    }

    private func interval(
        _ type: V4L2BufferType, _ wanted: V4L2Fraction?, _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Answer {
        var (numerator, denominator) = (wanted?.numerator ?? 0, wanted?.denominator ?? 0)
        try check(
            request,
            emisora_v4l2_interval(descriptor, type.rawValue, wanted == nil ? 0 : 1, &numerator, &denominator))
        return .interval(V4L2Fraction(numerator, denominator))
    }

    private func buffer(
        _ type: V4L2BufferType, _ index: UInt32, _ planeCount: UInt32, _ verb: emisora_v4l2_buffer_verb,
        _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Buffer {
        var raw = emisora_v4l2_buffer()
        raw.type = type.rawValue
        raw.index = index
        raw.num_planes = planeCount
        try check(request, emisora_v4l2_do_buffer(descriptor, verb, &raw))
        let planes = planes(raw.num_planes) { index in
            V4L2BufferPlane(
                bytesUsed: element(index, of: raw.bytesused), length: element(index, of: raw.length),
                dataOffset: element(index, of: raw.data_offset), memoryOffset: element(index, of: raw.mem_offset))
        }
        var buffer = V4L2Buffer(index: raw.index, planes: planes)
        buffer.flags = raw.flags
        buffer.field = raw.field
        buffer.sequence = raw.sequence
        buffer.seconds = raw.seconds
        buffer.microseconds = raw.microseconds
        return buffer
    }

    private func planes<Plane>(_ count: UInt32, _ make: (Int) -> Plane) -> V4L2Planes<Plane> {
        var planes = V4L2Planes(repeating: make(0), count: Int(clamping: count))
        for index in 0..<planes.count { planes[index] = make(index) }
        return planes
    }

    private func element(_ index: Int, of array: (UInt32, UInt32, UInt32)) -> UInt32 {
        index == 0 ? array.0 : index == 1 ? array.1 : array.2
    }

    // MARK: Controls

    private func controlInfo(_ id: UInt32, _ request: V4L2Request) throws(V4L2Error) -> V4L2ControlInfo {
        var raw = v4l2_query_ext_ctrl()
        raw.id = id
        try check(request, emisora_v4l2_query_control(descriptor, &raw))
        return V4L2ControlInfo(
            id: raw.id, type: raw.type, name: text(of: raw.name), minimum: raw.minimum, maximum: raw.maximum,
            step: raw.step, defaultValue: raw.default_value, flags: raw.flags, elementSize: raw.elem_size,
            elements: raw.elems)
    }

    private func menuItem(
        _ id: UInt32, _ index: UInt32, _ isInteger: Bool, _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Answer {
        var value: Int64 = 0
        var name = [CChar](repeating: 0, count: 32)
        try check(request, emisora_v4l2_query_menu(descriptor, id, index, isInteger ? 1 : 0, &name, &value))
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return .menuItem(V4L2MenuItem(index: index, name: String(decoding: bytes, as: UTF8.self), value: value))
    }

    private func control(
        _ id: UInt32, isWide: Bool, set wanted: Int64?, _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Answer {
        var value = wanted ?? 0
        guard isWide || Int32(exactly: value) != nil else { throw V4L2Error(request.name, code: ERANGE) }
        try check(
            request,
            emisora_v4l2_control(descriptor, wanted == nil ? 0 : 1, id, isWide ? 1 : 0, &value, nil, 0))
        return .value(value)
    }

    private func payload(
        _ id: UInt32, _ bytes: [UInt8], set: Bool, _ request: V4L2Request
    ) throws(V4L2Error) -> [UInt8] {
        var (bytes, value) = (bytes, Int64(0))
        guard !bytes.isEmpty else { throw V4L2Error(request.name, code: EINVAL) }
        let result = bytes.withUnsafeMutableBytes {
            emisora_v4l2_control(descriptor, set ? 1 : 0, id, 0, &value, $0.baseAddress, UInt32($0.count))
        }
        try check(request, result)
        return bytes
    }

    private func timings(_ bytes: [UInt8], set: Bool, _ request: V4L2Request) throws(V4L2Error) -> [UInt8] {
        var bytes = bytes
        let result = bytes.withUnsafeMutableBytes { emisora_v4l2_timings(descriptor, set ? 1 : 0, $0.baseAddress) }
        try check(request, result)
        return bytes
    }

    private func selection(
        _ type: V4L2BufferType, _ target: UInt32, _ wanted: V4L2Rectangle?, _ request: V4L2Request
    ) throws(V4L2Error) -> V4L2Answer {
        var r = wanted ?? V4L2Rectangle(left: 0, top: 0, width: 0, height: 0)
        try check(
            request,
            emisora_v4l2_selection(
                descriptor, type.rawValue, wanted == nil ? 0 : 1, target, &r.left, &r.top, &r.width, &r.height))
        return .rectangle(r)
    }
}

/// The text of a C array of bytes, up to its first zero.
private func text<Bytes>(of array: Bytes) -> String {
    withUnsafeBytes(of: array) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
