import EmisoraCapture
import EmisoraCore
import EmisoraVideo

extension Bench where Subject == VideoSubject {
    /// ``ConformanceCheck/pixels``: two runs whose pool memory holds different bytes before; what shows them in both was
    /// not written.
    func checkPixels() throws(Verdict) {
        let fills: [UInt8] = [0x35, 0xCA]
        var pictures: [VideoFrame] = []
        for fill in fills {
            let tap = FrameTap(clock: options.clock, keeping: 1)
            let consumer = VideoSubject.makeConsumer(tap, poolFill: fill)
            try start(into: consumer)
            do throws(Verdict) {
                try waitForFrames(1, tap)
            } catch {
                try? stop()
                throw error
            }
            try stop()
            pictures += tap.kept.prefix(1)
        }
        guard pictures.count == 2, pictures[0].format == pictures[1].format else { return }
        let format = pictures[0].format
        for plane in 0..<format.planeCount {
            let layout = format.layout(ofPlane: plane)
            let untouched = pictures[0].withUnsafePlanes { first in
                pictures[1].withUnsafePlanes { second in
                    var count = 0
                    for row in 0..<layout.rows {
                        for index in row * layout.stride..<row * layout.stride + layout.rowBytes
                        where first[plane][index] == fills[0] && second[plane][index] == fills[1] {
                            count += 1
                        }
                    }
                    return count
                }
            }
            let total = max(1, layout.rowBytes * layout.rows)
            // Noise has either byte by chance now and then.
            guard untouched * 100 <= total else {
                throw .failed(
                    "\(untouched * 100 / total) % of plane \(plane) (\(format.pixelFormat), \(format.size)) are not written, "
                        + "so that earlier pictures show through: write every row, as far as layout(ofPlane:) says, of all "
                        + "\(format.planeCount) planes")
            }
        }
    }

    /// ``ConformanceCheck/heldFrames``: as a slow encoder and the mailbox do, two frames are kept while others come.
    func checkHeldFrames() throws(Verdict) {
        let tap = FrameTap(clock: options.clock, keeping: 2)
        let consumer = VideoSubject.makeConsumer(tap, poolFill: 0)
        try start(into: consumer)
        let wanted = options.isSourceStatic ? 1 : 2
        do throws(Verdict) {
            try waitForFrames(wanted, tap)
        } catch {
            try? stop()
            throw error
        }
        let kept = tap.kept
        tap.letGoOfKept()
        let prints = kept.map(\.fingerprint)
        if !options.isSourceStatic {
            // What the capturer counts as dropped or lost is a way to go on as well.
            let before = progress(consumer)
            guard patience.until({ progress(consumer) >= before + 12 }) else {
                try? stop()
                throw .failed(
                    "no more frames come while two are in use: keep more buffers, copy when they run out, or count the "
                        + "frame with didDrop(.noBuffer) and go on")
            }
        }
        func check(_ moment: String) throws(Verdict) {
            guard kept.map(\.fingerprint) == prints else {
                throw .failed(
                    "the content of a frame changes \(moment): its memory is not to be written to before the frame has been "
                        + "released")
            }
        }
        do throws(Verdict) {
            try check("while it is in use")
        } catch {
            try? stop()
            throw error
        }
        try stop {
            .failed(
                "while frames are in use, \($0): memory is to stay until the last frame is let go of, but stop() not to wait for that"
            )
        }
        try check("after stop()")
    }

    private func progress(_ consumer: VideoCaptureConsumer) -> Int {
        let ledger = consumer.ledger
        return ledger.captured + ledger.lostByDriver
    }
}
