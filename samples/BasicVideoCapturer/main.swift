// The noise capturer of OpenTok's example, as a user would write it: random pixels in ARGB, thirty times a second.
// Run it beside a server (`swift run signaling-server`): swift run BasicVideoCapturer ws://127.0.0.1:8080/demo
import Emisora
import Synchronization

final class BasicVideoCapturer: VideoCapture {
    let format = VideoFormat(.argb, width: 640, height: 480, frameRate: 30)
    private let pace: PacedCapture

    init() {
        let generator = Mutex(UInt64(0x9E37_79B9_7F4A_7C15))
        pace = PacedCapture(format: format) { picture, _ in
            picture.withPlane(0) { bytes, layout in
                generator.withLock { state in
                    // One colour for blocks of 16 by 16 pixels: noise that VP8 can carry.
                    for row in stride(from: 0, to: layout.rows, by: 16) {
                        for column in stride(from: 0, to: layout.rowBytes, by: 64) {
                            state ^= state << 13
                            state ^= state >> 7
                            state ^= state << 17
                            let gray = UInt32(96 + state >> 32 & 63)
                            let pixel = (0xFF | gray << 8 | gray << 16 | gray << 24)
                            for y in row..<min(row + 16, layout.rows) {
                                for x in stride(from: column, to: min(column + 64, layout.rowBytes), by: 4) {
                                    bytes.storeBytes(of: pixel, toByteOffset: y * layout.stride + x, as: UInt32.self)
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    var isCapturing: Bool { pace.isCapturing }
    func start(into consumer: VideoCaptureConsumer) throws(CaptureError) { try pace.start(into: consumer) }
    func stop() { pace.stop() }
}

let url = CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:8080/demo"
do {
    let session = try await Session.connect(to: url)
    try await session.publish(Publisher(videoCapture: BasicVideoCapturer(), audioCapture: ToneCapture()))
    print("Publishing to \(url); watch it in a browser at the same address with http:// in front.")
    for await event in session.events { print(event) }
} catch {
    print(error)
}
