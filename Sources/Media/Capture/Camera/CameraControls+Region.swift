/// What a camera's automatics may look at one place of the picture for.
public struct CameraRegionUse: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    // `V4L2_UVC_REGION_OF_INTEREST_AUTO_…`
    public static let exposure = CameraRegionUse(rawValue: 1 << 0)
    public static let iris = CameraRegionUse(rawValue: 1 << 1)
    public static let whiteBalance = CameraRegionUse(rawValue: 1 << 2)
    public static let focus = CameraRegionUse(rawValue: 1 << 3)
}

extension CameraControls {
    /// Lets the camera's automatics go by the place around a point: what a tap on the preview does.
    ///
    /// ```swift
    /// try controls.setPointOfInterest(x: 0.5, y: 0.3)           // the face in the middle
    /// ```
    ///
    /// - Parameters:
    ///   - x: From the left border, 0, to the right one, 1.
    ///   - y: From the upper border, 0, to the lower one, 1.
    ///   - size: Each side of the place, as a share of the picture's, over 0 and up to 1.
    ///   - uses: Which automatics. Those that the camera cannot steer so are left out.
    /// - Returns: Those that now go by the place.
    /// - Throws: ``CameraControlError/notOffered(_:)`` if the camera has no region of interest, or for none of `uses`.
    ///
    /// Source: Linux `uvcvideo`, V4L2_CID_UVC_REGION_OF_INTEREST_RECT and _AUTO (kernels since 6.16), in the sensor's
    /// coordinates. The sensor's size is what the driver tells as such (`V4L2_SEL_TGT_NATIVE_SIZE`), else the largest size listed.
    @discardableResult
    public func setPointOfInterest(
        x: Double, y: Double, size: Double = 0.2, uses: CameraRegionUse = [.exposure, .focus]
    ) throws(CameraControlError) -> CameraRegionUse {
        guard (0...1).contains(x) else { throw .outsidePicture("x") }
        guard (0...1).contains(y) else { throw .outsidePicture("y") }
        guard size > 0, size <= 1 else { throw .outsidePicture("size") }
        let rectangle = try control(.regionOfInterest)
        guard rectangle.kind == .other, !rectangle.isReadOnly else { throw .notOffered(rectangle.name) }
        let automatics = try control(.regionOfInterestAuto)
        let possible = uses.intersection(CameraRegionUse(rawValue: UInt32(truncatingIfNeeded: automatics.maximum)))
        guard !possible.isEmpty else { throw .notOffered("\(automatics.name) for what is asked") }
        let (width, height) = try sensorSize()

        // Within the sensor, also when the point lies at its border.
        func span(_ center: Double, _ length: Int) -> (start: Int, length: Int) {
            let part = max(1, min(length, Int(Double(length) * size)))
            let start = Int(Double(length) * center) - part / 2
            return (max(0, min(start, length - part)), part)
        }
        let (left, right) = span(x, width)
        let (top, bottom) = span(y, height)
        let region = V4L2Rectangle(
            left: Int32(clamping: left), top: Int32(clamping: top), width: UInt32(clamping: right),
            height: UInt32(clamping: bottom))
        do throws(V4L2Error) {
            _ = try device.perform(.setControlPayload(id: CameraControlID.regionOfInterest.rawValue, region.bytes))
        } catch {
            throw failure(error)
        }
        try set(.regionOfInterestAuto, Int(possible.rawValue))
        return possible
    }

    private func sensorSize() throws(CameraControlError) -> (width: Int, height: Int) {
        // V4L2_SEL_TGT_NATIVE_SIZE
        if case .rectangle(let native) = try? device.perform(.getSelection(found.type, target: 0x3)),
            native.width > 0, native.height > 0
        {
            return (Int(native.width), Int(native.height))
        }
        let modes: CameraModes
        do throws(V4L2Error) {
            modes = try CameraModes(of: device, type: found.type, capability: found.capability)
        } catch {
            throw failure(error)
        }
        let sizes = modes.formats.flatMap(\.sizes).map { listed in
            switch listed.extent {
            case .discrete(let width, let height): FrameSize(width, height)
            case .stepwise(let range), .continuous(let range): FrameSize(range.maxWidth, range.maxHeight)
            }
        }
        let largest = sizes.max { $0.area < $1.area } ?? modes.current.map { FrameSize($0.width, $0.height) }
        guard let largest, largest.isValid else { throw .notOffered("a region without a size of the sensor") }
        return (largest.width, largest.height)
    }
}

extension V4L2Rectangle {
    /// `struct v4l2_rect` in memory.
    var bytes: [UInt8] {
        [UInt32(bitPattern: left), UInt32(bitPattern: top), width, height].flatMap { side in
            withUnsafeBytes(of: side) { Array($0) }
        }
    }
}
