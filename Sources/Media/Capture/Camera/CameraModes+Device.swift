import Glibc

extension CameraModes {
    /// Most entries that are read of each list: some drivers never say that a list is over.
    package static let longestList: UInt32 = 256
    /// Most requests that are made in all, so that lists within lists cannot take for ever.
    package static let mostRequests = 16_384

    /// Asks a device what it offers. What it lists beyond the caps is left out, and ``isPartial`` says so.
    ///
    /// - Parameter wish: Where a format has a range of sizes, its intervals are those of the size that comes nearest to
    ///   the wished one; without a wish those of the largest, which is the slowest.
    /// - Throws: The driver's error, if it is another than the end of a list.
    package init(
        of device: any V4L2Device, type: V4L2BufferType, capability: V4L2Capability, wish: CameraWish = CameraWish()
    ) throws(V4L2Error) {
        var reader = CameraModesReader(device: device, wish: wish)
        self.init(
            label: capability.card, driver: capability.driver, bus: capability.busInfo,
            multiplanar: type == .videoCaptureMultiplanar, formats: try reader.formats(type))
        isPartial = reader.isPartial
        if formats.contains(where: { $0.sizes.isEmpty }) { current = try reader.current(type) }
    }
}

private struct CameraModesReader {
    let device: any V4L2Device
    var isPartial = false
    private let wished: FrameSize?
    private var requests = 0

    init(device: any V4L2Device, wish: CameraWish) {
        self.device = device
        wished = wish.width.flatMap { width in wish.height.map { FrameSize(width, $0) } }
    }

    mutating func formats(_ type: V4L2BufferType) throws(V4L2Error) -> [CameraModes.Format] {
        var formats: [CameraModes.Format] = []
        let listed = try list { (device, index) throws(V4L2Error) in
            try device.enumerateFormat(type, index: index)
        }
        for description in listed {
            formats.append(
                CameraModes.Format(
                    FourCC(rawValue: description.pixelFormat), sizes: try sizes(description.pixelFormat)))
        }
        return formats
    }

    private mutating func sizes(_ pixelFormat: UInt32) throws(V4L2Error) -> [CameraModes.Size] {
        var sizes: [CameraModes.Size] = []
        let listed = try list { (device, index) throws(V4L2Error) in
            try device.enumerateFrameSize(pixelFormat: pixelFormat, index: index)
        }
        for size in listed {
            let extent: CameraModes.Extent
            let (width, height): (UInt32, UInt32)
            switch size {
            case .discrete(let w, let h):
                (width, height) = (w, h)
                extent = .discrete(width: Int(w), height: Int(h))
            case .stepwise(let w, let h, let isContinuous):
                let range = CameraModes.SizeRange(
                    minWidth: Int(w.minimum), maxWidth: Int(w.maximum), stepWidth: Int(w.step),
                    minHeight: Int(h.minimum), maxHeight: Int(h.maximum), stepHeight: Int(h.step))
                extent = isContinuous ? .continuous(range) : .stepwise(range)
                let nearest = wished.flatMap { extent.sizes(near: $0).first }
                (width, height) = nearest.map { (UInt32($0.width), UInt32($0.height)) } ?? (w.maximum, h.maximum)
            }
            let intervals = try list { (device, index) throws(V4L2Error) in
                try device.enumerateFrameInterval(
                    pixelFormat: pixelFormat, width: width, height: height, index: index)
            }
            sizes.append(CameraModes.Size(extent, intervals: intervals.map { CameraModes.Intervals($0) }))
        }
        return sizes
    }

    /// `nil` if the device does not tell.
    func current(_ type: V4L2BufferType) throws(V4L2Error) -> CameraModes.Current? {
        guard let format = try? device.getFormat(type) else { return nil }
        let interval = try? device.getInterval(type)
        return CameraModes.Current(
            fourcc: FourCC(rawValue: format.pixelFormat), width: Int(format.width), height: Int(format.height),
            interval: interval.map { FrameInterval($0.numerator, $0.denominator) })
    }

    /// Entries from 0 until the driver says that there are no more; a range is always the only entry of its list.
    private mutating func list<Entry>(
        _ next: (any V4L2Device, UInt32) throws(V4L2Error) -> Entry
    ) throws(V4L2Error) -> [Entry] {
        var entries: [Entry] = []
        for index in 0..<CameraModes.longestList {
            guard requests < CameraModes.mostRequests else { break }
            requests += 1
            do throws(V4L2Error) {
                let entry = try next(device, index)
                entries.append(entry)
                if let size = entry as? V4L2FrameSize, case .stepwise = size { return entries }
                if let interval = entry as? V4L2FrameInterval, case .stepwise = interval { return entries }
            } catch {
                // ENODATA: an input without a signal has no rates to list.
                guard error.isUnsupported || error.code == ENODATA else { throw error }
                return entries
            }
        }
        isPartial = true
        return entries
    }
}

extension CameraModes.Intervals {
    init(_ interval: V4L2FrameInterval) {
        func value(_ fraction: V4L2Fraction) -> FrameInterval {
            FrameInterval(fraction.numerator, fraction.denominator)
        }
        switch interval {
        case .discrete(let fraction): self = .discrete(value(fraction))
        case .stepwise(let minimum, let maximum, _, true):
            self = .continuous(min: value(minimum), max: value(maximum))
        case .stepwise(let minimum, let maximum, let step, false):
            self = .stepwise(min: value(minimum), max: value(maximum), step: value(step))
        }
    }
}
