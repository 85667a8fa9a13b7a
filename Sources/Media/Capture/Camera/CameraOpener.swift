/// Opens a camera in the mode that serves a wish best, and opens it again in the same one.
struct CameraOpener: Sendable {
    let system: any V4L2System
    let options: CameraOptions
    /// Whether the run that this opens for was told to stop. A camera takes many requests to open, and a driver in
    /// trouble is slow to answer each.
    let isCancelled: @Sendable () -> Bool
    /// Told, on any thread, that a stream needs a look.
    let wake: @Sendable () -> Void

    /// What was decided for a camera, so that taking it up again needs few requests.
    struct Plan: Sendable {
        var choice: CameraMode
        var reason: String
        /// Through libv4l, since the camera itself has nothing that can be decoded.
        var converting: Bool
    }

    var locator: CameraLocator { CameraLocator(system: system, isCancelled: isCancelled) }

    /// Finds the camera that `name` means, chooses a mode and starts it.
    func open(_ name: String?, wish: CameraWish) throws(CameraError) -> (CameraStream, Plan) {
        try locator.find(name) { found throws(CameraError) in try open(found, wish: wish) }
    }

    /// Chooses a mode of an opened camera and starts it.
    func open(_ found: CameraLocator.Found, wish: CameraWish) throws(CameraError) -> (CameraStream, Plan) {
        let (found, plan) = try Self.decide(found, wish: wish, locator)
        return (try stream(found, plan), plan)
    }

    /// Chooses a mode of an opened camera, which is closed if it has none that can be decoded.
    ///
    /// - Returns: The camera as it is to be used: one that libv4l must convert for is opened anew.
    static func decide(
        _ found: CameraLocator.Found, wish: CameraWish, _ locator: CameraLocator
    ) throws(CameraError) -> (CameraLocator.Found, Plan) {
        let explained = CameraModeChoice.choose(wish, from: try modes(of: found, wish: wish, locator))
        if let choice = explained.chosen {
            return (found, Plan(choice: choice, reason: explained.reason, converting: false))
        }
        found.device.close()
        let path = found.identity.path
        guard let converted = try? locator.open(path, converting: true) else {
            throw .noUsableMode(path: path, reason: explained.reason)
        }
        guard let choice = CameraModeChoice.choose(wish, from: try modes(of: converted, wish: wish, locator)).chosen
        else {
            converted.device.close()
            throw .noUsableMode(path: path, reason: explained.reason)
        }
        let reason = "\(explained.reason); libv4l converts its pictures to \(choice.fourcc)"
        return (converted, Plan(choice: choice, reason: reason, converting: true))
    }

    /// Starts an opened camera as it was before.
    func open(_ found: CameraLocator.Found, plan: Plan) throws(CameraError) -> CameraStream {
        guard plan.converting else { return try stream(found, plan) }
        found.device.close()
        return try stream(try locator.open(found.identity.path, converting: true), plan)
    }

    private static func modes(
        of found: CameraLocator.Found, wish: CameraWish, _ locator: CameraLocator
    ) throws(CameraError) -> CameraModes {
        do throws(V4L2Error) {
            return try CameraModes(of: found.device, type: found.type, capability: found.capability, wish: wish)
        } catch {
            found.device.close()
            throw CameraError(error, path: found.identity.path, in: locator.system)
        }
    }

    private func stream(_ found: CameraLocator.Found, _ plan: Plan) throws(CameraError) -> CameraStream {
        guard !isCancelled() else {
            found.device.close()
            throw .stopped
        }
        return try CameraStream(
            found.device, type: found.type, identity: found.identity, choice: plan.choice, reason: plan.reason,
            bufferCount: options.bufferCount, in: system, wake: wake)
    }
}
