/// What a node says of itself (`struct v4l2_capability`).
package struct V4L2Capability: Hashable, Sendable {
    package var driver: String
    package var card: String
    package var busInfo: String
    /// What this node can do: `device_caps` where the driver fills it, else `capabilities`.
    package var capabilities: UInt32

    package init(driver: String, card: String, busInfo: String, capabilities: UInt32) {
        self.driver = driver
        self.card = card
        self.busInfo = busInfo
        self.capabilities = capabilities
    }

    /// The type of the node's buffers if it is a camera that streams; `nil` for metadata, output and other nodes.
    package var captureType: V4L2BufferType? {
        let (capture, multiplanar, streaming): (UInt32, UInt32, UInt32) = (0x1, 0x1000, 0x0400_0000)
        guard capabilities & streaming != 0 else { return nil }
        if capabilities & capture != 0 { return .videoCapture }
        return capabilities & multiplanar != 0 ? .videoCaptureMultiplanar : nil
    }
}

/// `struct v4l2_fmtdesc`
package struct V4L2FormatDescription: Hashable, Sendable {
    package var pixelFormat: UInt32
    package var flags: UInt32
    package var text: String

    package init(pixelFormat: UInt32, flags: UInt32 = 0, text: String = "") {
        self.pixelFormat = pixelFormat
        self.flags = flags
        self.text = text
    }

    /// `V4L2_FMT_FLAG_EMULATED`: libv4l makes it from another.
    package var isEmulated: Bool { flags & 2 != 0 }
}

/// Width and height that a driver counts in: from `minimum` to `maximum` in steps of `step`.
package struct V4L2SizeSteps: Hashable, Sendable {
    package var minimum: UInt32
    package var maximum: UInt32
    package var step: UInt32

    package init(minimum: UInt32, maximum: UInt32, step: UInt32) {
        self.minimum = minimum
        self.maximum = maximum
        self.step = step
    }
}

/// `struct v4l2_frmsizeenum`
package enum V4L2FrameSize: Hashable, Sendable {
    case discrete(width: UInt32, height: UInt32)
    /// Continuous ones have steps of 1.
    case stepwise(width: V4L2SizeSteps, height: V4L2SizeSteps, isContinuous: Bool)
}

/// A fraction as the driver gave it; either side may be 0.
package struct V4L2Fraction: Hashable, Sendable {
    package var numerator: UInt32
    package var denominator: UInt32

    package init(_ numerator: UInt32, _ denominator: UInt32) {
        self.numerator = numerator
        self.denominator = denominator
    }
}

/// `struct v4l2_frmivalenum`: seconds for each frame.
package enum V4L2FrameInterval: Hashable, Sendable {
    case discrete(V4L2Fraction)
    case stepwise(minimum: V4L2Fraction, maximum: V4L2Fraction, step: V4L2Fraction, isContinuous: Bool)
}

/// Up to three planes in line, so that a frame's description allocates nothing.
package struct V4L2Planes<Plane: Hashable & Sendable>: Hashable, Sendable {
    package static var capacity: Int { 3 }

    package private(set) var count = 0
    private var first: Plane
    private var second: Plane
    private var third: Plane

    /// `count` planes, at most ``capacity``, all alike.
    package init(repeating plane: Plane, count: Int) {
        (first, second, third) = (plane, plane, plane)
        self.count = min(max(count, 0), Self.capacity)
    }

    /// Planes beyond `count` are none, whatever is stored for them.
    package static func == (a: V4L2Planes, b: V4L2Planes) -> Bool {
        a.count == b.count && (0..<a.count).allSatisfy { a[$0] == b[$0] }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for index in 0..<count { hasher.combine(self[index]) }
    }

    package subscript(index: Int) -> Plane {
        get {
            precondition(0 <= index && index < count, "\(count) planes, asked for \(index)")
            return index == 0 ? first : index == 1 ? second : third
        }
        set {
            precondition(0 <= index && index < count, "\(count) planes, asked for \(index)")
            switch index {
            case 0: first = newValue
            case 1: second = newValue
            default: third = newValue
            }
        }
    }
}

/// What a format says of one plane of memory.
package struct V4L2PlaneFormat: Hashable, Sendable {
    package var bytesPerLine: UInt32
    package var sizeImage: UInt32

    package init(bytesPerLine: UInt32 = 0, sizeImage: UInt32 = 0) {
        self.bytesPerLine = bytesPerLine
        self.sizeImage = sizeImage
    }
}

/// `struct v4l2_format` of both APIs; the single-planar one has one plane.
package struct V4L2Format: Hashable, Sendable {
    package var type: V4L2BufferType
    package var width: UInt32
    package var height: UInt32
    package var pixelFormat: UInt32
    /// `enum v4l2_field`: 0 any, 1 none (progressive).
    package var field: UInt32 = 1
    package var colorspace: UInt32 = 0
    package var ycbcrEncoding: UInt32 = 0
    package var quantization: UInt32 = 0
    package var transferFunction: UInt32 = 0
    package var planes = V4L2Planes(repeating: V4L2PlaneFormat(), count: 1)

    package init(type: V4L2BufferType, width: UInt32, height: UInt32, pixelFormat: UInt32) {
        self.type = type
        self.width = width
        self.height = height
        self.pixelFormat = pixelFormat
    }
}

/// One plane of a buffer, in bytes.
package struct V4L2BufferPlane: Hashable, Sendable {
    package var bytesUsed: UInt32
    package var length: UInt32
    /// Where the picture begins; counted in `bytesUsed`.
    package var dataOffset: UInt32
    /// What to hand to ``V4L2Device/map(length:offset:)``.
    package var memoryOffset: UInt32

    package init(bytesUsed: UInt32 = 0, length: UInt32 = 0, dataOffset: UInt32 = 0, memoryOffset: UInt32 = 0) {
        self.bytesUsed = bytesUsed
        self.length = length
        self.dataOffset = dataOffset
        self.memoryOffset = memoryOffset
    }
}

/// `struct v4l2_buffer` of both APIs.
package struct V4L2Buffer: Hashable, Sendable {
    package var index: UInt32
    package var flags: UInt32 = 0
    package var field: UInt32 = 1
    package var sequence: UInt32 = 0
    package var seconds: Int64 = 0
    package var microseconds: Int64 = 0
    package var planes: V4L2Planes<V4L2BufferPlane>

    package init(index: UInt32, planes: V4L2Planes<V4L2BufferPlane>) {
        self.index = index
        self.planes = planes
    }

    /// `V4L2_BUF_FLAG_ERROR`: the buffer came back, its picture is damaged.
    package var isErroneous: Bool { flags & 0x40 != 0 }
    /// `V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC`
    package var isMonotonic: Bool { flags & 0xE000 == 0x2000 }
    /// `V4L2_BUF_FLAG_TSTAMP_SRC_SOE`: stamped at the start of exposure rather than at the end of the frame.
    package var isStampedAtStartOfExposure: Bool { flags & 0x7_0000 == 0x1_0000 }
}

/// `struct v4l2_event`
package struct V4L2Event: Hashable, Sendable {
    /// `V4L2_EVENT_CTRL`
    package static let control: UInt32 = 3
    /// `V4L2_EVENT_SOURCE_CHANGE`
    package static let sourceChange: UInt32 = 5

    package var kind: UInt32
    package var id: UInt32
    /// How many more wait.
    package var pending: UInt32
    package var changes: UInt32

    package init(kind: UInt32, id: UInt32 = 0, pending: UInt32 = 0, changes: UInt32 = 0) {
        self.kind = kind
        self.id = id
        self.pending = pending
        self.changes = changes
    }
}

/// `struct v4l2_query_ext_ctrl`
package struct V4L2ControlInfo: Hashable, Sendable {
    package var id: UInt32
    /// `enum v4l2_ctrl_type`
    package var type: UInt32
    package var name: String
    package var minimum: Int64
    package var maximum: Int64
    package var step: UInt64
    package var defaultValue: Int64
    package var flags: UInt32
    package var elementSize: UInt32
    package var elements: UInt32

    package init(
        id: UInt32, type: UInt32, name: String, minimum: Int64, maximum: Int64, step: UInt64, defaultValue: Int64,
        flags: UInt32 = 0, elementSize: UInt32 = 4, elements: UInt32 = 1
    ) {
        self.id = id
        self.type = type
        self.name = name
        self.minimum = minimum
        self.maximum = maximum
        self.step = step
        self.defaultValue = defaultValue
        self.flags = flags
        self.elementSize = elementSize
        self.elements = elements
    }
}

/// `struct v4l2_querymenu`: a name, or the number of an integer menu.
package struct V4L2MenuItem: Hashable, Sendable {
    package var index: UInt32
    package var name: String
    package var value: Int64

    package init(index: UInt32, name: String, value: Int64) {
        self.index = index
        self.name = name
        self.value = value
    }
}

/// `struct v4l2_rect`
package struct V4L2Rectangle: Hashable, Sendable {
    package var left: Int32
    package var top: Int32
    package var width: UInt32
    package var height: UInt32

    package init(left: Int32, top: Int32, width: UInt32, height: UInt32) {
        self.left = left
        self.top = top
        self.width = width
        self.height = height
    }
}
