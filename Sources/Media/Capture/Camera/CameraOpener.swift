/// Opens a camera in the mode that serves a wish best, and opens it again in the same one.
struct CameraOpener: Sendable {
    let system: any V4L2System
    let options: CameraOptions
    /// Told, on any thread, that a stream needs a look.
    let wake: @Sendable () -> Void

    /// What was decided for a camera, so that taking it up again needs few requests.
    struct Plan: Sendable {
        var choice: CameraMode
        var reason: String
        /// Through libv4l, since the camera itself has nothing that can be decoded.
        var converting: Bool
    }

    /// Finds the camera that `name` means, chooses a mode and starts it. Without a name it is the first that can be
    /// had: beside the one for pictures a computer may have one that sees infrared only.
    func open(_ name: String?, wish: CameraWish) throws(CameraError) -> (CameraStream, Plan) {
        let locator = CameraLocator(system: system)
        if let name { return try open(try locator.find(name), wish: wish) }
        var refusal: CameraError?
        for path in system.nodes() {
            do throws(CameraError) {
                return try open(try locator.open(path), wish: wish)
            } catch {
                if case .notACamera = error { continue }
                refusal = refusal ?? error
            }
        }
        throw refusal ?? .notFound(nil)
    }

    /// Chooses a mode of an opened camera and starts it.
    func open(_ found: CameraLocator.Found, wish: CameraWish) throws(CameraError) -> (CameraStream, Plan) {
        let explained = CameraModeChoice.choose(wish, from: try modes(of: found, wish: wish))
        if let choice = explained.chosen {
            let plan = Plan(choice: choice, reason: explained.reason, converting: false)
            return (try stream(found, plan), plan)
        }
        found.device.close()
        let path = found.identity.path
        guard let converted = try? CameraLocator(system: system).open(path, converting: true) else {
            throw .noUsableMode(path: path, reason: explained.reason)
        }
        guard let choice = CameraModeChoice.choose(wish, from: try modes(of: converted, wish: wish)).chosen else {
            converted.device.close()
            throw .noUsableMode(path: path, reason: explained.reason)
        }
        let plan = Plan(
            choice: choice, reason: "\(explained.reason); libv4l converts its pictures to \(choice.fourcc)",
            converting: true)
        return (try stream(converted, plan), plan)
    }

    /// Starts an opened camera as it was before.
    func open(_ found: CameraLocator.Found, plan: Plan) throws(CameraError) -> CameraStream {
        guard plan.converting else { return try stream(found, plan) }
        found.device.close()
        return try stream(try CameraLocator(system: system).open(found.identity.path, converting: true), plan)
    }

    private func modes(of found: CameraLocator.Found, wish: CameraWish) throws(CameraError) -> CameraModes {
        do throws(V4L2Error) {
            return try CameraModes(of: found.device, type: found.type, capability: found.capability, wish: wish)
        } catch {
            found.device.close()
            throw CameraError(error, path: found.identity.path, in: system)
        }
    }

    private func stream(_ found: CameraLocator.Found, _ plan: Plan) throws(CameraError) -> CameraStream {
        try CameraStream(
            found.device, type: found.type, identity: found.identity, choice: plan.choice, reason: plan.reason,
            bufferCount: options.bufferCount, in: system, wake: wake)
    }
}
