import Emisora
import EmisoraScreen
import Synchronization
import Testing

/// The whole way: a window with text moves, and is read from the pictures that a viewer decodes.
@Suite(.serialized) struct ReadableTextTests {
    private static let text = "Emisora shows this window 0123456789 and its text stays readable"
    private static let places = stride(from: 8, through: 248, by: 16).map { (x: $0, y: 20 + $0) }

    @Test func textOfAMovingWindowIsReadableAtTheViewer() async throws {
        let server = try XServer()
        let painter = try Painter(server)
        let sheet = painter.makeWindow("Sheet", x: 0, y: 0, width: 400, height: 20)
        painter.write(Glyphs.alphabet, on: sheet, x: 0, y: 0)
        let glyphs = Glyphs(sheet: try xwd(["-root"], display: server.display))
        painter.destroy(sheet)
        let window = painter.makeWindow("Text", x: 8, y: 28, width: 390, height: 40)
        painter.write(Self.text, on: window, x: 2, y: 12)

        let (sending, receiving) = try await Session.loopback()
        let publisher = Publisher(videoCapture: try ScreenCapture(display: server.display, showsCursor: false))
        try await sending.publish(publisher)
        let reader = Reader(glyphs, text: Self.text)
        reader.look(at: Self.places[0])
        try await receiving.subscribe(Subscriber(videoSink: reader), to: publisher.name)
        // A step each time the viewer has read the text where it is.
        for place in Self.places {
            reader.look(at: place)
            painter.move(window, x: place.x, y: place.y)
            let isRead = await eventually { reader.accuracy == 1 }
            try #require(isRead, "at \(place) at best \(reader.accuracy) of the text is read")
        }
        await sending.disconnect()
        await receiving.disconnect()
        #expect(publisher.captureLedger.isBalanced)
    }

    private final class Reader: VideoFrameSink {
        private let glyphs: Glyphs
        private let text: String
        private let state = Mutex((place: (x: 0, y: 0), accuracy: 0.0))

        init(_ glyphs: Glyphs, text: String) {
            self.glyphs = glyphs
            self.text = text
        }

        /// From now on the window should be at `place`.
        func look(at place: (x: Int, y: Int)) {
            state.withLock { $0 = (place, 0) }
        }

        /// How much of the text was read right at best.
        var accuracy: Double { state.withLock { $0.accuracy } }

        func receive(_ frame: VideoFrame) {
            let place = state.withLock { $0.place }
            guard let picture = try? Picture(frame) else { return }
            let read = glyphs.read(picture, x: place.x + 2, y: place.y + 12, count: text.count)
            let accuracy = Double(zip(read, text).count { $0 == $1 }) / Double(text.count)
            state.withLock { if $0.place == place { $0.accuracy = max($0.accuracy, accuracy) } }
        }
    }
}
