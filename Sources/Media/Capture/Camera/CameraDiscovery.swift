/// The cameras that the kernel knows, with everything they offer.
///
/// ```swift
/// for camera in CameraDiscovery.cameras().found {
///     print(camera.identity.path, camera.identity.card, camera.modes.formats.count)
/// }
/// ```
///
/// Nodes that capture no video (metadata, output, radio) are no cameras and do not appear. Lists that a driver never
/// ends are cut. Nothing is set on a device; one that streams is not disturbed.
/// Source: V4L2 API, VIDIOC_QUERYCAP, VIDIOC_ENUM_FMT, VIDIOC_ENUM_FRAMESIZES, VIDIOC_ENUM_FRAMEINTERVALS.
public enum CameraDiscovery {
    /// One camera's node.
    public struct Camera: Hashable, Sendable {
        public var identity: CameraIdentity
        public var modes: CameraModes
    }

    /// What became of a look at all nodes.
    public struct Cameras: Sendable {
        /// In the order of their nodes' numbers; the first that has pictures to decode, and is free, is what a capturer
        /// takes when no device is named.
        public var found: [Camera]
        /// Why nodes could not be looked at; none of them is known to be a camera.
        public var refused: [CameraError]

        public init(found: [Camera] = [], refused: [CameraError] = []) {
            self.found = found
            self.refused = refused
        }
    }

    /// Looks at all video nodes. Takes a few milliseconds a camera; blocks the calling thread for as long.
    public static func cameras() -> Cameras { cameras(in: LinuxV4L2()) }

    /// One camera, by its node's path, its bus path or its card's name. If `nil`, the first that has pictures to decode,
    /// which a capturer takes; the first at all if none has.
    ///
    /// - Parameter wish: Where sizes are a range, the rates are those near the wished size; without a wish those of the
    ///   largest.
    public static func camera(
        _ device: String? = nil, wish: CameraWish = CameraWish()
    ) throws(CameraError) -> Camera {
        try camera(device, wish: wish, in: LinuxV4L2())
    }

    package static func cameras(in system: any V4L2System) -> Cameras {
        var cameras = Cameras()
        for path in system.nodes() {
            do throws(CameraError) {
                cameras.found.append(
                    try look(
                        at: try CameraLocator(system: system).open(path), wish: CameraWish(), in: system))
            } catch {
                if case .notACamera = error { continue }
                cameras.refused.append(error)
            }
        }
        return cameras
    }

    package static func camera(
        _ device: String?, wish: CameraWish = CameraWish(), in system: any V4L2System
    ) throws(CameraError) -> Camera {
        var undecodable: Camera?
        let locator = CameraLocator(system: system)
        do throws(CameraError) {
            return try locator.find(device) { found throws(CameraError) in
                let camera = try look(at: found, wish: wish, in: system)
                // Whoever names a camera gets to see it as it is.
                let isDecodable = CameraModeChoice.choose(wish, from: camera.modes).chosen != nil
                if isDecodable || device != nil { return camera }
                // Perhaps libv4l can.
                do throws(CameraError) {
                    try CameraOpener.decide(try locator.open(found.identity.path), wish: wish, locator).0.device.close()
                    return camera
                } catch {
                    undecodable = undecodable ?? camera
                    throw error
                }
            }
        } catch {
            guard let undecodable else { throw error }
            return undecodable
        }
    }

    private static func look(
        at found: CameraLocator.Found, wish: CameraWish, in system: any V4L2System
    ) throws(CameraError) -> Camera {
        defer { found.device.close() }
        do throws(V4L2Error) {
            let modes = try CameraModes(of: found.device, type: found.type, capability: found.capability, wish: wish)
            return Camera(identity: found.identity, modes: modes)
        } catch {
            throw CameraError(error, path: found.identity.path, in: system)
        }
    }
}
