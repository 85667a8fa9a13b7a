import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Glibc
import Synchronization

/// One run of a ``FaultyCapture``: its threads.
final class FaultyRun: Sendable {
    private let fault: CaptureFault
    private let consumer: VideoCaptureConsumer
    private let threads: [MediaThread]
    private let ending = Monitor(Ending())
    private let lent: LentMemory
    private let device: DeviceMemory
    private let ownThread = Monitor<pthread_t?>(nil)
    private let isAsked = Atomic<Bool>(false)
    private let holder: Mutex<(any VideoCapture)?>

    private struct Ending: Sendable {
        /// Whether there is a thread to wait for.
        var isStarted = false
        var words = 0
        var waiting = 0
    }

    static func format(_ fault: CaptureFault) -> VideoFormat {
        fault == .ignoresStride
            ? VideoFormat(.i420, width: 160, height: 120, strides: [192, 96, 96], frameRate: FaultyCapture.rate)
            : VideoFormat(.i420, width: 160, height: 120, frameRate: FaultyCapture.rate)
    }

    init(_ fault: CaptureFault, _ consumer: VideoCaptureConsumer, holding capturer: (any VideoCapture)?) {
        self.fault = fault
        self.consumer = consumer
        threads = (0..<(fault == .twoThreads ? 2 : 1)).map { _ in MediaThread() }
        lent = LentMemory(byteCount: Self.format(fault).byteCount)
        device = DeviceMemory(byteCount: Self.format(fault).byteCount)
        holder = Mutex(capturer)
    }

    func start() throws(CaptureError) {
        ending.withLock { $0.isStarted = true }
        for (number, thread) in threads.enumerated() {
            try thread.start { [self] thread in
                ownThread.withLock { $0 = pthread_self() }
                main(thread, number)
                // The device takes a while to close, if somebody else waits for that, too.
                if fault == .acknowledgesOneStop {
                    _ = ending.wait(until: MonotonicClock.now + .milliseconds(100)) { $0.waiting > 1 ? true : nil }
                }
                ending.withLock { $0.words += 1 }
                ending.notifyAll()
                holder.withLock { $0 = nil }
            }
        }
    }

    func requestStop() {
        isAsked.store(true, ordering: .releasing)
        for thread in threads { thread.requestStop() }
    }

    func stop() {
        isAsked.store(true, ordering: .releasing)
        for thread in threads { thread.stop() }
    }

    /// Waits for the thread's last word, whoever asks.
    func stopAndWaitForWord(limit: Duration, takesIt: Bool) {
        if takesIt, ownThread.withLock({ $0 }) == pthread_self() { return requestStop() }
        ending.withLock { $0.waiting += 1 }
        ending.notifyAll()
        requestStop()
        _ = ending.wait(until: MonotonicClock.now + limit) { ending -> Bool? in
            // Stopped between the two halves of `start`, it is never begun.
            guard ending.isStarted else { return true }
            guard ending.words > 0 else { return nil }
            if takesIt { ending.words -= 1 }
            return true
        }
        ending.withLock { $0.waiting -= 1 }
    }

    private func main(_ thread: MediaThread, _ number: Int) {
        let start = MonotonicClock.now
        let rate = FaultyCapture.rate
        var index = 0
        var thinned = false
        // What is never stopped ends all the same, after the longest check.
        while MonotonicClock.now - start < .seconds(30) {
            let steps =
                switch fault {
                case .halfRate: 2 * index
                case .twoThreads: 2 * index + number
                default: index
                }
            let due = start + (fault == .doubleRate ? rate.time(ofFrame: index) / 2 : rate.time(ofFrame: steps))
            if fault == .spins {
                while MonotonicClock.now < due, !isAsked.load(ordering: .acquiring) {}
                if isAsked.load(ordering: .acquiring) { return }
            } else {
                guard thread.wait(until: due) else { return }
            }
            index += 1
            if fault == .neverDelivers { continue }
            if consumer.wants.highestFrameRate != nil { thinned = true }
            if fault == .thinsTooMuch, consumer.wants.highestFrameRate != nil, !index.isMultiple(of: 12) { continue }
            if fault == .neverRecovers, thinned, !index.isMultiple(of: 3) { continue }
            guard let frame = makeFrame(index, timestamp(index, start), thread) else { continue }
            guard !thread.isStopRequested else { return }
            consumer.consume(frame)
        }
    }

    private func timestamp(_ index: Int, _ start: Instant) -> Instant {
        let now = MonotonicClock.now
        switch fault {
        case .wallClock:
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        case .microseconds: return Instant(nanoseconds: now.nanoseconds / 1000)
        case .constantTimestamp: return start
        case .halfSpeed: return start + (now - start) / 2
        default: return now
        }
    }

    private func makeFrame(_ index: Int, _ time: Instant, _ thread: MediaThread) -> VideoFrame? {
        let format = Self.format(fault)
        let luma = UInt8(truncatingIfNeeded: index)
        switch fault {
        case .overlappingPlanes:
            let buffer = BorrowedBuffer(lent.readOnly) { [lent] in withExtendedLifetime(lent) {} }
            return try? VideoFrame(borrowing: buffer, format: format, planeOffsets: [0, 0, 0], timestamp: time)
        case .reusesMemory:
            device.write(luma)
            let buffer = BorrowedBuffer(device.readOnly) { [device] in withExtendedLifetime(device) {} }
            return try? VideoFrame(borrowing: buffer, format: format, timestamp: time)
        case .stallsWithoutBuffers:
            guard lent.take(unless: { thread.isStopRequested }) else { return nil }
            let memory = LentMemory(byteCount: format.byteCount)
            memory.fill(luma)
            let buffer = BorrowedBuffer(memory.readOnly) { [lent] in
                withExtendedLifetime(memory) { lent.giveBack() }
            }
            return try? VideoFrame(borrowing: buffer, format: format, timestamp: time)
        case .slowRelease:
            let memory = LentMemory(byteCount: format.byteCount)
            memory.fill(luma)
            let buffer = BorrowedBuffer(memory.readOnly) {
                let nobody = Monitor(memory)
                _ = nobody.wait(until: MonotonicClock.now + .milliseconds(15)) { _ -> Bool? in nil }
            }
            return try? VideoFrame(borrowing: buffer, format: format, timestamp: time)
        default:
            guard var picture = try? consumer.makeFrame(format) else {
                consumer.didDrop(.noBuffer)
                return nil
            }
            for plane in 0..<(fault == .forgetsChroma ? 1 : format.planeCount) {
                let layout = format.layout(ofPlane: plane)
                picture.withUnsafeMutablePlane(plane) { bytes in
                    let end = fault == .ignoresStride ? layout.rowBytes * layout.rows : bytes.count
                    _ = UnsafeMutableRawBufferPointer(rebasing: bytes[..<end])
                        .initializeMemory(as: UInt8.self, repeating: plane == 0 ? luma : 128)
                }
            }
            return picture.finish(timestamp: time)
        }
    }
}

/// Memory that is lent to frames, and a count of the frames that have some.
final class LentMemory: @unchecked Sendable {
    // Invariant: written only before it is lent, freed when nobody refers to it any more.

    private let bytes: UnsafeMutableRawBufferPointer
    private let inUse = Monitor(0)

    init(byteCount: Int) {
        bytes = .allocate(byteCount: byteCount, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        bytes.deallocate()
    }

    var readOnly: UnsafeRawBufferPointer { UnsafeRawBufferPointer(bytes) }

    func fill(_ byte: UInt8) {
        bytes.initializeMemory(as: UInt8.self, repeating: byte)
    }

    /// Waits until at most one of two buffers is in use.
    func take(unless isOver: () -> Bool) -> Bool {
        while !isOver() {
            let isTaken = inUse.wait(until: MonotonicClock.now + .milliseconds(20)) { count -> Bool? in
                guard count < 2 else { return nil }
                count += 1
                return true
            }
            if isTaken == true { return true }
        }
        return false
    }

    func giveBack() {
        inUse.withLock { $0 -= 1 }
        inUse.notifyAll()
    }
}

/// Memory that a device writes whenever it likes: mapped twice, since it is not this program that writes what is lent.
final class DeviceMemory: @unchecked Sendable {
    // Invariant: one mapping is only read, the other only written; both stay until nobody refers to this object.

    private let read: UnsafeMutableRawPointer
    private let written: UnsafeMutableRawPointer
    private let byteCount: Int

    init(byteCount: Int) {
        self.byteCount = byteCount
        var name = Array("/tmp/emisora-device-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        precondition(descriptor >= 0, "no file to map in /tmp")
        defer { close(descriptor) }
        unlink(name)
        precondition(ftruncate(descriptor, byteCount) == 0, "no room for \(byteCount) bytes in /tmp")
        guard let read = mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0), read != MAP_FAILED,
            let written = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            written != MAP_FAILED
        else { preconditionFailure("cannot map \(byteCount) bytes") }
        self.read = read
        self.written = written
    }

    deinit {
        munmap(read, byteCount)
        munmap(written, byteCount)
    }

    var readOnly: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: read, count: byteCount) }

    func write(_ byte: UInt8) {
        memset(written, Int32(byte), byteCount)
    }
}
