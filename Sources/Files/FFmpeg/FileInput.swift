import CEmisoraFFmpeg
import EmisoraCapture
import Glibc
import Synchronization

/// The bytes of one local file as FFmpeg reads them. FFmpeg opens nothing itself: what a file refers to stays closed.
final class FileInput: @unchecked Sendable {
    // Invariant: `position` and `io` are used by one thread at a time, the one that uses the demuxer.

    private let handle: FileHandle
    private var position = 0
    let interruption: Interruption
    private(set) var io: UnsafeMutablePointer<AVIOContext>

    private static let bufferSize = 1 << 16

    init(path: String, interruption: Interruption) throws(MediaFileError) {
        self.interruption = interruption
        do throws(CaptureError) {
            handle = try FileHandle(reading: path)
        } catch {
            if case .file(_, let code) = error { throw .cannotOpen(path: path, code: code) }
            throw .notARegularFile(path: path)
        }
        guard let buffer = av_malloc(Self.bufferSize) else { throw .outOfMemory(path: path) }
        // Its opaque pointer is set once `self` is whole.
        guard
            let context = avio_alloc_context(
                buffer.assumingMemoryBound(to: UInt8.self), Int32(Self.bufferSize), 0, nil, readBytes, nil, seekBytes)
        else {
            av_free(buffer)
            throw .outOfMemory(path: path)
        }
        io = context
        io.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        // FFmpeg may have put another buffer in the place of the first.
        av_freep(&io.pointee.buffer)
        var context: UnsafeMutablePointer<AVIOContext>? = io
        avio_context_free(&context)
    }

    fileprivate func read(_ buffer: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int32 {
        guard !interruption.hasCome else { return emisora_av_exit() }
        let done = handle.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: max(0, count)), at: position)
        position += done
        return done > 0 ? Int32(clamping: done) : emisora_av_end_of_file()
    }

    fileprivate func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
        let base: Int
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return Int64(handle.size)
        case SEEK_SET: base = 0
        case SEEK_CUR: base = position
        case SEEK_END: base = handle.size
        default: return Int64(emisora_av_invalid())
        }
        let (target, overflow) = base.addingReportingOverflow(Int(offset))
        guard !overflow, target >= 0 else { return Int64(emisora_av_invalid()) }
        position = target
        return Int64(target)
    }
}

/// Ends reads of a file that are under way, and all after it; also while the file is being opened.
final class Interruption: Sendable {
    private let flag = Atomic(false)

    var hasCome: Bool { flag.load(ordering: .relaxed) }

    func interrupt() {
        flag.store(true, ordering: .relaxed)
    }
}

// C calls these with what `opaque` points to: the input that owns the context and therefore outlives the call.

private func readBytes(
    _ opaque: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int32
) -> Int32 {
    guard let opaque, let buffer else { return emisora_av_invalid() }
    return Unmanaged<FileInput>.fromOpaque(opaque).takeUnretainedValue().read(buffer, Int(count))
}

private func seekBytes(_ opaque: UnsafeMutableRawPointer?, _ offset: Int64, _ whence: Int32) -> Int64 {
    guard let opaque else { return Int64(emisora_av_invalid()) }
    return Unmanaged<FileInput>.fromOpaque(opaque).takeUnretainedValue().seek(offset, whence)
}
