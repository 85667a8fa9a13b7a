import EmisoraCapture
import EmisoraCore

/// All that a microphone's thread asks of the outside: ALSA, or in tests a scripted device in virtual time.
protocol PCMSystem {
    var now: Instant { get }
    /// Sleeps until `deadline`; `false` as soon as capturing is to end.
    func wait(until deadline: Instant) -> Bool
    /// Opens a device for recording and starts it.
    func open(_ device: String, channels: Int) throws(MicrophoneError) -> any PCMStream
}

/// A device that records. Used by one thread; closed when it goes.
protocol PCMStream: AnyObject {
    var configuration: PCMConfiguration { get }
    /// Waits for samples; `false` if none came within `limit`.
    func wait(_ limit: Duration) throws(PCMFault) -> Bool
    func position() throws(PCMFault) -> PCMPosition
    /// Reads up to `count` samples of each channel; 0 if there are none yet.
    func read(_ count: Int, into buffer: UnsafeMutableRawBufferPointer) throws(PCMFault) -> Int
    /// Starts recording anew, after an overrun or a standstill.
    func restart() throws(PCMFault)
    /// Goes on after the machine slept; `false` if the device is not ready yet.
    func resume() throws(PCMFault) -> Bool
}

/// How a device was set up.
struct PCMConfiguration: Hashable, Sendable {
    var encoding: PCMEncoding
    var channels: Int
    var sampleRate: Int
    /// Samples of each channel that it delivers at a time.
    var periodLength: Int
    /// Samples of each channel that it holds before it runs over.
    var bufferLength: Int

    var bytesPerSample: Int { encoding.bytesPerSample * channels }
}

/// Where a device stands.
struct PCMPosition: Hashable, Sendable {
    /// When the next sample to be read was taken.
    var time: Instant
    /// How many samples of each channel can be read.
    var available: Int
}

/// What can go wrong while a device records.
enum PCMFault: Error, Hashable, Sendable {
    case overrun
    case suspended
    case unplugged
    case failed(operation: String, code: Int32)
}
