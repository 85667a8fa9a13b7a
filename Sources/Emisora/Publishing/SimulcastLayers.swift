import EmisoraCodecs
import EmisoraCore
import EmisoraProcessing
import EmisoraVideo
import Synchronization

/// The encodings of a publisher beside the one that all share: each picture is scaled and encoded once for each of them
/// that somebody takes, on the encoder thread.
final class SimulcastLayers: Sendable {
    struct Counters {
        var framesEncoded: UInt64 = 0
        var bytesEncoded: UInt64 = 0
        var frameWidth = 0
        var frameHeight = 0
    }

    private struct Control {
        /// `nil`: nobody takes it.
        var bitrate: DataRate?
        var isKeyFrameWanted = false
        var counters = Counters()
    }

    let encodings: [VideoEncoding]
    private let controls: Mutex<[Int: Control]>
    private let queues: [Int: EncodedQueue<EncodedVideoFrame>]

    /// - Parameters:
    ///   - main: the encoding that is made elsewhere.
    ///   - capacity: how many pictures of an encoding may wait for the network thread.
    init(_ encodings: [VideoEncoding], main: Int, capacity: Int) {
        self.encodings = encodings
        let numbers = encodings.indices.filter { $0 != main }
        controls = Mutex(Dictionary(uniqueKeysWithValues: numbers.map { ($0, Control()) }))
        queues = Dictionary(uniqueKeysWithValues: numbers.map { ($0, EncodedQueue(capacity: capacity)) })
    }

    /// What each encoding aims at; those that are left out rest.
    func setBitrates(_ bitrates: [Int: DataRate]) {
        controls.withLock { controls in
            for number in controls.keys { controls[number]?.bitrate = bitrates[number] }
        }
    }

    func requestKeyFrame(_ encoding: Int) {
        controls.withLock { $0[encoding]?.isKeyFrameWanted = true }
    }

    func requestKeyFrames() {
        controls.withLock { controls in
            for number in controls.keys { controls[number]?.isKeyFrameWanted = true }
        }
    }

    func takeAll(_ encoding: Int) -> [EncodedVideoFrame] { queues[encoding]?.takeAll() ?? [] }

    func statistics(_ encoding: Int) -> Counters? { controls.withLock { $0[encoding]?.counters } }

    func bitrate(_ encoding: Int) -> DataRate? { controls.withLock { $0[encoding]?.bitrate } }

    // MARK: On the encoder thread

    /// Encoders, and what scales for them: each has memory for pictures of its own size. Confined to the encoder thread.
    final class Encoders {
        fileprivate var encoders: [Int: (encoder: VP8Encoder, scaler: VideoConverter)] = [:]
        fileprivate let unpacker = VideoConverter()
    }

    /// Encodes a picture in all sizes that are taken, and answers whether there was one.
    ///
    /// - Returns: what went wrong, for a person, besides.
    func encode(
        _ picture: VideoFrame, _ settings: VideoPipeline.Settings, with encoders: Encoders
    ) -> (hasEncoded: Bool, failure: String?) {
        let taken = controls.withLock { $0.filter { $0.value.bitrate != nil } }
        // Who is not taken any more gives its memory back.
        encoders.encoders = encoders.encoders.filter { taken[$0.key] != nil }
        guard !taken.isEmpty else { return (false, nil) }
        var hasEncoded = false
        var failure: String?
        do {
            let source = try encoders.unpacker.i420(picture)
            for (number, control) in taken.sorted(by: { $0.key < $1.key }) {
                do {
                    if try encode(source, number, control, settings, with: encoders) { hasEncoded = true }
                } catch {
                    failure = "\(error)"
                    // An encoder that failed is made anew.
                    encoders.encoders[number] = nil
                }
            }
        } catch {
            failure = error.description
        }
        return (hasEncoded, failure)
    }

    private func encode(
        _ source: VideoFrame, _ number: Int, _ control: Control, _ settings: VideoPipeline.Settings,
        with encoders: Encoders
    ) throws -> Bool {
        guard let bitrate = control.bitrate else { return false }
        let size = encodings[number].size(width: source.width, height: source.height)
        let scaler = encoders.encoders[number]?.scaler ?? VideoConverter()
        let picture = try scaler.scale(source, width: size.width, height: size.height)
        let encoder: VP8Encoder
        if let known = encoders.encoders[number]?.encoder,
            known.configuration.contentHint == settings.contentHint
        {
            encoder = known
        } else {
            encoder = try VP8Encoder(
                VP8Encoder.Configuration(
                    width: size.width, height: size.height, targetBitrate: bitrate,
                    maximumFramesPerSecond: settings.framesPerSecond, contentHint: settings.contentHint))
            encoders.encoders[number] = (encoder, scaler)
        }
        try encoder.setTargetBitrate(bitrate)
        encoder.setMaximumFramesPerSecond(settings.framesPerSecond)
        let forceKeyFrame = controls.withLock { controls in
            defer { controls[number]?.isKeyFrameWanted = false }
            return controls[number]?.isKeyFrameWanted == true
        }
        guard let encoded = try encoder.encode(picture, forceKeyFrame: forceKeyFrame) else {
            if forceKeyFrame { requestKeyFrame(number) }
            return false
        }
        controls.withLock { controls in
            controls[number]?.counters.framesEncoded += 1
            controls[number]?.counters.bytesEncoded += UInt64(encoded.payload.count)
            controls[number]?.counters.frameWidth = encoded.width
            controls[number]?.counters.frameHeight = encoded.height
        }
        if case .overflowed? = queues[number]?.push(encoded) { requestKeyFrame(number) }
        return true
    }
}
