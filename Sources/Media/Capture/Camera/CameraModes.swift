import EmisoraVideo

/// What one video node offers: pixel formats, their sizes and the frame intervals of each size, in the driver's order.
///
/// A plain value: it comes from a device, from a file that a user sent, or from a test.
/// Source: V4L2 API, VIDIOC_ENUM_FMT, VIDIOC_ENUM_FRAMESIZES and VIDIOC_ENUM_FRAMEINTERVALS.
///
/// ```swift
/// let modes = CameraModes(label: "USB camera", formats: [
///     .init(.yuyv, sizes: [.init(.discrete(width: 640, height: 480), intervals: [.discrete(.init(1, 30))])])
/// ])
/// let choice = CameraModeChoice.choose(CameraWish(width: 640, height: 480), from: modes)
/// ```
public struct CameraModes: Hashable, Sendable {
    /// The device's name for people: the `card` of VIDIOC_QUERYCAP.
    public var label: String
    /// The kernel driver, such as `uvcvideo`.
    public var driver: String
    /// Where the device is plugged in (`bus_info`), or the kind of bus alone.
    public var bus: String
    /// Only the multi-planar API works.
    public var multiplanar: Bool
    /// Each format as often as the driver lists it; repetitions are real and harmless.
    public var formats: [Format]
    /// The real list is longer than `formats`.
    public var isPartial: Bool
    /// The format the device stands at, where the size is not the application's to choose.
    public var current: Current?

    public init(
        label: String = "", driver: String = "", bus: String = "", multiplanar: Bool = false, formats: [Format] = [],
        isPartial: Bool = false, current: Current? = nil
    ) {
        self.label = label
        self.driver = driver
        self.bus = bus
        self.multiplanar = multiplanar
        self.formats = formats
        self.isPartial = isPartial
        self.current = current
    }

    /// One pixel format and the sizes in which it comes.
    public struct Format: Hashable, Sendable {
        public var fourcc: FourCC
        /// Empty where the driver lists none: it then answers any wish with what it can do.
        public var sizes: [Size]

        public init(_ fourcc: FourCC, sizes: [Size]) {
            self.fourcc = fourcc
            self.sizes = sizes
        }
    }

    /// One size, or one range of sizes, and the intervals between its frames.
    public struct Size: Hashable, Sendable {
        public var extent: Extent
        /// Empty where the driver lists none: the rate is then its own business.
        public var intervals: [Intervals]

        public init(_ extent: Extent, intervals: [Intervals]) {
            self.extent = extent
            self.intervals = intervals
        }
    }

    /// Width and height in pixels.
    public enum Extent: Hashable, Sendable {
        case discrete(width: Int, height: Int)
        /// Each side from its minimum to its maximum in steps; a step of 0 counts as 1.
        case stepwise(SizeRange)
        /// As `stepwise` with a step of 1.
        case continuous(SizeRange)
    }

    /// The bounds of a range of sizes, in pixels, both ends included.
    public struct SizeRange: Hashable, Sendable {
        public var minWidth: Int
        public var maxWidth: Int
        public var stepWidth: Int
        public var minHeight: Int
        public var maxHeight: Int
        public var stepHeight: Int

        public init(
            minWidth: Int, maxWidth: Int, stepWidth: Int = 1, minHeight: Int, maxHeight: Int, stepHeight: Int = 1
        ) {
            self.minWidth = minWidth
            self.maxWidth = maxWidth
            self.stepWidth = stepWidth
            self.minHeight = minHeight
            self.maxHeight = maxHeight
            self.stepHeight = stepHeight
        }
    }

    /// The time from frame to frame: one, or a range from the shortest (fastest rate) to the longest.
    public enum Intervals: Hashable, Sendable {
        case discrete(FrameInterval)
        case stepwise(min: FrameInterval, max: FrameInterval, step: FrameInterval)
        case continuous(min: FrameInterval, max: FrameInterval)
    }

    /// What VIDIOC_G_FMT and VIDIOC_G_PARM answer.
    public struct Current: Hashable, Sendable {
        /// `nil` where the source of the list does not tell.
        public var fourcc: FourCC?
        public var width: Int
        public var height: Int
        public var interval: FrameInterval?

        public init(fourcc: FourCC? = nil, width: Int, height: Int, interval: FrameInterval? = nil) {
            self.fourcc = fourcc
            self.width = width
            self.height = height
            self.interval = interval
        }
    }
}

/// What an application asks of a camera; what is `nil` is left to the choice.
public struct CameraWish: Hashable, Sendable {
    /// In pixels. A width without a height, or the other way round, is no wish for a size.
    public var width: Int?
    public var height: Int?
    public var frameRate: FrameRate?

    public init(width: Int? = nil, height: Int? = nil, frameRate: FrameRate? = nil) {
        self.width = width
        self.height = height
        self.frameRate = frameRate
    }
}

/// One mode of a camera: what is set with VIDIOC_S_FMT and VIDIOC_S_PARM.
public struct CameraMode: Hashable, Sendable, CustomStringConvertible {
    public var fourcc: FourCC
    /// In pixels.
    public var width: Int
    public var height: Int
    /// `nil` where the driver lists no intervals: the rate is left to it.
    public var interval: FrameInterval?

    public init(fourcc: FourCC, width: Int, height: Int, interval: FrameInterval?) {
        self.fourcc = fourcc
        self.width = width
        self.height = height
        self.interval = interval
    }

    /// Such as `MJPG 1280x720 at 30 fps`.
    public var description: String {
        "\(fourcc) \(width)x\(height)" + (interval.map { " at \($0.rateText)" } ?? "")
    }
}
