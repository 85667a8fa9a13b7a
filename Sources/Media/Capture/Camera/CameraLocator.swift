/// Finds cameras among the nodes, and knows one again.
struct CameraLocator: Sendable {
    let system: any V4L2System

    /// An opened node that captures video.
    struct Found {
        let device: any V4L2Device
        let type: V4L2BufferType
        let capability: V4L2Capability
        let identity: CameraIdentity
    }

    /// Opens the camera that `name` means: a node's path, a bus path, or a card's name; the first there is if `nil`.
    func find(_ name: String?) throws(CameraError) -> Found {
        if let name, name.hasPrefix("/") { return try open(name) }
        var refusal: CameraError?
        for path in system.nodes() {
            do throws(CameraError) {
                let found = try open(path)
                if name == nil || found.capability.busInfo == name || found.capability.card == name { return found }
                found.device.close()
            } catch {
                // A node that is no camera is no reason; one that may not be opened may be the one that is looked for.
                if case .notACamera = error { continue }
                refusal = refusal ?? error
            }
        }
        throw refusal ?? .notFound(name)
    }

    /// What became of the search for a camera that was there before.
    enum Return {
        case found(Found)
        /// It is there, or something is in its place, and cannot be opened now.
        case refused(CameraError)
        case absent
    }

    /// Looks for a known device, first where it was, and at all other nodes if `everywhere`.
    func find(again known: CameraIdentity, everywhere: Bool) -> Return {
        var refusal: CameraError?
        do throws(CameraError) {
            let found = try open(known.path)
            if found.identity.isSameDevice(as: known) { return .found(found) }
            found.device.close()
        } catch {
            switch error {
            case .notFound, .notACamera: break
            default: refusal = error
            }
        }
        if everywhere {
            for path in system.nodes() where path != known.path {
                guard let found = try? open(path) else { continue }
                if found.identity.isSameDevice(as: known) { return .found(found) }
                found.device.close()
            }
        }
        return refusal.map { .refused($0) } ?? .absent
    }

    func open(_ path: String, converting: Bool = false) throws(CameraError) -> Found {
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
