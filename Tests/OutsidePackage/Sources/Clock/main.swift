import Emisora

/// A white bar that goes round once a minute: thirty lines from nothing to a picture in a browser.
final class ClockCapture: VideoCapture {
    let format = VideoFormat(.bgra, width: 320, height: 240, frameRate: 30)
    private let pace: PacedCapture

    init() {
        pace = PacedCapture(format: format) { picture, tick in
            let bar = tick.index * 320 / (60 * 30) % 320
            picture.withPlane(0) { bytes, layout in
                for y in 0..<layout.rows {
                    for x in 0..<320 {
                        let color: UInt32 = x < bar ? 0xFFFF_FFFF : 0xFF20_4060 &+ UInt32(y / 2) << 8
                        bytes.storeBytes(of: color, toByteOffset: y * layout.stride + 4 * x, as: UInt32.self)
                    }
                }
            }
        }
    }

    var isCapturing: Bool { pace.isCapturing }
    func start(into consumer: VideoCaptureConsumer) throws(CaptureError) { try pace.start(into: consumer) }
    func stop() { pace.stop() }
}

let session = try await Session.connect(to: CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:8080/demo")
try await session.publish(Publisher(videoCapture: ClockCapture()))
for await event in session.events { print(event) }
