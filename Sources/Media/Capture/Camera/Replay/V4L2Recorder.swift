import EmisoraCore
import Synchronization

/// Stands in front of another system and writes down what passes, so that a camera's bug can be replayed elsewhere.
package final class V4L2Recorder: V4L2System {
    private let system: any V4L2System
    private let log: Log

    /// Where lines go; one writer for all devices.
    fileprivate final class Log: Sendable {
        let withPixels: Bool
        private let system: any V4L2System
        private let write: @Sendable (String) -> Void
        private let devices = Atomic<Int>(0)

        init(_ system: any V4L2System, withPixels: Bool, write: @escaping @Sendable (String) -> Void) {
            self.system = system
            self.withPixels = withPixels
            self.write = write
        }

        func nextDevice() -> Int { devices.add(1, ordering: .relaxed).oldValue }

        func put(_ entry: V4L2Recording.Entry) {
            write(V4L2Recording.Line(time: system.now, entry: entry).text + "\n")
        }
    }

    /// - Parameters:
    ///   - withPixels: Also writes down the bytes of every picture: large.
    ///   - write: Gets line by line, on whatever thread, also several at a time.
    package init(_ system: any V4L2System, withPixels: Bool, write: @escaping @Sendable (String) -> Void) {
        self.system = system
        log = Log(system, withPixels: withPixels, write: write)
        write(V4L2Recording.magic + "\n")
    }

    /// Writes to a file, which is created or emptied. What cannot be written is lost silently: the camera matters more.
    package convenience init(_ system: any V4L2System, withPixels: Bool, path: String) throws(CaptureError) {
        let file = try FileHandle(writing: path)
        let lock = Mutex(())
        self.init(system, withPixels: withPixels) { line in lock.withLock { _ in _ = file.write(Array(line.utf8)) } }
    }

    package var now: Instant { system.now }

    package func nodes() -> [String] {
        let nodes = system.nodes()
        log.put(.nodes(nodes))
        return nodes
    }

    package func access(to path: String) -> V4L2Access? { system.access(to: path) }

    package func makePoller() throws(V4L2Error) -> any V4L2Poller {
        RecordingPoller(try system.makePoller())
    }

    package func open(_ path: String, converting: Bool) throws(V4L2Error) -> any V4L2Device {
        let number = log.nextDevice()
        do throws(V4L2Error) {
            let device = try system.open(path, converting: converting)
            log.put(.open(device: number, path: path, converting: converting, error: nil))
            return RecordingDevice(device, number, log)
        } catch {
            log.put(.open(device: number, path: path, converting: converting, error: error.code))
            throw error
        }
    }
}

private final class RecordingDevice: V4L2Device {
    let device: any V4L2Device
    private let number: Int
    private let log: V4L2Recorder.Log
    private let memory = Mutex(Memory())

    /// Which memory belongs to which buffer. Weak, so that the recorder keeps nothing mapped.
    private struct Memory: Sendable {
        struct Plane: Sendable {
            weak var mapping: V4L2Mapping?
        }

        var offsets: [Int64: (buffer: UInt32, plane: Int)] = [:]
        var planes: [UInt32: [Int: Plane]] = [:]
    }

    init(_ device: any V4L2Device, _ number: Int, _ log: V4L2Recorder.Log) {
        self.device = device
        self.number = number
        self.log = log
    }

    func perform(_ request: V4L2Request) throws(V4L2Error) -> V4L2Answer {
        do throws(V4L2Error) {
            let answer = try device.perform(request)
            log.put(.request(device: number, request, .answer(answer)))
            if log.withPixels, case .buffer(let buffer) = answer { note(buffer, request) }
            return answer
        } catch {
            // Nothing to fetch is the rule, not worth a line.
            if !error.isAgain { log.put(.request(device: number, request, .error(error.code))) }
            throw error
        }
    }

    private func note(_ buffer: V4L2Buffer, _ request: V4L2Request) {
        switch request {
        case .queryBuffer:
            memory.withLock { memory in
                for plane in 0..<buffer.planes.count {
                    memory.offsets[Int64(buffer.planes[plane].memoryOffset)] = (buffer.index, plane)
                }
            }
        case .dequeueBuffer:
            for plane in 0..<buffer.planes.count {
                let mapping = memory.withLock { $0.planes[buffer.index]?[plane]?.mapping }
                guard let mapping else { continue }
                let used = min(Int(buffer.planes[plane].bytesUsed), mapping.bytes.count)
                log.put(
                    .pixels(device: number, buffer: buffer.index, plane: plane, Array(mapping.bytes[..<used])))
            }
        default: break
        }
    }

    func map(length: Int, offset: Int64) throws(V4L2Error) -> V4L2Mapping {
        do throws(V4L2Error) {
            let mapping = try device.map(length: length, offset: offset)
            log.put(.map(device: number, length: length, offset: offset, error: nil))
            memory.withLock { memory in
                guard let (buffer, plane) = memory.offsets[offset] else { return }
                memory.planes[buffer, default: [:]][plane] = Memory.Plane(mapping: mapping)
            }
            return mapping
        } catch {
            log.put(.map(device: number, length: length, offset: offset, error: error.code))
            throw error
        }
    }

    func close() {
        log.put(.close(device: number))
        device.close()
    }
}

/// Waits on the device that is recorded.
private final class RecordingPoller: V4L2Poller {
    private let poller: any V4L2Poller

    init(_ poller: any V4L2Poller) {
        self.poller = poller
    }

    func wake() {
        poller.wake()
    }

    func wait(for device: (any V4L2Device)?, until deadline: Instant) -> V4L2Readiness {
        poller.wait(for: device.map { ($0 as? RecordingDevice)?.device ?? $0 }, until: deadline)
    }
}
