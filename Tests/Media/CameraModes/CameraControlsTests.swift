import EmisoraCapture
import Glibc
import Synchronization
import Testing

@Suite struct CameraControlsTests {
    private static func info(
        _ id: UInt32, _ type: UInt32, _ name: String, _ range: ClosedRange<Int64> = 0...1, step: UInt64 = 1,
        flags: UInt32 = 0
    ) -> V4L2ControlInfo {
        V4L2ControlInfo(
            id: id, type: type, name: name, minimum: range.lowerBound, maximum: range.upperBound, step: step,
            defaultValue: range.lowerBound, flags: flags)
    }

    private static let zoom: UInt32 = 0x009A_090D
    private static let exposure: UInt32 = 0x009A_0902
    private static let lamps: UInt32 = 0x0098_0918

    private static let usual = [
        info(0x0098_0001, 6, "User Controls"),
        info(0x0098_0900, 1, "Brightness", -64...64),
        info(0x0098_090C, 2, "White Balance, Automatic"),
        info(lamps, 3, "Power Line Frequency", 0...3),
        info(0x0098_0919, 1, "switched off", flags: 0x1),
        info(exposure, 1, "Exposure Time, Absolute", 3...2047, flags: 0x10),
        info(zoom, 1, "Zoom, Absolute", 100...500, step: 10),
        info(0x009A_091C, 4, "Auto Focus, Start"),
        info(0x009C_0901, 9, "LED1 Mode", 0...2),
        info(0x00F0_0001, 5, "Far", 0...1 << 40),
        info(0x00F0_0002, 8, "Bits", 0...0x8000_000F),
        info(0x00F0_0003, 7, "Serial Number", flags: 0x4),
        info(0x00F0_0004, 1, "Temperature", 0...100, flags: 0x4),
    ]

    /// A node with controls that keep what is set.
    private static func nodes(
        _ infos: [V4L2ControlInfo] = usual, refusing: [UInt32: Int32] = [:],
        payloads: PayloadLog = PayloadLog()
    ) -> FakeVideoNodes {
        let values = ValueLog(Dictionary(infos.map { ($0.id, $0.minimum) }) { first, _ in first })
        return FakeVideoNodes([
            "/dev/video0": { request throws(V4L2Error) in
                let unknown = V4L2Error(request.name, code: EINVAL)
                switch request {
                case .queryControl(let id) where id & 0x8000_0000 != 0:
                    guard let info = infos.first(where: { $0.id > id & 0x7FFF_FFFF && $0.type < 0x100 }) else {
                        throw unknown
                    }
                    return .controlInfo(info)
                case .queryControl(let id):
                    guard let info = infos.first(where: { $0.id == id }) else { throw unknown }
                    return .controlInfo(info)
                case .queryMenu(let id, let index, let isInteger):
                    // A hole in the middle.
                    guard index != 1 else { throw unknown }
                    return .menuItem(
                        V4L2MenuItem(
                            index: index, name: isInteger ? "" : "item \(index) of \(id == lamps ? "lamps" : "?")",
                            value: isInteger ? Int64(index) * 1000 : 0))
                case .getControl(let id, _): return .value(values.value(of: id))
                case .setControl(let id, _, let value):
                    if let code = refusing[id] { throw V4L2Error(request.name, code: code) }
                    // As drivers do: to the next step.
                    let step = Int64(infos.first { $0.id == id }?.step ?? 1)
                    return .value(values.set(id, value / step * step))
                case .setControlPayload(let id, let bytes):
                    payloads.append(id, bytes)
                    return .done
                default: return try FakeVideoNodes.camera(CameraLists.vga.modes)(request)
                }
            }
        ])
    }

    private static func controls(_ nodes: FakeVideoNodes) throws -> CameraControls {
        try CameraControls(device: nil, system: nodes)
    }

    // MARK: Listing

    @Test("controls are listed by name with range, default, menu and value; titles and what is switched off are not")
    func listing() throws {
        let list = try Self.controls(Self.nodes()).list()
        #expect(
            list.map { "\($0.name) = \($0.value.map(String.init) ?? "-"): \($0.allowed)" } == [
                "brightness = -64: -64…64",
                "white_balance_automatic = 0: 0 or 1",
                "power_line_frequency = 0: 0 item 0 of lamps, 2 item 2 of lamps, 3 item 3 of lamps",
                "exposure_time_absolute = 3: 3…2047",
                "zoom_absolute = 100: 100…500 in steps of 10",
                "auto_focus_start = -: any value",
                "led1_mode = 0: 0 0, 2 2000",
                "far = 0: 0…1099511627776",
                "bits = 0: bits within 0x8000000f",
                "serial_number = -: no number",
                "temperature = 0: 0…100",
            ])
        #expect(list.filter(\.isInactive).map(\.name) == ["exposure_time_absolute"])
        #expect(list.filter(\.isReadOnly).map(\.name) == ["serial_number", "temperature"])
    }

    @Test("a list of controls that goes round, or never ends, ends")
    func endless() throws {
        let round = FakeVideoNodes([
            "/dev/video0": { request throws(V4L2Error) in
                guard case .queryControl = request else {
                    return try FakeVideoNodes.camera(CameraLists.vga.modes)(request)
                }
                return .controlInfo(Self.info(Self.zoom, 4, "Again"))
            }
        ])
        #expect(try Self.controls(round).list().count == 1)
        let endless = FakeVideoNodes([
            "/dev/video0": { request throws(V4L2Error) in
                guard case .queryControl(let id) = request else {
                    return try FakeVideoNodes.camera(CameraLists.vga.modes)(request)
                }
                return .controlInfo(Self.info((id & 0x7FFF_FFFF) + 1, 3, "More", 0...(.max)))
            }
        ])
        #expect(try Self.controls(endless).list().count == 1024)
    }

    // MARK: Setting

    @Test("a value within the range is set, and what the driver made of it is answered")
    func setting() throws {
        let controls = try Self.controls(Self.nodes())
        #expect(try controls.set(.zoomAbsolute, 200) == 200)
        #expect(try controls.set(.zoomAbsolute, 207) == 200)
        #expect(try controls.value(of: .zoomAbsolute) == 200)
        #expect(try controls.set(CameraControlID(rawValue: 0x00F0_0001), 1 << 35) == 1 << 35)
        #expect(try controls.set(CameraControlID(rawValue: 0x00F0_0002), 0x8000_0001) == 0x8000_0001)
        #expect(try controls.value(of: CameraControlID(rawValue: 0x00F0_0002)) == 0x8000_0001)
        try controls.set(.autoFocusStart, 1)
        try controls.set(.powerLineFrequency, 2)
    }

    @Test("a value that is not allowed names what is, and never reaches the driver")
    func notAllowed() throws {
        let nodes = Self.nodes()
        let controls = try Self.controls(nodes)
        #expect(
            throws: CameraControlError.notAllowed(
                name: "zoom_absolute", value: 501, allowed: "100…500 in steps of 10")
        ) { try controls.set(.zoomAbsolute, 501) }
        #expect(throws: CameraControlError.notAllowed(name: "white_balance_automatic", value: 2, allowed: "0 or 1")) {
            try controls.set(.autoWhiteBalance, 2)
        }
        // The menu's hole.
        #expect(throws: CameraControlError.self) { try controls.set(.powerLineFrequency, 1) }
        #expect(throws: CameraControlError.self) { try controls.set(CameraControlID(rawValue: 0x00F0_0002), 0x10) }
        #expect(throws: CameraControlError.notOffered("focus_absolute")) { try controls.set(.focusAbsolute, 1) }
        #expect(throws: CameraControlError.readOnly(name: "temperature")) {
            try controls.set(CameraControlID(rawValue: 0x00F0_0004), 1)
        }
        #expect(throws: CameraControlError.noNumber(name: "auto_focus_start")) {
            try controls.value(of: .autoFocusStart)
        }
        #expect(nodes.requests.allSatisfy { if case .setControl = $0 { false } else { true } })
    }

    @Test("what the driver refuses is told in the words of the camera")
    func refused() throws {
        let nodes = Self.nodes(refusing: [Self.exposure: EACCES, Self.zoom: ERANGE, Self.lamps: ENODEV])
        let controls = try Self.controls(nodes)
        #expect(throws: CameraControlError.inactive(name: "exposure_time_absolute")) {
            try controls.set(.exposureTimeAbsolute, 100)
        }
        #expect(
            throws: CameraControlError.notAllowed(
                name: "zoom_absolute", value: 200, allowed: "100…500 in steps of 10")
        ) { try controls.set(.zoomAbsolute, 200) }
        #expect(throws: CameraControlError.camera(.unplugged(path: "/dev/video0"))) {
            try controls.set(.powerLineFrequency, 0)
        }
    }

    @Test("the node is let go with the controls")
    func closing() throws {
        let nodes = Self.nodes()
        var controls: CameraControls? = try Self.controls(nodes)
        #expect(nodes.openNodes == 1)
        #expect(controls != nil)
        controls = nil
        #expect(nodes.openNodes == 0)
    }

    @Test("a capturer sets controls of the camera that it is going to open")
    func throughTheCapturer() throws {
        let nodes = Self.nodes()
        let camera = CameraCapture(device: "/dev/video0", wish: CameraWish(), system: nodes)
        #expect(try camera.set(.zoomAbsolute, 205) == 200)
        #expect(try camera.controls().value(of: .zoomAbsolute) == 200)
        #expect(throws: CameraControlError.self) { try camera.set(.zoomAbsolute, 1000) }
        #expect(nodes.openNodes == 0)
        let other = CameraCapture(device: "/dev/video9", wish: CameraWish(), system: nodes)
        #expect(throws: CameraControlError.camera(.notFound("/dev/video9"))) { try other.set(.zoomAbsolute, 200) }
    }

    // MARK: Region of interest

    private static let region: UInt32 = 0x0098_1AE1
    private static let regionUses: UInt32 = 0x0098_1AE2

    private static let withRegion =
        usual + [
            info(region, 0x107, "Region of Interest Rectangle"),
            info(regionUses, 8, "Region Of Interest Auto Ctrls", 0...0b1001),
        ]

    @Test("a point of interest becomes a rectangle around it, within the sensor, for what the camera can steer")
    func pointOfInterest() throws {
        let payloads = PayloadLog()
        let controls = try Self.controls(Self.nodes(Self.withRegion, payloads: payloads))
        // The sensor's size is the largest that is listed: 640x480.
        #expect(try controls.setPointOfInterest(x: 0.5, y: 0.5) == [.exposure, .focus])
        #expect(try controls.setPointOfInterest(x: 1, y: 0, size: 0.5, uses: [.focus, .whiteBalance]) == .focus)
        #expect(payloads.rectangles == [[256, 192, 128, 96], [320, 0, 320, 240]])
        #expect(try controls.value(of: CameraControlID(rawValue: Self.regionUses)) == 0b1000)
    }

    @Test("a camera without a region of interest, or without the use, says so")
    func noPointOfInterest() throws {
        let without = try Self.controls(Self.nodes())
        #expect(throws: CameraControlError.notOffered("region_of_interest_rectangle")) {
            try without.setPointOfInterest(x: 0.5, y: 0.5)
        }
        let payloads = PayloadLog()
        let controls = try Self.controls(Self.nodes(Self.withRegion, payloads: payloads))
        #expect(throws: CameraControlError.self) { try controls.setPointOfInterest(x: 0.5, y: 0.5, uses: .iris) }
        for (x, y, size, name) in [
            (1.1, 0, 0.2, "x"), (0, -0.001, 0.2, "y"), (0, 0, 0, "size"), (Double.nan, 0, 1, "x"),
        ] {
            #expect(throws: CameraControlError.outsidePicture(name)) {
                try controls.setPointOfInterest(x: x, y: y, size: size)
            }
        }
        #expect(payloads.rectangles.isEmpty)
    }
}

/// The values of a node's controls.
private final class ValueLog: Sendable {
    private let values: Mutex<[UInt32: Int64]>

    init(_ values: [UInt32: Int64]) {
        self.values = Mutex(values)
    }

    func value(of id: UInt32) -> Int64 { values.withLock { $0[id] ?? 0 } }

    func set(_ id: UInt32, _ value: Int64) -> Int64 {
        values.withLock { $0[id] = value }
        return value
    }
}

/// What was set that is no number.
private final class PayloadLog: Sendable {
    private let entries = Mutex<[[UInt8]]>([])

    func append(_ id: UInt32, _ bytes: [UInt8]) { entries.withLock { $0.append(bytes) } }

    /// Left, top, width, height.
    var rectangles: [[Int32]] {
        entries.withLock { $0 }.map { bytes in
            bytes.withUnsafeBytes { raw in (0..<4).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self) } }
        }
    }
}
