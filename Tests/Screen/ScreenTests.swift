import Emisora
import EmisoraScreen
import EmisoraTestSupport
import Glibc
import Testing

/// Whole screens and monitors, under an X server of the test's own.
@Suite(.serialized) struct ScreenTests {
    @Test func screenIsCapturedPixelForPixelAndFollowsWhatIsDrawn() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let capture = try ScreenCapture(display: server.display, showsCursor: false)
        #expect(capture.format == VideoFormat(.bgra, width: 640, height: 480, frameRate: 30))
        #expect(capture.contentHint == .text)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        #expect(capture.isCapturing)
        _ = try #require(try nextFrame(from: consumer))
        let colors: [UInt32] = [0xFF0000, 0x00FF00, 0x0000FF, 0x123456]
        for (index, color) in colors.enumerated() {
            painter.fill(painter.root, x: 100 * index, y: 7, width: 50, height: 30, color: color)
            let frame = try #require(try nextFrame(from: consumer) { try Picture($0)[100 * index + 49, 36] == color })
            let picture = try Picture(frame)
            #expect(try picture == xwd(["-root"], display: server.display))
            #expect(picture.count(color) == 50 * 30)
        }
        #expect(consumer.ledger.isBalanced)
    }

    @Test func terminalIsCapturedAsTheServerItselfHasIt() throws {
        let server = try XServer(screen: "800x600x24")
        let painter = try Painter(server)
        let script = "for i in 1 2 3 4 5 6 7 8; do echo The quick brown fox $i; done; read end"
        let terminal = try Child(
            "/usr/bin/xterm", ["-T", "Fox", "-geometry", "60x20+80+60", "-fn", "fixed", "-e", "sh", "-c", script],
            display: server.display)
        defer { withExtendedLifetime(terminal) {} }
        let capture = try ScreenCapture(display: server.display, showsCursor: false)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        // Eight lines of text are some hundred black pixels on white.
        let first = try nextFrame(from: consumer) { try Picture($0).count(0xFFFFFF) > 50_000 }
        _ = try #require(first)
        let window = try #require(try ScreenCapture.windows(display: server.display).first { $0.title == "Fox" })
        #expect(window.isVisible)
        // While it moves the server's picture is another at each look; it is compared at every place it rests at.
        for step in 1...4 {
            painter.move(window.id, x: 80 + 30 * step, y: 60 + 17 * step)
            let expected = try xwd(["-root"], display: server.display)
            let found = try nextFrame(from: consumer) { try Picture($0) == expected }
            #expect(found != nil, "the picture at step \(step) is not the server's")
        }
    }

    @Test func movingWindowIsWholeInEachPicture() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = painter.makeWindow("Moving", x: 0, y: 0, width: 200, height: 40)
        painter.write("Text that moves along", on: window, x: 5, y: 12)
        let reference = try xwd(["-root"], display: server.display).cut(x: 0, y: 0, width: 200, height: 40)
        #expect(reference.count(0) > 100)
        let capture = try ScreenCapture(display: server.display, frameRate: 60, showsCursor: false)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        var places = Set<Int>()
        for x in stride(from: 0, through: 300, by: 12) {
            painter.move(window, x: x, y: 2 * x / 3)
            let frame = try #require(try nextFrame(from: consumer))
            let picture = try Picture(frame)
            let place = stride(from: 0, through: 300, by: 12).first { picture.shows(reference, x: $0, y: 2 * $0 / 3) }
            try #require(place != nil, "a picture shows the window nowhere whole")
            places.insert(try #require(place))
        }
        #expect(places.count > 10)
    }

    @Test func screenWithoutDamageCostsNothingAndItsPictureComesAgain() throws {
        let server = try XServer(screen: "1280x720x24")
        let painter = try Painter(server)
        painter.fill(painter.root, x: 10, y: 10, width: 500, height: 300, color: 0x336699)
        let capture = try ScreenCapture(display: server.display)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        let first = try #require(try nextFrame(from: consumer) { try Picture($0).count(0x336699) == 150_000 })
        let start = MonotonicClock.now
        let before = (processorTime(), try serverTicks(server.process.pid))
        var frames: [VideoFrame] = []
        while let taken = consumer.waitForLatest(until: start + .seconds(4)) {
            frames.append(taken.frame)
            taken.encoded()
        }
        let cost = (processorTime() - before.0).inSeconds / (MonotonicClock.now - start).inSeconds
        let ticks = try serverTicks(server.process.pid) - before.1
        print("screen without damage: \(cost * 100) % of a processor, X server \(ticks) ticks in 4 s")
        #expect((3...5).contains(frames.count))
        // The same memory again: nothing was grabbed.
        #expect(frames.allSatisfy { address($0) == address(first) })
        if isTimingJudged {
            #expect(cost < 0.01)
            #expect(ticks < 4)
        }
    }

    @Test func rateStaysBelowItsCeiling() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let capture = try ScreenCapture(display: server.display, frameRate: 10, showsCursor: false)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        var timestamps: [Instant] = []
        var color: UInt32 = 0
        let end = MonotonicClock.now + .seconds(2)
        while MonotonicClock.now < end {
            color += 1
            painter.fill(painter.root, x: 0, y: 0, width: 100, height: 100, color: color)
            if let taken = consumer.takeLatest() {
                timestamps.append(taken.frame.timestamp)
                taken.encoded()
            }
        }
        #expect(timestamps.count <= 21)
        if isTimingJudged { #expect(timestamps.count >= 16) }
        consumer.setWants(VideoWants(highestFrameRate: 2))
        let captured = consumer.ledger.captured
        let later = MonotonicClock.now + .seconds(2)
        while MonotonicClock.now < later {
            color += 1
            painter.fill(painter.root, x: 0, y: 0, width: 100, height: 100, color: color)
        }
        #expect((2...6).contains(consumer.ledger.captured - captured))
    }

    @Test func monitorIsCapturedAloneAndFollowed() async throws {
        let server = try XServer()
        let painter = try Painter(server)
        try painter.setMonitor("left", x: 0, y: 0, width: 200, height: 480)
        try painter.setMonitor("right", x: 200, y: 100, width: 300, height: 200)
        let monitors = try ScreenCapture.monitors(display: server.display)
        let right = try #require(monitors.first { $0.name == "right" })
        #expect((right.x, right.y) == (200, 100))
        #expect((right.width, right.height) == (300, 200))
        #expect(throws: ScreenError.monitorNotFound("middle", available: monitors.map(\.name))) {
            _ = try ScreenCapture(.monitor("middle"), display: server.display)
        }
        painter.fill(painter.root, x: 200, y: 100, width: 10, height: 10, color: 0xABCDEF)
        let capture = try ScreenCapture(.monitor("right"), display: server.display, showsCursor: false)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        let frame = try #require(try nextFrame(from: consumer) { try Picture($0).count(0xABCDEF) == 100 })
        #expect(frame.size == VideoSize(width: 300, height: 200))
        let whole = try xwd(["-root"], display: server.display)
        #expect(try Picture(frame) == whole.cut(x: 200, y: 100, width: 300, height: 200))
        // What happens elsewhere is no reason to grab: the picture that comes again is the same memory.
        let moved = MonotonicClock.now
        painter.fill(painter.root, x: 0, y: 0, width: 100, height: 100, color: 0x111111)
        let again = try #require(try nextFrame(from: consumer) { $0.timestamp > moved })
        #expect(address(again) == address(frame))
        // Damage on the monitor is seen after that, too.
        painter.fill(painter.root, x: 490, y: 290, width: 10, height: 10, color: 0x222222)
        _ = try #require(try nextFrame(from: consumer) { try Picture($0)[299, 199] == 0x222222 })
        // Another place of the same size, and another size.
        try painter.moveMonitor("right", x: 340, y: 280, width: 300, height: 200)
        _ = try #require(try nextFrame(from: consumer) { try Picture($0)[159, 19] == 0x222222 })
        try painter.moveMonitor("right", x: 100, y: 0, width: 320, height: 240)
        _ = try #require(try nextFrame(from: consumer) { $0.size == VideoSize(width: 320, height: 240) })
        #expect(capture.format.size == VideoSize(width: 320, height: 240))
        try painter.deleteMonitor("right")
        #expect(await eventually { !capture.isCapturing })
        #expect(capture.failure == .monitorRemoved("right"))
    }

    @Test func cursorIsDrawnWhereThePointerIsAndItsMovementIsSeen() throws {
        let server = try XServer()
        let painter = try Painter(server)
        painter.setSquareCursor(on: painter.root, red: true)
        painter.warpPointer(x: 100, y: 50)
        let capture = try ScreenCapture(display: server.display)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        func square(_ picture: Picture, _ color: UInt32, x: Int, y: Int) -> Bool {
            picture.count(color) == 64 && picture.cut(x: x - 4, y: y - 4, width: 8, height: 8).count(color) == 64
        }
        let first = try nextFrame(from: consumer) { square(try Picture($0), 0xFF0000, x: 100, y: 50) }
        #expect(first != nil)
        for place in [(300, 200), (311, 222), (5, 475)] {
            painter.warpPointer(x: place.0, y: place.1)
            let frame = try nextFrame(from: consumer) { square(try Picture($0), 0xFF0000, x: place.0, y: place.1) }
            #expect(frame != nil, "no cursor at \(place)")
        }
        // At the edge it is cut.
        painter.warpPointer(x: 0, y: 0)
        #expect(try nextFrame(from: consumer) { try Picture($0).count(0xFF0000) == 16 } != nil)
        painter.warpPointer(x: 100, y: 100)
        painter.setSquareCursor(on: painter.root, red: false)
        let green = try nextFrame(from: consumer) { square(try Picture($0), 0x00FF00, x: 100, y: 100) }
        #expect(green != nil)
        let without = try ScreenCapture(display: server.display, showsCursor: false)
        let other = makeOpenConsumer()
        try without.start(into: other)
        let bare = try #require(try nextFrame(from: other))
        without.stop()
        #expect(try Picture(bare).count(0x00FF00) == 0)
    }

    @Test(arguments: [true, false]) func pictureOverTheConnectionIsTheSame(withoutExtension: Bool) throws {
        let server = try XServer(screen: "640x480x24", arguments(withoutExtension))
        let painter = try Painter(server)
        painter.fill(painter.root, x: 30, y: 40, width: 200, height: 100, color: 0x998877)
        let display = withoutExtension ? server.display : "127.0.0.1" + server.display
        let capture = try ScreenCapture(display: display, showsCursor: false)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        let frame = try #require(try nextFrame(from: consumer))
        #expect(try Picture(frame) == xwd(["-root"], display: server.display))
        #expect(try Picture(frame).count(0x998877) == 20_000)
        painter.fill(painter.root, x: 30, y: 40, width: 200, height: 100, color: 0x112233)
        #expect(try nextFrame(from: consumer) { try Picture($0).count(0x112233) == 20_000 } != nil)
    }

    private func arguments(_ withoutExtension: Bool) -> [String] {
        // Access control off: the connection comes without a cookie, from this machine, to a server of the test's own.
        withoutExtension ? ["-nolisten", "tcp", "-extension", "MIT-SHM"] : ["-listen", "tcp", "-ac"]
    }

    @Test func screenOf16BitsIsCapturedInItsColors() throws {
        let server = try XServer(screen: "101x60x16")
        let painter = try Painter(server)
        // 5 bits red, 6 green, 5 blue.
        for (index, pixel) in [0xF800, 0x07E0, 0x001F, 0xFFFF].enumerated() {
            painter.fill(painter.root, x: 20 * index, y: 0, width: 20, height: 60, color: UInt32(pixel))
        }
        painter.fill(painter.root, x: 80, y: 0, width: 21, height: 60, color: 0x8410)
        let capture = try ScreenCapture(display: server.display, showsCursor: false)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        let picture = try Picture(try #require(try nextFrame(from: consumer)))
        let colors = (0..<5).map { picture[20 * $0 + 10, 30] }
        #expect(colors == [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFFFF, 0x848284])
        #expect(picture[100, 59] == 0x848284)
    }

    @Test func whatCannotBeCapturedIsSaid() throws {
        let server = try XServer(screen: "320x200x8")
        #expect(throws: ScreenError.unsupportedVisual(depth: 8, bitsPerPixel: 8)) {
            _ = try ScreenCapture(display: server.display)
        }
        #expect(throws: ScreenError.noSuchScreen(display: server.display + ".3")) {
            _ = try ScreenCapture(display: server.display + ".3")
        }
        #expect(throws: ScreenError.malformedDisplay("here")) { _ = try ScreenCapture(display: "here") }
        let display = server.display
        server.process.end()
        #expect(throws: ScreenError.cannotConnect(display: display)) { _ = try ScreenCapture(display: display) }
        #expect(throws: ScreenError.self) { _ = try ScreenCapture(display: display, frameRate: 1000) }
        #expect(throws: ScreenError.self) { _ = try ScreenCapture(display: display, keepAlive: .zero) }
    }

    private func address(_ frame: VideoFrame) -> UnsafeRawPointer? {
        frame.withUnsafePlanes { $0[0].baseAddress }
    }

    /// The processor time of the server in hundredths of a second, from the kernel's table.
    private func serverTicks(_ pid: Int32) throws -> Int {
        let line = String(decoding: try contents("/proc/\(pid)/stat"), as: UTF8.self)
        let fields = line[line.index(after: try #require(line.lastIndex(of: ")")))...].split(separator: " ")
        return try #require(Int(fields[11])) + #require(Int(fields[12]))
    }

    private func contents(_ path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY)
        try #require(file >= 0, "\(path) cannot be read")
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }
}
