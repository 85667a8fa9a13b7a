// A program with a drawing loop of its own: it draws when it likes, and pushes each picture.
// Run it beside a server (`swift run signaling-server`): swift run PushFrames ws://127.0.0.1:8080/push
import Emisora
import Glibc

/// A ball in a box, drawn in BGRA.
struct Game {
    static let format = VideoFormat(.bgra, width: 640, height: 360, frameRate: 50)
    private let pool = VideoFramePool()
    private var position = (x: 100.0, y: 80.0)
    private var velocity = (x: 220.0, y: 170.0)

    mutating func advance(seconds: Double) {
        position.x += velocity.x * seconds
        position.y += velocity.y * seconds
        if position.x < 30 || position.x > Double(Self.format.width) - 30 { velocity.x = -velocity.x }
        if position.y < 30 || position.y > Double(Self.format.height) - 30 { velocity.y = -velocity.y }
        position.x = min(max(position.x, 30), Double(Self.format.width) - 30)
        position.y = min(max(position.y, 30), Double(Self.format.height) - 30)
    }

    func draw() throws -> VideoFrame {
        var picture = try pool.makeFrame(Self.format)
        picture.withPlane(0) { bytes, layout in
            for row in 0..<layout.rows {
                for column in 0..<layout.rowBytes / 4 {
                    let (x, y) = (Double(column) - position.x, Double(row) - position.y)
                    let pixel: UInt32 = x * x + y * y < 900 ? 0xFFE0_A030 : 0xFF18_3048
                    bytes.storeBytes(of: pixel, toByteOffset: row * layout.stride + 4 * column, as: UInt32.self)
                }
            }
        }
        return picture.finish(timestamp: MonotonicClock.now)
    }
}

let url = CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:8080/push"
do {
    let capture = PushCapture(format: Game.format)
    let session = try await Session.connect(to: url)
    try await session.publish(Publisher(videoCapture: capture))
    print("Publishing to \(url)")
    var game = Game()
    var lastAnswer: ConsumeResult?
    while true {
        try await Task.sleep(for: .milliseconds(20))
        game.advance(seconds: 0.02)
        let answer = capture.push(try game.draw())
        if answer != lastAnswer { print("pushed frames are \(answer)") }
        lastAnswer = answer
    }
} catch {
    print(error)
}
