import Emisora

/// `camera-probe watch URL`: what a viewer sees. A line for each picture on standard error, all of them as JSON on
/// standard output when told to end.
struct Viewer {
    let url: String

    func run() async throws {
        let tap = try WireTap()
        let sink = ViewerSink()
        let session = try await Session.connect(to: url)
        let stream = await firstStream(session)
        try await session.subscribe(Subscriber(videoSink: sink), to: stream)
        await Terminated.wait()
        await session.disconnect()
        CameraProbe.report(ViewerReport(pictures: sink.pictures, streams: tap.finish()))
    }

    private func firstStream(_ session: Session) async -> String {
        if let stream = await session.streams.first { return stream }
        for await case .streamPublished(let stream) in session.events { return stream }
        return "main"
    }
}

struct ViewerReport: Encodable {
    struct Picture: Encodable {
        /// Decoded, in seconds of the machine's monotonic clock.
        var at: Double
        /// Differs from the one before: those come from the camera.
        var isNew: Bool
        var width: Int
        var height: Int
        /// Mean brightness three quarters down, where the driver's test pattern shows and its text does not.
        var level: Int
    }

    var pictures: [Picture]
    var streams: [WireTap.Stream]
}

/// Looks at each decoded picture.
private final class ViewerSink: VideoFrameSink {
    /// The driver writes its time and a running number into the upper left corner.
    private static let textWidth = 160
    private static let textHeight = 80
    /// By how much a sample must differ, and how many: what a codec does to a picture that stays the same is less.
    private static let clearDifference = 48
    private static let fewestChanges = 12

    private let state = Monitor(State())

    private struct State: Sendable {
        var pictures: [ViewerReport.Picture] = []
        var text: [UInt8] = []
    }

    var pictures: [ViewerReport.Picture] { state.withLock { $0.pictures } }

    func receive(_ frame: VideoFrame) {
        let now = MonotonicClock.now.seconds
        let (text, level) = frame.withUnsafePlanes { planes in look(frame.format, planes[0]) }
        let picture = state.withLock { state in
            let changes = zip(text, state.text).count { abs(Int($0) - Int($1)) > Self.clearDifference }
            let isNew = text.count != state.text.count || changes >= Self.fewestChanges
            // Kept from the last new one, so that a slow drift of a still picture adds up to no change.
            if isNew { state.text = text }
            let picture = ViewerReport.Picture(
                at: now, isNew: isNew, width: frame.width, height: frame.height, level: level)
            state.pictures.append(picture)
            return picture
        }
        CameraProbe.tell(
            "\(now) \(picture.isNew ? "new" : "same") picture \(frame.width)x\(frame.height) \(level)")
    }

    private func look(_ format: VideoFormat, _ luma: UnsafeRawBufferPointer) -> (
        text: [UInt8], level: Int
    ) {
        let stride = format.stride(ofPlane: 0)
        var text: [UInt8] = []
        for row in 0..<min(Self.textHeight, format.height) {
            for column in Swift.stride(from: 0, to: min(Self.textWidth, format.width), by: 2) {
                text.append(luma[row * stride + column])
            }
        }
        let row = format.height * 3 / 4 * stride
        let columns = Swift.stride(from: 0, to: format.width, by: 8)
        let sum = columns.reduce(0) { $0 + Int(luma[row + $1]) }
        return (text, sum / max(1, (format.width + 7) / 8))
    }
}
