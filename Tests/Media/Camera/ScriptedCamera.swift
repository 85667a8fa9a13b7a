import Glibc

@testable import EmisoraCapture

/// A camera as ``ScriptedV4L2`` plays it: what it offers, what its pictures are like, what goes wrong.
struct ScriptedCamera: Sendable {
    var card = "Scripted camera"
    var busInfo = "usb-1.2"
    var type = V4L2BufferType.videoCapture
    /// Pixel format, size, and seconds for each frame.
    var modes: [(format: FourCC, width: UInt32, height: UInt32, interval: V4L2Fraction)] = [
        (.nv12, 64, 48, V4L2Fraction(1, 30))
    ]
    /// Added to the bytes of a row.
    var padding: UInt32 = 0
    var colorspace: UInt32 = 8
    var ycbcrEncoding: UInt32 = 0
    var quantization: UInt32 = 0
    /// Overrides what is answered to S_PARM, and paces the frames.
    var realInterval: V4L2Fraction?
    /// The most buffers that it gives.
    var mostBuffers: UInt32 = 32

    /// Changes a frame's description before it is handed over; answers false if the driver loses the frame.
    var onFrame: (@Sendable (_ number: Int, _ buffer: inout V4L2Buffer) -> Bool)?
    /// The bytes of a compressed picture.
    var payload: (@Sendable (_ number: Int) -> [UInt8])?
    /// Frames come only while this holds.
    var isDelivering = true
    /// The next requests of a name that fail, with their error.
    var faults: [String: [Int32]] = [:]
    /// Every dequeuing fails so until the camera is opened anew.
    var fatal: Int32?
    /// Readable although nothing is there.
    var isStorming = false
    /// Calls for an event although there is none.
    var isStormingWithEvents = false
    /// Opening fails so.
    var openError: Int32?
    /// Events that wait.
    var events: [V4L2Event] = []

    func fits(_ wanted: V4L2Format) -> Int {
        modes.firstIndex {
            $0.format.rawValue == wanted.pixelFormat && $0.width == wanted.width && $0.height == wanted.height
        } ?? 0
    }

    /// What the driver makes of a wish.
    func format(mode index: Int) -> V4L2Format {
        let mode = modes[index]
        var format = V4L2Format(
            type: type, width: mode.width, height: mode.height, pixelFormat: mode.format.rawValue)
        format.colorspace = colorspace
        format.ycbcrEncoding = ycbcrEncoding
        format.quantization = quantization
        let (line, height) = (mode.width + padding, mode.height)
        switch mode.format {
        case .nv12, .yu12:
            format.planes = V4L2Planes(
                repeating: V4L2PlaneFormat(bytesPerLine: line, sizeImage: line * height * 3 / 2), count: 1)
        case .nv12Multiplanar:
            format.planes = V4L2Planes(
                repeating: V4L2PlaneFormat(bytesPerLine: line, sizeImage: line * height), count: 2)
            format.planes[1].sizeImage = line * height / 2
        case .mjpeg:
            format.planes = V4L2Planes(
                repeating: V4L2PlaneFormat(bytesPerLine: 0, sizeImage: mode.width * height * 2 + 4096), count: 1)
        default:
            format.planes = V4L2Planes(
                repeating: V4L2PlaneFormat(
                    bytesPerLine: 2 * mode.width + padding, sizeImage: (2 * mode.width + padding) * height),
                count: 1)
        }
        return format
    }
}
