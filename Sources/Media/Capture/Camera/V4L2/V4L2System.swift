import EmisoraCore

/// The border to Video4Linux: everything a camera does to the outside goes through these four protocols, so that a
/// scripted fake, a recorder and a replayer fit behind them. No C type crosses it.
package protocol V4L2System: Sendable {
    /// The clock that buffers are stamped with and deadlines are on.
    var now: Instant { get }

    /// Opens a node for reading and writing, non-blocking.
    ///
    /// - Parameter converting: Puts libv4l's conversion in between, for cameras that have only exotic formats.
    func open(_ path: String, converting: Bool) throws(V4L2Error) -> any V4L2Device

    /// The paths of all video nodes that exist, by number.
    func nodes() -> [String]

    /// Who may use a node and who does; `nil` if it does not exist.
    func access(to path: String) -> V4L2Access?

    /// What a capturer's thread waits on.
    func makePoller() throws(V4L2Error) -> any V4L2Poller
}

/// An open node. Methods may be called from any thread; the kernel orders them.
package protocol V4L2Device: AnyObject, Sendable {
    /// One request, as ``V4L2Request`` describes it. Never blocks for a frame: `EAGAIN` then.
    func perform(_ request: V4L2Request) throws(V4L2Error) -> V4L2Answer

    /// Maps a buffer's plane, which stays mapped for as long as the result lives, also after ``close()``.
    func map(length: Int, offset: Int64) throws(V4L2Error) -> V4L2Mapping

    /// Closes the node; also done when the object goes. Later requests fail with `EBADF`.
    func close()
}

/// What a thread waits on: a device, a wake-up from another thread, nodes that come and go.
package protocol V4L2Poller: AnyObject, Sendable {
    /// Returns when the device has something to be fetched, another thread called ``wake()``, a node came, went or got
    /// other rights, or at `deadline`. Without a device it waits for the rest.
    func wait(for device: (any V4L2Device)?, until deadline: Instant) -> V4L2Readiness

    /// Ends the present or the next wait. Any thread.
    func wake()
}

/// Why a wait ended; empty at its deadline.
package struct V4L2Readiness: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A buffer can be dequeued.
    package static let frame = V4L2Readiness(rawValue: 1)
    /// An event can be dequeued.
    package static let event = V4L2Readiness(rawValue: 2)
    /// The device is in error or gone.
    package static let failure = V4L2Readiness(rawValue: 4)
    package static let woken = V4L2Readiness(rawValue: 8)
    /// A node came, went or got other rights.
    package static let nodesChanged = V4L2Readiness(rawValue: 16)
}

/// Mapped memory; unmapped when the object goes.
package final class V4L2Mapping: @unchecked Sendable {
    // Invariant: `bytes` stay mapped until `deinit`; the driver alone writes them, while it has the buffer.

    package let bytes: UnsafeRawBufferPointer
    private let unmap: @Sendable () -> Void

    package init(_ bytes: UnsafeRawBufferPointer, unmap: @escaping @Sendable () -> Void) {
        self.bytes = bytes
        self.unmap = unmap
    }

    deinit {
        unmap()
    }
}

/// Who may use a node, and who does.
package struct V4L2Access: Hashable, Sendable {
    /// Whether this process may read and write it.
    package var isPermitted: Bool
    /// The group that the node belongs to, by name or else by number.
    package var group: String
    /// The processes that have it open, as far as this one may look; never this process.
    package var holders: [Int32]

    package init(isPermitted: Bool, group: String, holders: [Int32]) {
        self.isPermitted = isPermitted
        self.group = group
        self.holders = holders
    }
}
