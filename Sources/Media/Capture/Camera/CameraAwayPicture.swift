import EmisoraCore
import EmisoraVideo

/// What the stream shows while the camera is away.
struct CameraAwayPicture: Sendable {
    private let policy: CameraOptions.WhileAway
    private let interval: Duration
    /// Apart from the consumer's, since its picture may stay for hours.
    private let pool = VideoFramePool(limit: 4)
    private var picture: VideoFrame?
    private var next: Instant?

    init(_ options: CameraOptions) {
        policy = options.whileAway
        interval = .seconds(1) / options.awayFrameRate
    }

    /// When the next picture is due; `nil` while the camera delivers.
    var deadline: Instant? { next }

    /// The camera stopped delivering: the first picture is due at once.
    ///
    /// - Parameters:
    ///   - last: Copied, so that the driver's memory is free when the camera is opened again.
    ///   - format: What the camera's pictures look like.
    mutating func begin(_ last: VideoFrame?, format: VideoFormat, now: Instant) {
        next = now
        switch policy {
        case .slate(let slate?): picture = slate
        case .slate(nil): picture = dark(format)
        case .lastPicture: picture = last.flatMap(copy) ?? picture ?? dark(format)
        }
    }

    /// Remembers a picture, as a copy, for a ``begin(_:format:now:)`` that has none.
    mutating func keep(_ last: VideoFrame?) {
        guard case .lastPicture = policy, let last, let copied = copy(last) else { return }
        picture = copied
    }

    mutating func end() {
        next = nil
        picture = nil
    }

    /// The picture, if it is due.
    mutating func due(_ now: Instant) -> VideoFrame? {
        guard let time = next, now >= time else { return nil }
        // Pictures that were missed are not made up for.
        next = max(time + interval, now)
        return picture
    }

    private func copy(_ frame: VideoFrame) -> VideoFrame? {
        let format = frame.format
        let tight = VideoFormat(
            format.pixelFormat, size: format.size, colorMatrix: format.colorMatrix, colorRange: format.colorRange,
            frameRate: format.frameRate)
        guard var target = try? pool.makeFrame(tight) else { return nil }
        frame.withUnsafePlanes { planes in
            for plane in 0..<format.planeCount {
                let stride = tight.stride(ofPlane: plane)
                target.withUnsafeMutablePlane(plane) {
                    $0.copyRows(from: planes[plane], format.layout(ofPlane: plane), stride: stride)
                }
            }
        }
        return target.finish(timestamp: frame.timestamp, rotation: frame.rotation)
    }

    /// A dark grey picture of the camera's size, in a format that the encoder takes as it is.
    private func dark(_ format: VideoFormat) -> VideoFrame? {
        let target = VideoFormat(.nv12, size: format.size, frameRate: format.frameRate)
        guard var picture = try? pool.makeFrame(target) else { return nil }
        let (grey, noColor): (UInt8, UInt8) = (40, 128)
        picture.withUnsafeMutablePlane(0) { _ = $0.initializeMemory(as: UInt8.self, repeating: grey) }
        picture.withUnsafeMutablePlane(1) { _ = $0.initializeMemory(as: UInt8.self, repeating: noColor) }
        return picture.finish(timestamp: .zero)
    }
}
