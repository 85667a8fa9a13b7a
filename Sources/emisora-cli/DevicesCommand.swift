import Emisora
import EmisoraMicrophone
import EmisoraOperations

/// `emisora devices`: the cameras, what they offer, and which mode would be taken for a wish; and the microphones.
struct DevicesCommand {
    private var device: String?
    private var isJSON = false
    private var explains = false
    private var showsControls = false
    private var size: (width: Int, height: Int)?
    private var frameRate: FrameRate?
    private var modesFile: String?

    private init() {}

    private final class Box {
        var command = DevicesCommand()
    }

    init(_ arguments: [String]) throws {
        let box = Box()
        let rest = try Arguments.parse(arguments, options: Self.options(box))
        self = box.command
        guard rest.count <= 1 else {
            throw Arguments.Usage(
                description: "\(rest[1]): one device at a time; allowed: /dev/videoN, bus path or name")
        }
        device = rest.first
        // Whoever wishes for something wants to know what comes of it.
        explains = explains || size != nil || frameRate != nil || modesFile != nil
        if modesFile != nil, let device {
            throw Arguments.Usage(description: "\(device): a device or --modes, not both")
        }
        if explains, showsControls {
            throw Arguments.Usage(description: "--controls: not with --explain, --size, --fps or --modes")
        }
    }

    static var manual: ProgramManual {
        var manual = ProgramManual(
            program: "emisora devices", purpose: "lists cameras, what they offer, and microphones",
            synopses: ["[options] [DEVICE]"], options: options(Box()))
        manual.notes = [
            "DEVICE is /dev/videoN, a bus path or a camera's name; all cameras and microphones without one."
        ]
        manual.exitCodes = [
            (0, "it did what was asked for"), (1, "there is no such camera"),
            (2, "wrong arguments, or a file that is no list"),
        ]
        manual.examples = ["emisora devices --explain --size 1280x720 --fps 30"]
        manual.seeAlso = ["emisora", "emisora-publish"]
        return manual
    }

    private static func options(_ box: Box) -> [Arguments.Option] {
        func set<Value>(_ path: WritableKeyPath<DevicesCommand, Value>, _ value: Value?) -> Bool {
            guard let value else { return false }
            box.command[keyPath: path] = value
            return true
        }
        return [
            .init(name: "json", values: "", help: "for machines") { _ in set(\.isJSON, true) },
            .init(name: "explain", values: "", help: "which mode is taken, each one's score and why it lost") { _ in
                set(\.explains, true)
            },
            .init(name: "size", values: "WxH", help: "wished size") {
                set(\.size, Arguments.size($0).map { .some($0) })
            },
            .init(name: "fps", values: "N|N/D", help: "wished pictures a second, such as 30, 29.97 or 30000/1001") {
                set(\.frameRate, Arguments.frameRate($0).map { .some($0) })
            },
            .init(name: "modes", values: "FILE.json", help: "explains a list in a file instead; - is standard input") {
                set(\.modesFile, $0.isEmpty ? nil : .some($0))
            },
            .init(name: "controls", values: "", help: "focus, exposure, zoom …: values, ranges, defaults") { _ in
                set(\.showsControls, true)
            },
        ]
    }

    /// 0; 1 if there is no such camera; 2 if the file is no list.
    func run() -> Int32 {
        do {
            if let modesFile {
                explain(try CameraListFile.read(modesFile), path: nil)
            } else if explains {
                let camera = try CameraDiscovery.camera(device, wish: wish)
                explain(camera.modes, path: camera.identity.path)
            } else {
                list(try cameras())
            }
            return 0
        } catch let problem as CameraListFile.Problem {
            Terminal.note("emisora devices: --modes: \(problem)", as: "devices.failed", .error)
            return 2
        } catch {
            if isJSON, explains { Terminal.result(ExplanationReport(refusal: "\(error)").jsonLine) }
            Terminal.note("emisora devices: \(error)", as: "devices.failed", .error)
            return 1
        }
    }

    // MARK: Explaining

    private var wish: CameraWish { CameraWish(width: size?.width, height: size?.height, frameRate: frameRate) }

    private func explain(_ modes: CameraModes, path: String?) {
        let choice = CameraModeChoice.choose(wish, from: modes)
        if isJSON {
            Terminal.result(ExplanationReport(choice, modes: modes, path: path).jsonLine)
        } else {
            Terminal.result(DevicesText.explanation(choice, modes: modes, path: path))
        }
    }

    // MARK: Listing

    private func cameras() throws -> CameraDiscovery.Cameras {
        guard let device else { return CameraDiscovery.cameras() }
        return CameraDiscovery.Cameras(found: [try CameraDiscovery.camera(device)])
    }

    private func list(_ cameras: CameraDiscovery.Cameras) {
        let reports = cameras.found.map { camera in
            guard showsControls else { return CameraReport(camera) }
            do {
                return CameraReport(camera, controls: try CameraControls(device: camera.identity.path).list())
            } catch {
                Terminal.note("emisora devices: \(error)", as: "devices.failed", .error)
                return CameraReport(camera, controls: [])
            }
        }
        let refused = cameras.refused.map { "\($0)" }
        if isJSON, device != nil {
            Terminal.result(reports[0].jsonLine)
            return
        }
        let microphones = device == nil ? MicrophoneCapture.devices() : []
        guard !isJSON else {
            Terminal.result(
                DevicesReport(
                    devices: reports, refused: refused,
                    microphones: microphones.map { MicrophoneReport(device: $0.name, label: $0.title) }
                ).jsonLine)
            return
        }
        let texts = reports.map { report in
            report.controls.map { DevicesText.controls($0, of: report.camera) } ?? DevicesText.modes(of: report.camera)
        }
        if !texts.isEmpty { Terminal.result(texts.joined(separator: "\n\n")) }
        refused.forEach { Terminal.note("emisora devices: \($0)", as: "devices.failed", .error) }
        if texts.isEmpty, refused.isEmpty { Terminal.result("No camera found.") }
        if device == nil, !showsControls { Terminal.result("\n" + DevicesText.microphones(microphones)) }
    }
}
