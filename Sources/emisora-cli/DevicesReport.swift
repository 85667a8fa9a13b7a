import Emisora

/// What `emisora devices --json` prints.
struct DevicesReport: Encodable {
    var devices: [CameraReport]
    /// Nodes that could not be looked at, in words.
    var refused: [String]
    var microphones: [MicrophoneReport]
}

/// A sound device to record from, under the name that `--audio mic:` takes.
struct MicrophoneReport: Encodable {
    let device: String
    let label: String
}

/// One camera, in the form that `--modes` reads.
struct CameraReport: Encodable {
    let camera: CameraDiscovery.Camera
    var controls: [CameraControl]?

    private enum Key: String, CodingKey {
        case device, controls
    }

    init(_ camera: CameraDiscovery.Camera, controls: [CameraControl]? = nil) {
        self.camera = camera
        self.controls = controls
    }

    func encode(to encoder: any Encoder) throws {
        try CameraModesDocument(camera.modes).encode(to: encoder)
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(camera.identity.path, forKey: .device)
        try values.encodeIfPresent(controls?.map { ControlReport($0) }, forKey: .controls)
    }
}

private struct ControlReport: Encodable {
    let name: String
    let title: String
    let id: UInt32
    let type: String
    var value: Int?
    var `default`: Int?
    var min: Int?
    var max: Int?
    var step: Int?
    var menu: [Item]?
    let readOnly: Bool
    let inactive: Bool

    struct Item: Encodable {
        let value: Int
        let title: String
    }

    init(_ control: CameraControl) {
        name = control.name
        title = control.title
        id = control.id.rawValue
        readOnly = control.isReadOnly
        inactive = control.isInactive
        switch control.kind {
        case .integer: type = "integer"
        case .boolean: type = "boolean"
        case .menu(let items):
            type = "menu"
            menu = items.map { Item(value: $0.value, title: $0.title) }
        case .button: type = "button"
        case .bitmask: type = "bitmask"
        case .other: type = "other"
        }
        guard control.kind != .button, control.kind != .other else { return }
        value = control.value
        `default` = control.defaultValue
        (min, max, step) = (control.minimum, control.maximum, control.step)
    }
}

/// What `emisora devices --explain --json` prints. `num`/`den` are seconds per frame.
struct ExplanationReport: Encodable {
    private var device: String?
    private var label = ""
    private let chosen: Mode?
    private let reason: String
    private let candidates: [Candidate]

    private struct Mode: Encodable {
        let mode: CameraMode

        enum Key: String, CodingKey {
            case fourcc, w, h, num, den
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: Key.self)
            try values.encode(mode.fourcc.description, forKey: .fourcc)
            try values.encode(mode.width, forKey: .w)
            try values.encode(mode.height, forKey: .h)
            // Written as null where the rate is left to the driver.
            try values.encode(mode.interval?.numerator, forKey: .num)
            try values.encode(mode.interval?.denominator, forKey: .den)
        }
    }

    private struct Candidate: Encodable {
        let candidate: CameraModeChoice.Candidate

        enum Key: String, CodingKey {
            case score, reason, chosen
        }

        func encode(to encoder: any Encoder) throws {
            try Mode(mode: candidate.mode).encode(to: encoder)
            var values = encoder.container(keyedBy: Key.self)
            try values.encode(candidate.score, forKey: .score)
            try values.encode(candidate.reason, forKey: .reason)
            try values.encode(candidate.isChosen, forKey: .chosen)
        }
    }

    private enum Key: String, CodingKey {
        case device, label, chosen, reason, candidates
    }

    init(_ choice: CameraModeChoice.Explained, modes: CameraModes, path: String?) {
        device = path
        label = modes.label
        chosen = choice.chosen.map { Mode(mode: $0) }
        reason = choice.reason
        candidates = choice.candidates.map { Candidate(candidate: $0) }
    }

    /// There is nothing to choose from.
    init(refusal: String) {
        chosen = nil
        reason = refusal
        candidates = []
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encodeIfPresent(device, forKey: .device)
        try values.encode(label, forKey: .label)
        // Written as null where there is none.
        try values.encode(chosen, forKey: .chosen)
        try values.encode(reason, forKey: .reason)
        try values.encode(candidates, forKey: .candidates)
    }
}
