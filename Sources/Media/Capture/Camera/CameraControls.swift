import Glibc

/// The controls of a camera: focus, exposure, gain, white balance, zoom, lights, and whatever else its driver offers.
///
/// ```swift
/// let controls = try CameraControls(device: "/dev/video0")
/// try controls.set(.zoomAbsolute, 200)
/// for control in try controls.list() { print(control.name, control.value ?? 0, control.allowed) }
/// ```
///
/// It has the node open for as long as it lives, beside whoever captures from the camera: controls may be set by
/// anyone at any time. Any thread.
/// Source: V4L2 API, VIDIOC_QUERY_EXT_CTRL, VIDIOC_QUERYMENU, VIDIOC_G_EXT_CTRLS, VIDIOC_S_EXT_CTRLS.
public final class CameraControls: Sendable {
    let found: CameraLocator.Found
    private let system: any V4L2System

    var device: any V4L2Device { found.device }

    /// - Parameter device: A node's path such as `/dev/video0`, a bus path, or a card's name; `nil` for the first camera
    ///   that has pictures to decode.
    public convenience init(device: String? = nil) throws(CameraError) {
        try self.init(device: device, system: LinuxV4L2())
    }

    package convenience init(device: String?, system: any V4L2System) throws(CameraError) {
        try self.init(device: device, wish: CameraWish(), system: system)
    }

    /// The camera that a capturer with that wish would take, as far as can be told without starting it.
    convenience init(device: String?, wish: CameraWish, system: any V4L2System) throws(CameraError) {
        let locator = CameraLocator(system: system)
        let found = try locator.find(device) { found throws(CameraError) in
            // Controls of a camera that was named can be set whatever its pictures are like.
            device == nil ? try CameraOpener.decide(found, wish: wish, locator).0 : found
        }
        self.init(found, system: system)
    }

    /// Takes over an opened node.
    init(_ found: CameraLocator.Found, system: any V4L2System) {
        self.found = found
        self.system = system
    }

    deinit {
        device.close()
    }

    // MARK: Reading

    /// All controls with their present values, in the driver's order.
    public func list() throws(CameraControlError) -> [CameraControl] {
        var controls: [CameraControl] = []
        var last: UInt32 = 0
        // A driver that never says that the list is over, or goes round, ends it here.
        while controls.count < Self.mostControls {
            let info: V4L2ControlInfo
            do throws(V4L2Error) {
                info = try device.queryControl(id: last | Self.next)
            } catch {
                guard error.isUnsupported else { throw failure(error) }
                return controls
            }
            guard info.id > last, info.id < Self.next else { return controls }
            last = info.id
            if let control = control(info) { controls.append(control) }
        }
        return controls
    }

    /// One control with its present value.
    public func control(_ id: CameraControlID) throws(CameraControlError) -> CameraControl {
        try query(id).control
    }

    private func query(_ id: CameraControlID) throws(CameraControlError) -> (control: CameraControl, isWide: Bool) {
        do throws(V4L2Error) {
            let info = try device.queryControl(id: id.rawValue)
            if let control = control(info) { return (control, info.type == Self.wide) }
        } catch {
            guard error.isUnsupported else { throw failure(error) }
        }
        throw .notOffered("\(id)")
    }

    /// The present value.
    public func value(of id: CameraControlID) throws(CameraControlError) -> Int {
        let control = try control(id)
        guard let value = control.value else { throw .noNumber(name: control.name) }
        return value
    }

    // MARK: Setting

    /// Sets a control and answers what the driver made of it: it rounds to its steps.
    ///
    /// - Throws: ``CameraControlError/notAllowed(name:value:allowed:)`` names what is allowed; nothing is sent then.
    @discardableResult
    public func set(_ id: CameraControlID, _ value: Int) throws(CameraControlError) -> Int {
        let (control, isWide) = try query(id)
        guard !control.isReadOnly else { throw .readOnly(name: control.name) }
        guard control.kind != .other else { throw .noNumber(name: control.name) }
        guard control.allows(value) else {
            throw .notAllowed(name: control.name, value: value, allowed: control.allowed)
        }
        // A mask has 32 bits of its own; as a number on the way it is signed.
        let sent = control.kind == .bitmask ? Int64(Int32(truncatingIfNeeded: value)) : Int64(value)
        do throws(V4L2Error) {
            return number(try device.setControl(id: id.rawValue, isWide: isWide, value: sent), control.kind)
        } catch {
            switch error.code {
            case EACCES where control.isInactive, EBUSY where control.isInactive, EINVAL where control.isInactive,
                EIO where control.isInactive:
                throw .inactive(name: control.name)
            case EACCES: throw .readOnly(name: control.name)
            case ERANGE, EINVAL: throw .notAllowed(name: control.name, value: value, allowed: control.allowed)
            default: throw failure(error)
            }
        }
    }

    func failure(_ error: V4L2Error) -> CameraControlError {
        .camera(CameraError(error, path: found.identity.path, in: system))
    }

    // MARK: The driver's answers

    private static let mostControls = 1024
    private static let longestMenu = 256
    /// `V4L2_CTRL_FLAG_NEXT_CTRL`
    private static let next: UInt32 = 0x8000_0000
    /// `V4L2_CTRL_TYPE_INTEGER64`
    private static let wide: UInt32 = 5

    /// `nil` for the titles of groups and for what is switched off.
    private func control(_ info: V4L2ControlInfo) -> CameraControl? {
        let (disabled, grabbed, readOnly, inactive, writeOnly): (UInt32, UInt32, UInt32, UInt32, UInt32) = (
            0x1, 0x2, 0x4, 0x10, 0x40
        )
        guard info.flags & disabled == 0, info.type != 6 else { return nil }
        let kind = kind(info)
        let value: Int64? =
            kind == .button || kind == .other || info.flags & writeOnly != 0
            ? nil : try? device.getControl(id: info.id, isWide: info.type == Self.wide)
        return CameraControl(
            id: CameraControlID(rawValue: info.id), title: info.name, name: Self.name(info.name), kind: kind,
            minimum: Int(info.minimum), maximum: Int(info.maximum), step: Int(clamping: info.step),
            defaultValue: Int(info.defaultValue), value: value.map { number($0, kind) },
            isReadOnly: info.flags & (readOnly | grabbed) != 0, isInactive: info.flags & inactive != 0)
    }

    /// What a value means: bits are no signed number.
    private func number(_ value: Int64, _ kind: CameraControl.Kind) -> Int {
        kind == .bitmask ? Int(UInt32(truncatingIfNeeded: value)) : Int(value)
    }

    /// `enum v4l2_ctrl_type`
    private func kind(_ info: V4L2ControlInfo) -> CameraControl.Kind {
        switch info.type {
        case 1, Self.wide: .integer
        case 2: .boolean
        case 3: .menu(menu(info, isInteger: false))
        case 4: .button
        case 8: .bitmask
        case 9: .menu(menu(info, isInteger: true))
        default: .other
        }
    }

    private func menu(_ info: V4L2ControlInfo, isInteger: Bool) -> [CameraControl.MenuItem] {
        guard let first = UInt32(exactly: info.minimum), let last = UInt32(exactly: info.maximum), first <= last else {
            return []
        }
        return (first...last).prefix(Self.longestMenu).compactMap { index in
            // Menus have holes.
            guard let item = try? device.queryMenu(id: info.id, index: index, isInteger: isInteger) else { return nil }
            return CameraControl.MenuItem(value: Int(index), title: isInteger ? "\(item.value)" : item.name)
        }
    }

    /// As `v4l2-ctl` writes names: lower case, `_` for all that is no letter or digit, one in a row.
    private static func name(_ title: String) -> String {
        var name = ""
        for character in title.lowercased() {
            if character.isASCII, character.isLetter || character.isNumber {
                name.append(character)
            } else if !name.isEmpty, name.last != "_" {
                name.append("_")
            }
        }
        while name.last == "_" { name.removeLast() }
        return name
    }
}
