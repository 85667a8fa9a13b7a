// A drawn clock: three hands on a dial, straight into I420, without any drawing library.
// Run it beside a server (`swift run signaling-server`): swift run CustomCapturer ws://127.0.0.1:8080/clock
import Emisora
import Glibc

/// The wall-clock time of a day in seconds.
func secondsOfDay() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    var local = tm()
    localtime_r(&now.tv_sec, &local)
    return Double(local.tm_hour * 3_600 + local.tm_min * 60 + local.tm_sec) + Double(now.tv_nsec) / 1e9
}

let side = 480
let clock = PacedCapture(format: VideoFormat(.i420, width: side, height: side, frameRate: 30)) { picture, _ in
    let time = secondsOfDay()
    let hands = [(time / 43_200, 0.5, 7.0), (time / 3_600, 0.75, 4.0), (time / 60, 0.85, 2.0)].map {
        (turns, length, width) in
        let angle = 2 * Double.pi * (turns - turns.rounded(.down))
        return (x: sin(angle), y: -cos(angle), length: length * Double(side) / 2, width: width)
    }
    picture.withPlane(0) { bytes, layout in
        for row in 0..<layout.rows {
            for column in 0..<layout.rowBytes {
                let x = Double(column - side / 2)
                let y = Double(row - side / 2)
                let radius = (x * x + y * y).squareRoot()
                var luma: UInt8 = radius > Double(side) * 0.49 ? 30 : radius > Double(side) * 0.46 ? 200 : 60
                for hand in hands {
                    let along = x * hand.x + y * hand.y
                    let across = abs(x * hand.y - y * hand.x)
                    if along > -12, along < hand.length, across < hand.width { luma = 220 }
                }
                bytes.storeBytes(of: luma, toByteOffset: row * layout.stride + column, as: UInt8.self)
            }
        }
    }
    for plane in 1...2 {
        picture.withUnsafeMutablePlane(plane) { $0.initializeMemory(as: UInt8.self, repeating: plane == 1 ? 140 : 120) }
    }
}

let url = CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:8080/clock"
do {
    let session = try await Session.connect(to: url)
    try await session.publish(Publisher(videoCapture: clock))
    print("Publishing to \(url)")
    for await event in session.events { print(event) }
} catch {
    print(error)
}
