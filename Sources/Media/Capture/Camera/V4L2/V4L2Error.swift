import Glibc

/// The system refused a request to a video device.
package struct V4L2Error: Error, Hashable, Sendable {
    /// The system call or request, such as `open` or `VIDIOC_STREAMON`.
    package let operation: String
    /// The system's `errno`.
    package let code: Int32

    package init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The driver has no memory for what it was asked.
    package static let outOfMemory = ENOMEM
    /// The USB bus cannot carry another stream.
    package static let noRoomOnBus = ENOSPC
    /// The driver's answer contradicts what it said before.
    package static let protocolViolation = EPROTO

    /// There is nothing to fetch now.
    package var isAgain: Bool { code == EAGAIN }
    /// The device is not there any more.
    package var isGone: Bool { code == ENODEV || code == ENXIO || code == ENOENT || code == EBADF }
    /// The driver does not know the request, or the enumeration is over.
    package var isUnsupported: Bool { code == ENOTTY || code == EINVAL }
}

extension V4L2Error: CustomStringConvertible {
    package var description: String { "\(operation): \(String(cString: strerror(code)))" }
}
