import EmisoraCapture
import Glibc
import Testing

@Suite struct CameraDiscoveryTests {
    @Test("every mode of a real camera's list is found, in the driver's order", arguments: CameraLists.all)
    func wholeLists(list: CameraList) throws {
        let nodes = FakeVideoNodes(["/dev/video0": FakeVideoNodes.camera(list.modes)])
        var expected = list.modes
        // Nobody can say of a real device that its list goes on.
        expected.isPartial = false
        let found = CameraDiscovery.cameras(in: nodes)
        #expect(found.found.map(\.modes) == [expected])
        #expect(found.found.first?.identity.path == "/dev/video0")
        #expect(found.refused.isEmpty)
        #expect(nodes.openNodes == 0)
    }

    @Test("nodes for metadata, output and memory-to-memory work are no cameras")
    func otherNodes() {
        let nodes = FakeVideoNodes([
            "/dev/video0": FakeVideoNodes.node(
                "a", bus: "usb-1", capabilities: FakeVideoNodes.metadata | FakeVideoNodes.streaming),
            "/dev/video1": FakeVideoNodes.node(
                "b", bus: "usb-2", capabilities: FakeVideoNodes.output | FakeVideoNodes.streaming),
            "/dev/video2": FakeVideoNodes.node("c", bus: "usb-3", capabilities: 0x4000 | FakeVideoNodes.streaming),
            // It captures, but cannot stream.
            "/dev/video3": FakeVideoNodes.node("d", bus: "usb-4", capabilities: FakeVideoNodes.capture),
            "/dev/video4": { request throws(V4L2Error) in throw V4L2Error(request.name, code: ENOTTY) },
        ])
        let found = CameraDiscovery.cameras(in: nodes)
        #expect(found.found.isEmpty && found.refused.isEmpty)
        #expect(nodes.openNodes == 0)
    }

    @Test("a node that may not be opened is told with its group, and hides no other")
    func refusedNode() {
        let nodes = FakeVideoNodes(
            ["/dev/video1": FakeVideoNodes.camera(CameraLists.vga.modes)], refusals: ["/dev/video0": EACCES])
        let found = CameraDiscovery.cameras(in: nodes)
        #expect(found.found.map(\.identity.path) == ["/dev/video1"])
        #expect(found.refused == [.permissionDenied(path: "/dev/video0", group: "video")])
    }

    @Test("a camera that is unplugged while it is asked is told as such, and its node is let go")
    func unpluggedMeanwhile() {
        let nodes = FakeVideoNodes([
            "/dev/video0": { request throws(V4L2Error) in
                if case .enumerateFrameSize = request { throw V4L2Error(request.name, code: ENODEV) }
                return try FakeVideoNodes.camera(CameraLists.vga.modes)(request)
            }
        ])
        let found = CameraDiscovery.cameras(in: nodes)
        #expect(found.found.isEmpty && found.refused == [.unplugged(path: "/dev/video0")])
        #expect(nodes.openNodes == 0)
    }

    @Test("lists that a driver never ends are cut, and said to be")
    func endlessLists() throws {
        let nodes = FakeVideoNodes([
            "/dev/video0": { request throws(V4L2Error) in
                switch request {
                case .enumerateFormat(_, let index):
                    .formatDescription(V4L2FormatDescription(pixelFormat: FourCC.nv12.rawValue &+ index))
                case .enumerateFrameSize(_, let index): .frameSize(.discrete(width: 640 &+ index, height: 480))
                case .enumerateFrameInterval(_, _, _, let index): .frameInterval(.discrete(V4L2Fraction(1, index)))
                default: try FakeVideoNodes.camera(CameraLists.vga.modes)(request)
                }
            }
        ])
        let camera = try CameraDiscovery.camera(nil, in: nodes)
        #expect(camera.modes.isPartial)
        #expect(nodes.requests.count <= CameraModes.mostRequests + 3)
        // What was read can be chosen from.
        #expect(CameraModeChoice.choose(CameraWish(width: 640, height: 480), from: camera.modes).chosen != nil)
    }

    @Test("a driver without a list of sizes is known by what it stands at")
    func standingFormat() throws {
        let modes = CameraModes(label: "HDMI", driver: "fake", bus: "csi", formats: [.init(.uyvy, sizes: [])])
        let current = V4L2Format(type: .videoCapture, width: 1920, height: 1080, pixelFormat: FourCC.uyvy.rawValue)
        let nodes = FakeVideoNodes(["/dev/video0": FakeVideoNodes.camera(modes, current: current)])
        let camera = try CameraDiscovery.camera(nil, in: nodes)
        #expect(camera.modes.current == CameraModes.Current(fourcc: .uyvy, width: 1920, height: 1080))
        let choice = CameraModeChoice.choose(CameraWish(width: 1280, height: 720), from: camera.modes)
        #expect(choice.chosen == CameraMode(fourcc: .uyvy, width: 1920, height: 1080, interval: nil))
    }

    @Test("where a range of sizes has rates that fall with size, the wished size's own count")
    func ratesOfRanges() throws {
        let range = V4L2SizeSteps(minimum: 64, maximum: 4096, step: 64)
        let nodes = FakeVideoNodes([
            "/dev/video0": { request throws(V4L2Error) in
                switch request {
                case .enumerateFormat(_, 0):
                    return .formatDescription(V4L2FormatDescription(pixelFormat: FourCC.nv12.rawValue))
                case .enumerateFrameSize(_, 0):
                    return .frameSize(.stepwise(width: range, height: range, isContinuous: false))
                case .enumerateFrameInterval(_, let width, _, 0):
                    return .frameInterval(.discrete(V4L2Fraction(1, width > 640 ? 5 : 30)))
                case .enumerateFormat, .enumerateFrameSize, .enumerateFrameInterval:
                    throw V4L2Error(request.name, code: EINVAL)
                default: return try FakeVideoNodes.camera(CameraLists.vga.modes)(request)
                }
            }
        ])
        let wish = CameraWish(width: 640, height: 512, frameRate: 30)
        let small = try CameraDiscovery.camera(nil, wish: wish, in: nodes)
        #expect(
            CameraModeChoice.choose(wish, from: small.modes).chosen
                == CameraMode(fourcc: .nv12, width: 640, height: 512, interval: FrameInterval(1, 30)))
        // Without a wish, what all sizes have.
        let any = try CameraDiscovery.camera(nil, in: nodes)
        #expect(any.modes.formats.first?.sizes.first?.intervals == [.discrete(FrameInterval(1, 5))])
    }

    @Test("an input without a signal, which has no rates to list, is listed all the same")
    func noSignal() throws {
        let nodes = FakeVideoNodes([
            "/dev/video0": { request throws(V4L2Error) in
                if case .enumerateFrameInterval = request { throw V4L2Error(request.name, code: ENODATA) }
                return try FakeVideoNodes.camera(CameraLists.vga.modes)(request)
            }
        ])
        let camera = try CameraDiscovery.camera(nil, in: nodes)
        #expect(camera.modes.formats.flatMap(\.sizes).allSatisfy { $0.intervals.isEmpty })
        #expect(camera.modes.formats.first?.sizes.count == 5)
    }

    @Test("a camera is found by its node, its bus path and its name, and is the first one if none is named")
    func names() throws {
        func modes(_ label: String, bus: String) -> CameraModes {
            CameraModes(label: label, driver: "fake", bus: bus, formats: CameraLists.vga.modes.formats)
        }
        let nodes = FakeVideoNodes([
            "/dev/video0": FakeVideoNodes.camera(modes("left", bus: "usb-1")),
            "/dev/video1": FakeVideoNodes.camera(modes("right", bus: "usb-2")),
        ])
        #expect(try CameraDiscovery.camera(nil, in: nodes).modes.label == "left")
        for name in ["/dev/video1", "usb-2", "right"] {
            #expect(try CameraDiscovery.camera(name, in: nodes).modes.label == "right")
        }
        #expect(throws: CameraError.notFound("middle")) { try CameraDiscovery.camera("middle", in: nodes) }
        #expect(nodes.openNodes == 0)
    }
}
