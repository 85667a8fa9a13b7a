import CEmisoraLinux
import EmisoraCore
import Glibc

/// Notices when the machine's interfaces or addresses change (netlink). Owns its descriptor; confined to the loop's
/// thread.
///
/// It only says that something changed: what is there now, `NetworkInterfaces` tells, so that a message that was lost in
/// a full buffer costs nothing.
package final class AddressMonitor: EventLoopReader {
    private let descriptor: Int32
    private let onChange: () -> Void
    private weak var loop: EventLoop?
    private var scratch = [UInt8](repeating: 0, count: 8_192)

    package init(on loop: EventLoop, onChange: @escaping () -> Void) throws(SystemError) {
        descriptor = emisora_watch_addresses()
        guard descriptor >= 0 else { throw SystemError("Watching the machine's addresses") }
        self.onChange = onChange
        self.loop = loop
        try loop.add(self, descriptor: descriptor)
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Stops watching; the descriptor closes with the last reference.
    package func close() {
        loop?.remove(descriptor: descriptor)
    }

    package func readable() {
        var hasChanged = false
        while true {
            let count = recv(descriptor, &scratch, scratch.count, Int32(MSG_DONTWAIT))
            // ENOBUFS: more happened than there was room for.
            if count > 0 || (count < 0 && errno == ENOBUFS) { hasChanged = true } else { break }
        }
        if hasChanged { onChange() }
    }
}
