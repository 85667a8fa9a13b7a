extension CameraCapture {
    /// Sets a control of the camera: of the one that pictures come from, before the first start of the one that would be
    /// opened. Any thread, also while capturing.
    ///
    /// ```swift
    /// try camera.set(.focusAutomaticContinuous, 0)
    /// try camera.set(.focusAbsolute, 40)
    /// ```
    ///
    /// - Returns: What the driver made of it: it rounds to its steps.
    /// - Throws: ``CameraControlError/notAllowed(name:value:allowed:)`` names what is allowed.
    @discardableResult
    public func set(_ control: CameraControlID, _ value: Int) throws(CameraControlError) -> Int {
        try controls().set(control, value)
    }

    /// The camera's controls, to list, read and set them. They stay with that camera when another is switched to.
    public func controls() throws(CameraControlError) -> CameraControls {
        do throws(CameraError) {
            guard let identity = latestIdentity else {
                return try CameraControls(device: next.name, wish: next.wish, system: system)
            }
            // Its node may have another number since it was plugged in again.
            switch CameraLocator(system: system).find(again: identity, everywhere: true, use: { $0 }) {
            case .had(let found): return CameraControls(found, system: system)
            case .refused(let error): throw error
            case .absent: throw .unplugged(path: identity.path)
            }
        } catch {
            throw .camera(error)
        }
    }

    /// Lets focus and exposure go by the place around a point of the picture;
    /// see ``CameraControls/setPointOfInterest(x:y:size:uses:)``.
    @discardableResult
    public func setPointOfInterest(
        x: Double, y: Double, size: Double = 0.2, uses: CameraRegionUse = [.exposure, .focus]
    ) throws(CameraControlError) -> CameraRegionUse {
        try controls().setPointOfInterest(x: x, y: y, size: size, uses: uses)
    }
}
