import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Foundation
import Synchronization

/// Makes films with the ffmpeg program in a folder of its own, which goes with the object.
final class Studio: Sendable {
    let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "emisora-films-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs ffmpeg; the last argument names the file, whose path is returned.
    @discardableResult
    func make(_ name: String, _ arguments: String...) throws -> String {
        let path = folder + "/" + name
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["ffmpeg", "-nostdin", "-v", "error", "-y"]
            + arguments.flatMap { $0.split(separator: " ").map(String.init) } + [path]
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let text = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "ffmpeg could not make \(name): \(String(decoding: text, as: UTF8.self))")
        }
        return path
    }

    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = folder + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }
}

/// A sharp picture with motion and a running number.
let pattern = "-f lavfi -i testsrc2=s=160x120:r=25:d=0.8"
let tone = "-f lavfi -i sine=f=1000:r=44100:d=0.8"
/// A white picture and a click of 10 ms, both 0.48 s after the beginning.
let flash =
    "-f lavfi -i color=black:s=160x120:r=25:d=1,geq=lum='if(between(T,0.47,0.49),235,16)':cb=128:cr=128"
let click =
    "-f lavfi -i aevalsrc=exprs='if(between(t,0.48,0.49),0.9*sin(2*PI*2000*t),0)':s=44100:d=1"

func h264(_ rest: String = "") -> String { "-c:v libx264 -preset ultrafast -pix_fmt yuv420p \(rest)" }
func vp8(_ rest: String = "") -> String { "-c:v libvpx -b:v 2M -deadline realtime -cpu-used 5 \(rest)" }

/// Takes every frame a consumer gets, as an encoder would, on a thread of its own.
final class Collector: Sendable {
    let videoConsumer = VideoCaptureConsumer(poolLimit: 64)
    let audioConsumer = AudioCaptureConsumer(queueLimit: 64)
    private let videoThread = MediaThread()
    private let audioThread = MediaThread()
    private let taken = Mutex<(pictures: [VideoFrame], sounds: [AudioFrame])>(([], []))
    private let keepsPictures: Bool

    /// - Parameter keepsPictures: Otherwise only the last few, since a decoder lends no more than some.
    init(keepsPictures: Bool = true) throws {
        self.keepsPictures = keepsPictures
        videoConsumer.open()
        videoConsumer.setHasSubscribers(true)
        audioConsumer.open()
        audioConsumer.setHasSubscribers(true)
        try videoThread.start { [self] thread in
            let pool = VideoFramePool(limit: 4096)
            while !thread.isStopRequested {
                guard let next = videoConsumer.waitForLatest(until: MonotonicClock.now + .milliseconds(20)) else {
                    continue
                }
                let frame = next.frame
                next.encoded()
                // A copy, so that the decoder gets its memory back.
                if let copy = try? frame.copied(from: pool) { taken.withLock { $0.pictures.append(copy) } }
            }
        }
        try audioThread.start { [self] thread in
            while !thread.isStopRequested {
                guard let next = audioConsumer.waitForNext(until: MonotonicClock.now + .milliseconds(20)) else {
                    continue
                }
                taken.withLock { $0.sounds.append(next.frame) }
                next.encoded()
            }
        }
    }

    func stop() {
        videoThread.stop()
        audioThread.stop()
    }

    var pictures: [VideoFrame] { taken.withLock { $0.pictures } }
    var sounds: [AudioFrame] { taken.withLock { $0.sounds } }

    /// Samples of one channel, in order.
    var samples: [Int16] {
        sounds.flatMap { frame in
            guard case .int16(let samples) = frame.samples else { return [Int16]() }
            return stride(from: 0, to: samples.count, by: frame.format.channels).map { samples[$0] }
        }
    }
}

extension VideoFrame {
    /// The same picture on memory of the pool, rows without padding.
    func copied(from pool: VideoFramePool) throws -> VideoFrame {
        let tight = VideoFormat(
            format.pixelFormat, width: width, height: height, colorMatrix: format.colorMatrix,
            colorRange: format.colorRange, frameRate: format.frameRate)
        var copy = try pool.makeFrame(tight)
        for plane in 0..<planeCount {
            let (from, to) = (format.layout(ofPlane: plane), tight.layout(ofPlane: plane))
            withUnsafePlanes { planes in
                copy.withUnsafeMutablePlane(plane) { target in
                    for row in 0..<from.rows {
                        let source = UnsafeRawBufferPointer(
                            rebasing: planes[plane][(row * from.stride)..<(row * from.stride + from.rowBytes)])
                        target.baseAddress?.advanced(by: row * to.stride).copyMemory(
                            from: source.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!, byteCount: source.count)
                    }
                }
            }
        }
        return copy.finish(timestamp: timestamp, rotation: rotation, metadata: metadata)
    }

    /// All planes one after the other, rows without padding.
    var packedBytes: [UInt8] {
        var bytes: [UInt8] = []
        withUnsafePlanes { planes in
            for plane in 0..<planeCount {
                let layout = format.layout(ofPlane: plane)
                for row in 0..<layout.rows {
                    bytes += planes[plane][(row * layout.stride)..<(row * layout.stride + layout.rowBytes)]
                }
            }
        }
        return bytes
    }

    /// The mean of the first plane.
    var meanLuma: Double {
        withUnsafePlanes { planes in
            let layout = format.layout(ofPlane: 0)
            var sum = 0
            for row in 0..<layout.rows {
                for column in 0..<layout.rowBytes { sum += Int(planes[0][row * layout.stride + column]) }
            }
            return Double(sum) / Double(layout.rows * layout.rowBytes)
        }
    }
}

/// Peak signal-to-noise ratio of two runs of bytes, in dB.
func psnr(_ first: ArraySlice<UInt8>, _ second: [UInt8]) -> Double {
    guard first.count == second.count, !second.isEmpty else { return 0 }
    var sum = 0
    for (a, b) in zip(first, second) { sum += (Int(a) - Int(b)) * (Int(a) - Int(b)) }
    return sum == 0 ? .infinity : 10 * log10(255 * 255 * Double(second.count) / Double(sum))
}

/// Waits until `condition` holds; `false` if it does not within `limit`.
func eventually(within limit: Duration = .seconds(20), _ condition: () -> Bool) async -> Bool {
    let deadline = MonotonicClock.now + limit
    while !condition() {
        if MonotonicClock.now > deadline { return false }
        try? await Task.sleep(nanoseconds: 2_000_000)
    }
    return true
}
