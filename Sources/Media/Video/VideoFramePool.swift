import EmisoraCore
import Synchronization

/// Memory for pictures that is used again and again: after warm-up making a frame allocates nothing.
///
/// Safe from any thread. A buffer is free again when the last frame on it is gone; one beyond `capacity` buffers is
/// allocated for that frame alone.
public final class VideoFramePool: Sendable {
    private struct State {
        var buffers: [VideoBuffer] = []
        var format: VideoFormat?
        var offsets: [Int] = []
        var byteCount = 0
    }

    private let capacity: Int
    private let state: Mutex<State>

    public init(capacity: Int = 8) {
        self.capacity = max(1, capacity)
        state = Mutex(State())
    }

    /// A frame of that format to write into; its bytes hold whatever an earlier picture left.
    public func makeFrame(_ format: VideoFormat) -> MutableVideoFrame {
        let (buffer, offsets) = state.withLock { state in
            if state.format != format {
                state.format = format
                state.offsets = format.planeOffsets
                if state.byteCount != format.byteCount {
                    state.byteCount = format.byteCount
                    state.buffers.removeAll()
                }
            }
            for index in state.buffers.indices where isKnownUniquelyReferenced(&state.buffers[index]) {
                return (state.buffers[index], state.offsets)
            }
            let buffer = VideoBuffer(byteCount: state.byteCount)
            if state.buffers.count < capacity { state.buffers.append(buffer) }
            return (buffer, state.offsets)
        }
        return MutableVideoFrame(buffer: buffer, format: format, offsets: offsets)
    }
}
