// Publishes a camera and says what happens to it. Run it beside a server (`swift run signaling-server`):
// swift run CameraPublisher ws://127.0.0.1:8080/door [/dev/video0]
import Emisora

let url = CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:8080/door"
let device = CommandLine.arguments.dropFirst(2).first
let camera = CameraCapture(device: device, wish: CameraWish(width: 1280, height: 720, frameRate: 30)) { event in
    switch event {
    case .modeChosen(let mode, let camera, let reason): print("\(camera.card): \(mode). \(reason)")
    case .interruptionBegan(let interruption): print("\(interruption) The stream goes on meanwhile.")
    case .interruptionEnded(let gap): print("The camera is back after \(gap).")
    case .rateMissed(let negotiated, let measured): print("\(measured) pictures a second instead of \(negotiated).")
    case .framesLostByDriver(let count): print("The driver lost \(count) pictures.")
    case .framesDropped(let reason, let count): print("\(count) pictures were dropped: \(reason.rawValue).")
    }
}
do {
    let session = try await Session.connect(to: url)
    try await session.publish(Publisher(videoCapture: camera))
    print("Publishing \(camera.format.size) to \(url)")
    for await event in session.events { print(event) }
} catch {
    print(error)
}
