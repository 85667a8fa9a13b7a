/// Finds cameras among the nodes, and knows one again.
struct CameraLocator: Sendable {
    let system: any V4L2System
    /// Asked before each node: whether whoever wanted a camera wants none any more.
    var isCancelled: @Sendable () -> Bool = { false }

    /// An opened node that captures video.
    struct Found {
        let device: any V4L2Device
        let type: V4L2BufferType
        let capability: V4L2Capability
        let identity: CameraIdentity
    }

    /// Finds the camera that `name` means: a node's path, a bus path, or a card's name. A name may fit several nodes, and
    /// no name fits all: it is then the first, by number, that `use` can have. Beside the camera for pictures a computer
    /// may have one that sees infrared only, and another program may have the first.
    ///
    /// - Parameter use: Takes the opened node over; when it throws, it has closed it.
    /// - Throws: Why the first one that fits could not be had; else why a node could not be looked at, since that may be
    ///   the one that is looked for.
    func find<Result>(
        _ name: String?, use: (Found) throws(CameraError) -> Result
    ) throws(CameraError) -> Result {
        if let name, name.hasPrefix("/") { return try use(try open(name)) }
        var (refusal, closedNode): (CameraError?, CameraError?)
        for path in system.nodes() {
            let found: Found
            do throws(CameraError) {
                found = try open(path)
            } catch {
                // A node that is no camera is no reason.
                if case .notACamera = error { continue }
                closedNode = closedNode ?? error
                continue
            }
            guard name == nil || found.capability.busInfo == name || found.capability.card == name else {
                found.device.close()
                continue
            }
            do throws(CameraError) {
                return try use(found)
            } catch {
                refusal = refusal ?? error
            }
        }
        throw refusal ?? closedNode ?? .notFound(name)
    }

    /// What became of the search for a camera that was there before.
    enum Return<Result> {
        case had(Result)
        /// It is there, or something is in its place, and cannot be had now.
        case refused(CameraError)
        case absent
    }

    /// Looks for a known device, first where it was, and at all other nodes if `everywhere`; of several nodes of that
    /// device it is the first that `use` can have.
    ///
    /// - Parameter use: As in ``find(_:use:)``.
    func find<Result>(
        again known: CameraIdentity, everywhere: Bool, use: (Found) throws(CameraError) -> Result
    ) -> Return<Result> {
        var refusal: CameraError?
        for path in [known.path] + (everywhere ? system.nodes().filter { $0 != known.path } : []) {
            do throws(CameraError) {
                let found = try open(path)
                guard found.identity.isSameDevice(as: known) else {
                    found.device.close()
                    continue
                }
                do throws(CameraError) {
                    return .had(try use(found))
                } catch {
                    refusal = refusal ?? error
                }
            } catch {
                switch error {
                case .notFound, .notACamera: break
                // Others that may not be opened say nothing about this one.
                default: if path == known.path { refusal = refusal ?? error }
                }
            }
        }
        return refusal.map { .refused($0) } ?? .absent
    }

    func open(_ path: String, converting: Bool = false) throws(CameraError) -> Found {
        guard !isCancelled() else { throw .stopped }
        let device: any V4L2Device
        let capability: V4L2Capability
        do throws(V4L2Error) {
            device = try system.open(path, converting: converting)
        } catch {
            if error.isUnsupported { throw .notACamera(path: path) }
            throw CameraError(error, path: path, in: system)
        }
        do throws(V4L2Error) {
            capability = try device.queryCapability()
        } catch {
            device.close()
            if error.isUnsupported { throw .notACamera(path: path) }
            throw CameraError(error, path: path, in: system)
        }
        guard let type = capability.captureType else {
            device.close()
            throw .notACamera(path: path)
        }
        return Found(
            device: device, type: type, capability: capability,
            identity: CameraIdentity(path: path, card: capability.card, busInfo: capability.busInfo))
    }
}
