import CEmisoraXCB
import Emisora
import EmisoraScreen
import EmisoraTesting
import Glibc
import Testing

/// Single windows, and the ends that captures come to.
@Suite(.serialized) struct WindowTests {
    @Test func windowIsCapturedWithoutItsBorderAlsoWhenCoveredOrOffTheScreen() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = painter.makeWindow("Shown", x: 50, y: 60, width: 201, height: 99, border: 5, color: 0xCCCCCC)
        painter.write("Hello", on: window, x: 10, y: 10)
        let reference = try xwd(["-root"], display: server.display).cut(x: 55, y: 65, width: 201, height: 99)
        #expect(reference.count(0) > 20)
        let capture = try ScreenCapture(.windowTitled("Shown"), display: server.display, showsCursor: false)
        #expect(capture.format.size == VideoSize(width: 201, height: 99))
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        #expect(try Picture(try #require(try nextFrame(from: consumer))) == reference)
        _ = painter.makeWindow("Above", x: 0, y: 0, width: 400, height: 300, color: 0xFF0000)
        painter.fill(window, x: 150, y: 50, width: 20, height: 20, color: 0x0000FF)
        let covered = try #require(try nextFrame(from: consumer) { try Picture($0).count(0x0000FF) == 400 })
        #expect(try Picture(covered).count(0xFF0000) == 0)
        painter.move(window, x: -100, y: 430)
        painter.fill(window, x: 0, y: 80, width: 10, height: 10, color: 0x00FF00)
        let outside = try #require(try nextFrame(from: consumer) { try Picture($0).count(0x00FF00) == 100 })
        #expect(try Picture(outside).count(0x0000FF) == 400)
    }

    @Test func sizeFollowsTheWindowAndAHiddenOneKeepsItsPicture() async throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = painter.makeWindow("Changing", x: 10, y: 10, width: 100, height: 80, color: 0x204060)
        let capture = try ScreenCapture(.window(id: window), display: server.display, showsCursor: false)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        defer { capture.stop() }
        #expect(try Picture(try #require(try nextFrame(from: consumer))).count(0x204060) == 8000)
        for (width, height) in [(333, 200), (64, 64), (639, 479)] {
            painter.resize(window, width: width, height: height)
            let size = VideoSize(width: width, height: height)
            let frame = try nextFrame(from: consumer) {
                try $0.size == size && Picture($0).count(0x204060) == width * height
            }
            #expect(frame != nil, "no picture of \(size)")
            #expect(capture.format.size == size)
        }
        painter.unmap(window)
        let hidden = MonotonicClock.now
        let kept = try #require(try nextFrame(from: consumer) { $0.timestamp > hidden + .milliseconds(500) })
        #expect(try Picture(kept).count(0x204060) == 639 * 479)
        painter.map(window)
        painter.fill(window, x: 0, y: 0, width: 50, height: 50, color: 0x654321)
        #expect(try nextFrame(from: consumer) { try Picture($0).count(0x654321) == 2500 } != nil)
        // A window that is hidden at the start has no picture until it is shown.
        let other = painter.makeWindow("Later", x: 0, y: 0, width: 60, height: 50, color: 0x123456, isMapped: false)
        let waiting = try ScreenCapture(.window(id: other), display: server.display, showsCursor: false)
        let patient = makeOpenConsumer()
        try waiting.start(into: patient)
        defer { waiting.stop() }
        #expect(!hasFrame(patient, within: .milliseconds(300)))
        painter.map(other)
        #expect(try Picture(try #require(try nextFrame(from: patient))).count(0x123456) == 3000)
    }

    @Test func windowsAreFoundByTitle() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let first = painter.makeWindow("Report - page 1", x: 0, y: 0, width: 50, height: 40)
        let second = painter.makeWindow("Report - page 2", x: 0, y: 0, width: 60, height: 40)
        _ = painter.makeWindow("Report - page 11", x: 0, y: 0, width: 70, height: 40, isMapped: false)
        let windows = try ScreenCapture.windows(display: server.display)
        #expect(Set(windows.map(\.title)) == ["Report - page 1", "Report - page 2", "Report - page 11"])
        #expect(windows.first { $0.id == second }?.width == 60)
        #expect(windows.count(where: \.isVisible) == 2)
        func width(_ title: String) throws -> Int {
            let capture = try ScreenCapture(.windowTitled(title), display: server.display)
            return capture.format.width
        }
        #expect(try width("Report - page 1") == 50)
        #expect(try width("page 2") == 60)
        let error = #expect(throws: ScreenError.self) { _ = try width("Report") }
        guard case .windowAmbiguous("Report", let ids) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(ids.count == 3 && ids.contains(first))
        for title in ["Nothing", ""] {
            #expect(throws: ScreenError.windowNotFound(title, titles: windows.map(\.title))) { _ = try width(title) }
        }
        #expect(throws: ScreenError.windowNotFound("0x7777", titles: windows.map(\.title))) {
            _ = try ScreenCapture(.window(id: 0x7777), display: server.display)
        }
        let input = painter.makeWindow(
            "", x: 0, y: 0, width: 50, height: 50, class: XCB_WINDOW_CLASS_INPUT_ONLY)
        #expect(throws: ScreenError.windowInvisible(id: input)) {
            _ = try ScreenCapture(.window(id: input), display: server.display)
        }
    }

    @Test func closedWindowEndsTheCapture() async throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = painter.makeWindow("Closing", x: 0, y: 0, width: 100, height: 100)
        let capture = try ScreenCapture(.window(id: window), display: server.display)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        _ = try #require(try nextFrame(from: consumer))
        painter.destroy(window)
        #expect(await eventually { !capture.isCapturing })
        #expect(capture.failure == .windowClosed(id: window))
        let error = #expect(throws: CaptureError.self) { try capture.start(into: consumer) }
        guard case .custom(let cause) = error, case .windowNotFound = cause as? ScreenError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!capture.isCapturing)
        capture.stop()
    }

    @Test func serverThatEndsIsTold() async throws {
        let server = try XServer()
        let capture = try ScreenCapture(display: server.display)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        _ = try #require(try nextFrame(from: consumer))
        server.process.signal(SIGKILL)
        #expect(await eventually { !capture.isCapturing })
        #expect(capture.failure == .serverGone(display: server.display))
        capture.stop()
    }

    @Test func stopReturnsThoughTheServerHangs() async throws {
        let server = try XServer()
        let capture = try ScreenCapture(display: server.display)
        let consumer = makeOpenConsumer()
        try capture.start(into: consumer)
        _ = try #require(try nextFrame(from: consumer))
        server.process.signal(SIGSTOP)
        // The capturer looks at the pointer ten times a second: by now it waits for the answer.
        #expect(!hasFrame(consumer, within: .seconds(1)))
        let machine = try Yardstick()
        let start = MonotonicClock.now
        capture.stop()
        let took = MonotonicClock.now - start
        #expect(took < .seconds(1) + machine.finish().worstLateness)
        #expect(!capture.isCapturing)
        #expect(capture.failure == nil)
    }

    @Test func capturerStartsAndStopsAgainAndAgainAndHoldsNothing() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let capture = try ScreenCapture(display: server.display)
        func cycle() throws {
            let consumer = makeOpenConsumer()
            try capture.start(into: consumer)
            #expect(throws: CaptureError.self) { try capture.start(into: consumer) }
            let frame = try #require(try nextFrame(from: consumer))
            capture.stop()
            capture.stop()
            let captured = consumer.ledger.captured
            painter.fill(painter.root, x: 0, y: 0, width: 64, height: 64, color: 0x121212)
            #expect(!capture.isCapturing)
            #expect(consumer.ledger.captured == captured)
            // A frame may be kept longer than its capturer runs.
            #expect(try Picture(frame).width == 640)
        }
        try cycle()
        let before = try (held("fd"), held("map_files"))
        for _ in 0..<30 { try cycle() }
        #expect(try held("fd") == before.0)
        #expect(try held("map_files") <= before.1 + 4)
    }

    @Test func stopFromWithinTheReleaseOfAFrameEndsTheCapture() async throws {
        let server = try XServer()
        let painter = try Painter(server)
        let capture = try ScreenCapture(display: server.display, frameRate: 60)
        let consumer = makeOpenConsumer()
        // The first frame that the capturer hands over replaces one whose lender stops the capturer, on its own thread.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        defer { memory.deallocate() }
        do {
            let lent = BorrowedBuffer(UnsafeRawBufferPointer(memory)) { capture.stop() }
            let format = VideoFormat(.bgra, width: 16, height: 16)
            consumer.consume(try VideoFrame(borrowing: lent, format: format, timestamp: .zero))
        }
        try capture.start(into: consumer)
        painter.fill(painter.root, x: 0, y: 0, width: 64, height: 64, color: 0x121212)
        #expect(await eventually { !capture.isCapturing })
        capture.stop()
        #expect(consumer.ledger.captured == 2)
    }

    /// How many descriptors or mappings this process holds.
    private func held(_ folder: String) throws -> Int {
        let directory = try #require(opendir("/proc/self/\(folder)"))
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}
