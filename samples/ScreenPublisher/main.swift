// Publishes the screen, or the window whose title is given. Run it beside a server (`swift run signaling-server`):
// swift run ScreenPublisher ws://127.0.0.1:8080/screen ["Title of a window"]
import Emisora
import EmisoraScreen

let url = CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:8080/screen"
let title = CommandLine.arguments.dropFirst(2).first
do {
    for monitor in try ScreenCapture.monitors() {
        print("monitor \(monitor.name): \(monitor.width)x\(monitor.height) at \(monitor.x),\(monitor.y)")
    }
    for window in try ScreenCapture.windows() where window.isVisible {
        print("window 0x\(String(window.id, radix: 16)): \(window.width)x\(window.height) \(window.title)")
    }
    let capture = try ScreenCapture(title.map { .windowTitled($0) } ?? .screen)
    let session = try await Session.connect(to: url)
    try await session.publish(Publisher(videoCapture: capture))
    print("Publishing \(capture.format.size) to \(url)")
    for await event in session.events { print(event) }
} catch {
    print(error)
}
