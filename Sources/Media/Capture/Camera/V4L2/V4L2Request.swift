/// The requests of the V4L2 API that this project makes. Numbers keep the kernel's meaning (`linux/videodev2.h`).
package enum V4L2Request: Hashable, Sendable {
    /// `VIDIOC_QUERYCAP`, answered by ``V4L2Answer/capability(_:)``.
    case queryCapability
    /// `VIDIOC_ENUM_FMT`, answered by ``V4L2Answer/formatDescription(_:)``. `EINVAL` after the last, as for all lists.
    case enumerateFormat(V4L2BufferType, index: UInt32)
    /// `VIDIOC_ENUM_FRAMESIZES`, answered by ``V4L2Answer/frameSize(_:)``.
    case enumerateFrameSize(pixelFormat: UInt32, index: UInt32)
    /// `VIDIOC_ENUM_FRAMEINTERVALS`, answered by ``V4L2Answer/frameInterval(_:)``.
    case enumerateFrameInterval(pixelFormat: UInt32, width: UInt32, height: UInt32, index: UInt32)
    /// `VIDIOC_G_FMT`, answered by ``V4L2Answer/format(_:)``.
    case getFormat(V4L2BufferType)
    /// `VIDIOC_S_FMT`; of the value, type, size, pixel format, field and colour space are read.
    case setFormat(V4L2Format)
    /// `VIDIOC_TRY_FMT`
    case tryFormat(V4L2Format)
    /// `VIDIOC_G_PARM`, answered by ``V4L2Answer/interval(_:)``; `ENOTTY` if the driver has no such setting.
    case getInterval(V4L2BufferType)
    /// `VIDIOC_S_PARM`
    case setInterval(V4L2BufferType, V4L2Fraction)
    /// `VIDIOC_REQBUFS` for mapped memory, answered by ``V4L2Answer/count(_:)``.
    case requestBuffers(V4L2BufferType, count: UInt32)
    /// `VIDIOC_QUERYBUF`, answered by ``V4L2Answer/buffer(_:)``.
    case queryBuffer(V4L2BufferType, index: UInt32)
    /// `VIDIOC_QBUF`
    case queueBuffer(V4L2BufferType, index: UInt32, planeCount: UInt32)
    /// `VIDIOC_DQBUF`, answered by ``V4L2Answer/buffer(_:)``.
    case dequeueBuffer(V4L2BufferType)
    /// `VIDIOC_STREAMON`
    case streamOn(V4L2BufferType)
    /// `VIDIOC_STREAMOFF`
    case streamOff(V4L2BufferType)
    /// `VIDIOC_SUBSCRIBE_EVENT`; kinds are in ``V4L2Event``.
    case subscribeEvent(kind: UInt32, id: UInt32)
    /// `VIDIOC_UNSUBSCRIBE_EVENT`
    case unsubscribeEvent(kind: UInt32, id: UInt32)
    /// `VIDIOC_DQEVENT`, answered by ``V4L2Answer/event(_:)``; `ENOENT` if there is none.
    case dequeueEvent
    /// `VIDIOC_QUERY_EXT_CTRL`, answered by ``V4L2Answer/controlInfo(_:)``. `id` may carry the flags for "next".
    case queryControl(id: UInt32)
    /// `VIDIOC_QUERYMENU`, answered by ``V4L2Answer/menuItem(_:)``.
    case queryMenu(id: UInt32, index: UInt32, isInteger: Bool)
    /// `VIDIOC_G_EXT_CTRLS` of one, answered by ``V4L2Answer/value(_:)``.
    case getControl(id: UInt32, isWide: Bool)
    /// `VIDIOC_S_EXT_CTRLS` of one; answered by what the driver set.
    case setControl(id: UInt32, isWide: Bool, value: Int64)
    /// `VIDIOC_G_EXT_CTRLS` of a control whose value is memory, answered by ``V4L2Answer/payload(_:)``.
    case getControlPayload(id: UInt32, byteCount: UInt32)
    /// `VIDIOC_S_EXT_CTRLS` of a control whose value is memory.
    case setControlPayload(id: UInt32, [UInt8])
    /// `VIDIOC_G_SELECTION`, answered by ``V4L2Answer/rectangle(_:)``.
    case getSelection(V4L2BufferType, target: UInt32)
    /// `VIDIOC_S_SELECTION`, answered by what the driver set.
    case setSelection(V4L2BufferType, target: UInt32, V4L2Rectangle)
    /// `VIDIOC_QUERY_DV_TIMINGS`: what the source sends now, as memory; answered by ``V4L2Answer/payload(_:)``. `ENOTTY` or
    /// `ENODATA` if the input is none of those (HDMI, SDI), another error if it has no signal.
    case queryTimings
    /// `VIDIOC_S_DV_TIMINGS`
    case setTimings([UInt8])
    /// `VIDIOC_G_PRIORITY`, answered by ``V4L2Answer/count(_:)``.
    case getPriority
    /// `VIDIOC_S_PRIORITY`
    case setPriority(UInt32)

    /// The kernel's name of the request.
    package var name: String {
        switch self {
        case .queryCapability: "VIDIOC_QUERYCAP"
        case .enumerateFormat: "VIDIOC_ENUM_FMT"
        case .enumerateFrameSize: "VIDIOC_ENUM_FRAMESIZES"
        case .enumerateFrameInterval: "VIDIOC_ENUM_FRAMEINTERVALS"
        case .getFormat: "VIDIOC_G_FMT"
        case .setFormat: "VIDIOC_S_FMT"
        case .tryFormat: "VIDIOC_TRY_FMT"
        case .getInterval: "VIDIOC_G_PARM"
        case .setInterval: "VIDIOC_S_PARM"
        case .requestBuffers: "VIDIOC_REQBUFS"
        case .queryBuffer: "VIDIOC_QUERYBUF"
        case .queueBuffer: "VIDIOC_QBUF"
        case .dequeueBuffer: "VIDIOC_DQBUF"
        case .streamOn: "VIDIOC_STREAMON"
        case .streamOff: "VIDIOC_STREAMOFF"
        case .subscribeEvent: "VIDIOC_SUBSCRIBE_EVENT"
        case .unsubscribeEvent: "VIDIOC_UNSUBSCRIBE_EVENT"
        case .dequeueEvent: "VIDIOC_DQEVENT"
        case .queryControl: "VIDIOC_QUERY_EXT_CTRL"
        case .queryMenu: "VIDIOC_QUERYMENU"
        case .getControl, .getControlPayload: "VIDIOC_G_EXT_CTRLS"
        case .setControl, .setControlPayload: "VIDIOC_S_EXT_CTRLS"
        case .getSelection: "VIDIOC_G_SELECTION"
        case .setSelection: "VIDIOC_S_SELECTION"
        case .queryTimings: "VIDIOC_QUERY_DV_TIMINGS"
        case .setTimings: "VIDIOC_S_DV_TIMINGS"
        case .getPriority: "VIDIOC_G_PRIORITY"
        case .setPriority: "VIDIOC_S_PRIORITY"
        }
    }
}

/// What the driver answered. Each request has its own kind of answer.
package enum V4L2Answer: Hashable, Sendable {
    /// The request was carried out and has nothing to tell.
    case done
    case capability(V4L2Capability)
    case formatDescription(V4L2FormatDescription)
    case frameSize(V4L2FrameSize)
    case frameInterval(V4L2FrameInterval)
    case format(V4L2Format)
    case interval(V4L2Fraction)
    case count(UInt32)
    case buffer(V4L2Buffer)
    case event(V4L2Event)
    case controlInfo(V4L2ControlInfo)
    case menuItem(V4L2MenuItem)
    case value(Int64)
    case payload([UInt8])
    case rectangle(V4L2Rectangle)
}

/// `enum v4l2_buf_type`, those of video capture.
package enum V4L2BufferType: UInt32, Hashable, Sendable {
    case videoCapture = 1
    case videoCaptureMultiplanar = 9
}
