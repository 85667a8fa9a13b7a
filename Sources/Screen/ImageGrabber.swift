import CEmisoraXCB
import EmisoraCapture
import EmisoraCore
import EmisoraVideo

/// Where a picture is taken from.
struct GrabArea: Equatable {
    /// The root window, or a window's pixmap.
    var drawable: UInt32
    /// Of the picture's top left corner in the drawable.
    var x: Int16
    var y: Int16
    /// In pixels.
    var width: Int
    var height: Int
    var layout: PixelLayout
}

/// Why there is no picture this time.
enum GrabFailure: Error {
    /// All memory is still held by frames.
    case noBuffer
    case server(XFailure)
    case picture(VideoFrameError)
}

/// Gets pictures out of the X server: into shared memory that frames then lie on, or over the connection where server
/// and program share none.
final class ImageGrabber {
    /// Draws on a picture's bytes.
    typealias Overlay = (UnsafeMutableRawBufferPointer, VideoFormat) -> Void

    private let x: XConnection
    private let frameRate: FrameRate
    private let consumer: VideoCaptureConsumer
    private(set) var usesSharedMemory: Bool
    private var ring: SegmentRing?
    private var table: (packing: PixelLayout.Packing, entries: [UInt32])?

    init(_ x: XConnection, frameRate: FrameRate, consumer: VideoCaptureConsumer) {
        self.x = x
        self.frameRate = frameRate
        self.consumer = consumer
        usesSharedMemory = x.isLocalSocket && Self.hasSharedMemory(x)
    }

    /// Segments that the server makes and passes as descriptors came with version 1.2.
    private static func hasSharedMemory(_ x: XConnection) -> Bool {
        guard let found = emisora_xcb_shm(x.handle), found.pointee.present != 0 else { return false }
        let cookie = xcb_shm_query_version(x.handle)
        guard let version = try? x.reply({ xcb_shm_query_version_reply($0, cookie, $1) }) else { return false }
        return (version.value.major_version, version.value.minor_version) >= (1, 2)
    }

    /// The picture of `area` as it is when the server gets to it.
    ///
    /// - Parameter now: Its timestamp.
    func grab(_ area: GrabArea, at now: Instant, overlay: Overlay) throws(GrabFailure) -> VideoFrame {
        let byteCount = area.layout.stride(width: area.width) * area.height
        if usesSharedMemory {
            if let ring = try sharedRing(byteCount: byteCount) {
                return try grabShared(area, through: ring, at: now, overlay)
            }
            // A server that cannot make segments may still send pictures.
            usesSharedMemory = false
        }
        let cookie = xcb_get_image(
            x.handle, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), area.drawable, area.x, area.y,
            UInt16(clamping: area.width), UInt16(clamping: area.height), .max)
        let reply = try server { () throws(XFailure) in try x.reply { xcb_get_image_reply($0, cookie, $1) } }
        return try reply.withPayload { payload throws(GrabFailure) in
            guard payload.count >= byteCount else { throw .server(.refused(code: Int(XCB_LENGTH))) }
            return try copied(area, from: payload, at: now, overlay)
        }
    }

    /// The ring for images of that size; `nil` if the server refuses to make even one segment.
    private func sharedRing(byteCount: Int) throws(GrabFailure) -> SegmentRing? {
        if let ring, ring.byteCount == byteCount { return ring }
        let ring = SegmentRing(x, byteCount: byteCount)
        do throws(XFailure) {
            if let index = try ring.take() { ring.giveBack(index) }
        } catch .connectionLost {
            throw .server(.connectionLost)
        } catch {
            return nil
        }
        self.ring = ring
        return ring
    }

    private func grabShared(
        _ area: GrabArea, through ring: SegmentRing, at now: Instant, _ overlay: Overlay
    ) throws(GrabFailure) -> VideoFrame {
        guard let index = try server({ () throws(XFailure) in try ring.take() }) else { throw .noBuffer }
        let segment = ring.segment(index)
        do throws(GrabFailure) {
            let cookie = xcb_shm_get_image(
                x.handle, area.drawable, area.x, area.y, UInt16(clamping: area.width), UInt16(clamping: area.height),
                .max, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), segment.id, 0)
            _ = try server { () throws(XFailure) in try x.reply { xcb_shm_get_image_reply($0, cookie, $1) } }
        } catch {
            ring.giveBack(index)
            throw error
        }
        guard case .direct = area.layout.packing else {
            defer { ring.giveBack(index) }
            return try copied(area, from: UnsafeRawBufferPointer(segment.bytes), at: now, overlay)
        }
        let format = area.layout.formatInPlace(width: area.width, height: area.height, frameRate: frameRate)
        overlay(segment.bytes, format)
        return try picture { () throws(VideoFrameError) in
            try VideoFrame(borrowing: ring.buffer(index), format: format, timestamp: now)
        }
    }

    /// A frame of the consumer's with the image's pixels.
    private func copied(
        _ area: GrabArea, from image: UnsafeRawBufferPointer, at now: Instant, _ overlay: Overlay
    ) throws(GrabFailure) -> VideoFrame {
        let format = area.layout.format(width: area.width, height: area.height, frameRate: frameRate)
        let layout = format.layout(ofPlane: 0)
        let stride = area.layout.stride(width: area.width)
        let table = colorTable(of: area.layout.packing)
        var result = try picture { () throws(VideoFrameError) in try consumer.makeFrame(format) }
        result.withUnsafeMutablePlane(0) { bytes in
            for row in 0..<layout.rows {
                let from = UnsafeRawBufferPointer(rebasing: image[row * stride..<(row + 1) * stride])
                let target = row * layout.stride
                let to = UnsafeMutableRawBufferPointer(rebasing: bytes[target..<target + layout.rowBytes])
                if table.isEmpty {
                    to.copyMemory(from: UnsafeRawBufferPointer(rebasing: from[..<layout.rowBytes]))
                } else {
                    Self.lookUp(from, table, to)
                }
            }
            overlay(bytes, format)
        }
        return result.finish(timestamp: now)
    }

    private static func lookUp(_ from: UnsafeRawBufferPointer, _ table: [UInt32], _ to: UnsafeMutableRawBufferPointer) {
        for column in 0..<to.count / 4 {
            let pixel = from.loadUnaligned(fromByteOffset: 2 * column, as: UInt16.self).littleEndian
            to.storeBytes(of: table[Int(pixel)].littleEndian, toByteOffset: 4 * column, as: UInt32.self)
        }
    }

    /// Empty for pixels that need none.
    private func colorTable(of packing: PixelLayout.Packing) -> [UInt32] {
        guard case .table(let masks, let isBigEndian) = packing else { return [] }
        if let table, table.packing == packing { return table.entries }
        let entries = masks.bgraTable(isBigEndian: isBigEndian)
        table = (packing, entries)
        return entries
    }

    private func server<Result: ~Copyable>(
        _ body: () throws(XFailure) -> Result
    ) throws(GrabFailure) -> Result {
        do throws(XFailure) { return try body() } catch { throw .server(error) }
    }

    private func picture<Result: ~Copyable>(
        _ body: () throws(VideoFrameError) -> Result
    ) throws(GrabFailure) -> Result {
        do throws(VideoFrameError) {
            return try body()
        } catch .poolExhausted {
            throw .noBuffer
        } catch {
            throw .picture(error)
        }
    }
}
