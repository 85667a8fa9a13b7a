/// One control of a camera: what it may be set to and what it is.
public struct CameraControl: Hashable, Sendable {
    public var id: CameraControlID
    /// The driver's name for it, such as `Zoom, Absolute`.
    public var title: String
    /// `title` as it is written on command lines: `zoom_absolute`.
    public var name: String
    public var kind: Kind
    /// The bounds of the value, both included.
    public var minimum: Int
    public var maximum: Int
    /// Values lie in steps of this from `minimum`; the driver rounds others.
    public var step: Int
    public var defaultValue: Int
    /// `nil` where there is none to be read.
    public var value: Int?
    public var isReadOnly: Bool
    /// Another control has taken over, such as automatic exposure; setting has no effect before that is off.
    public var isInactive: Bool

    public enum Kind: Hashable, Sendable {
        case integer
        /// 0 or 1.
        case boolean
        case menu([MenuItem])
        /// Any value sets it off.
        case button
        /// Each bit within `maximum` by itself.
        case bitmask
        /// Text, a rectangle or another thing that is no number.
        case other
    }

    public struct MenuItem: Hashable, Sendable {
        /// What the control is set to.
        public var value: Int
        /// What that means; for integer menus the number.
        public var title: String

        public init(value: Int, title: String) {
            self.value = value
            self.title = title
        }
    }

    /// What may be set, for people: `100…500 in steps of 10`, `0 Disabled, 1 50 Hz`.
    public var allowed: String {
        switch kind {
        case .integer:
            "\(minimum)…\(maximum)" + (step > 1 ? " in steps of \(step)" : "")
        case .boolean: "0 or 1"
        case .menu(let items): items.map { "\($0.value) \($0.title)" }.joined(separator: ", ")
        case .button: "any value"
        case .bitmask: "bits within 0x" + String(UInt32(truncatingIfNeeded: maximum), radix: 16)
        case .other: "no number"
        }
    }

    /// Whether the control takes `value`; the driver rounds to its steps.
    func allows(_ value: Int) -> Bool {
        switch kind {
        case .integer: minimum <= value && value <= maximum
        case .boolean: value == 0 || value == 1
        case .menu(let items): items.contains { $0.value == value }
        case .button: Int32(exactly: value) != nil
        case .bitmask: UInt32(exactly: value).map { $0 & ~UInt32(truncatingIfNeeded: maximum) == 0 } ?? false
        case .other: false
        }
    }
}

/// Why a control was not set or read.
public enum CameraControlError: Error, Hashable, Sendable {
    /// The camera has no such control.
    case notOffered(String)
    /// The control does not take that value; `allowed` says what it takes.
    case notAllowed(name: String, value: Int, allowed: String)
    /// A point or its surroundings lie outside the picture; the text names the number.
    case outsidePicture(String)
    /// The control can only be read.
    case readOnly(name: String)
    /// Another control has taken over.
    case inactive(name: String)
    /// The control's value is no number, or cannot be read.
    case noNumber(name: String)
    /// The camera itself could not be used.
    case camera(CameraError)
}

extension CameraControlError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notOffered(let name): "\(name): not offered by this camera; see emisora devices --controls"
        case .notAllowed(let name, let value, let allowed): "\(name): \(value) is not allowed; allowed: \(allowed)"
        case .outsidePicture(let name): "\(name): outside the picture; allowed: 0…1, a share of its side"
        case .readOnly(let name): "\(name): can only be read"
        case .inactive(let name): "\(name): the camera has it on automatic; switch that off first"
        case .noNumber(let name): "\(name): has no number to be read or set"
        case .camera(let error): "\(error)"
        }
    }
}
