import CEmisoraLinux
import EmisoraCore
import Glibc
import Synchronization

/// What is driven by an event loop. All calls come on the loop's thread.
package protocol EventLoopClient: AnyObject {
    /// Everything that was ready has been handled: move on in time and send what there is to send.
    func turnDidEnd(now: Instant)
    /// When the next turn is wanted at the latest, if nothing else happens before.
    var nextDeadline: Instant? { get }
}

/// What reads a descriptor. All calls come on the loop's thread.
package protocol EventLoopReader: AnyObject {
    func readable()
}

/// One thread that waits for descriptors, deadlines and jobs, and runs everything that belongs to the network.
///
/// It is a serial executor: an actor that names it as its executor runs on this thread, and its synchronous state may be
/// touched by the loop's own callbacks through `assumeIsolated`. Packet paths use plain classes that stay on the thread.
package final class EventLoop: SerialExecutor, @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: `inbox` is a mutex; the descriptors are constant; everything else is only
    // touched on the loop's thread.
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var closures: [@Sendable () -> Void] = []
        var isWoken = false
        var isStopping = false
    }

    private let inbox = Mutex(Inbox())
    private let epoll: Int32
    private let wakeUp: Int32
    private let thread = Mutex<pthread_t?>(nil)
    private let threadID = Atomic<Int32>(0)

    private var readers: [Int32: any EventLoopReader] = [:]
    private var client: (any EventLoopClient)?

    package init(name: String = "emisora-net") throws(SystemError) {
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw SystemError("epoll_create1") }
        let wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeUp >= 0 else {
            Glibc.close(epoll)
            throw SystemError("eventfd")
        }
        self.epoll = epoll
        self.wakeUp = wakeUp
        guard Self.watch(epoll, wakeUp) else { throw SystemError("epoll_ctl") }
        try start(name: name)
    }

    deinit {
        Glibc.close(epoll)
        Glibc.close(wakeUp)
    }

    /// Whether the caller is on the loop's thread.
    package var isCurrent: Bool { emisora_thread_id() == threadID.load(ordering: .acquiring) }

    // MARK: From any thread

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        post { $0.jobs.append(job) }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func checkIsolated() {
        precondition(isCurrent, "This may only be called on the event loop's thread.")
    }

    /// Runs `body` on the loop's thread, soon.
    package func execute(_ body: @escaping @Sendable () -> Void) {
        post { $0.closures.append(body) }
    }

    /// Ends the loop after what is queued, and waits for its thread; not to be called on it.
    package func shutdown() {
        precondition(!isCurrent, "An event loop cannot wait for its own end.")
        post { $0.isStopping = true }
        if let thread = thread.withLock({ $0.take() }) { pthread_join(thread, nil) }
    }

    /// Ends the loop after what is queued, without waiting for it; may be called on its own thread.
    package func stop() {
        if let thread = thread.withLock({ $0.take() }) { pthread_detach(thread) }
        post { $0.isStopping = true }
    }

    private func post(_ change: (inout Inbox) -> Void) {
        let isFirst = inbox.withLock { inbox in
            change(&inbox)
            defer { inbox.isWoken = true }
            return !inbox.isWoken
        }
        if isFirst { eventfd_write(wakeUp, 1) }
    }

    // MARK: On the loop's thread

    package func setClient(_ client: (any EventLoopClient)?) {
        checkIsolated()
        self.client = client
    }

    package func add(_ reader: any EventLoopReader, descriptor: Int32) throws(SystemError) {
        checkIsolated()
        guard Self.watch(epoll, descriptor) else { throw SystemError("epoll_ctl") }
        readers[descriptor] = reader
    }

    package func remove(descriptor: Int32) {
        checkIsolated()
        guard readers.removeValue(forKey: descriptor) != nil else { return }
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    }

    private static func watch(_ epoll: Int32, _ descriptor: Int32) -> Bool {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.fd = descriptor
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    private func start(name: String) throws(SystemError) {
        final class Start {
            let loop: EventLoop
            let name: String
            init(loop: EventLoop, name: String) {
                self.loop = loop
                self.name = name
            }
        }
        let context = Unmanaged.passRetained(Start(loop: self, name: name))
        var created = pthread_t()
        let status = pthread_create(
            &created, nil,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                emisora_set_thread_name(start.name)
                start.loop.run()
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            errno = status
            throw SystemError("pthread_create")
        }
        thread.withLock { $0 = created }
    }

    private func run() {
        threadID.store(emisora_thread_id(), ordering: .releasing)
        let capacity = 64
        var events = [epoll_event](repeating: epoll_event(), count: capacity)
        while true {
            let isStopping = runQueued()
            client?.turnDidEnd(now: MonotonicClock.now())
            if isStopping { break }
            let count = emisora_epoll_wait(epoll, &events, Int32(capacity), timeout())
            for event in events.prefix(max(0, Int(count))) where event.data.fd != wakeUp {
                readers[event.data.fd]?.readable()
            }
        }
        readers.removeAll()
        client = nil
    }

    /// Nanoseconds to wait; −1: without end.
    private func timeout() -> Int64 {
        guard let deadline = client?.nextDeadline else { return -1 }
        return max(0, (deadline - MonotonicClock.now()).nanoseconds)
    }

    private func runQueued() -> Bool {
        // Before the inbox is emptied: what is posted from then on sets the descriptor anew.
        var value: eventfd_t = 0
        eventfd_read(wakeUp, &value)
        let (jobs, closures, isStopping) = inbox.withLock { inbox in
            defer {
                inbox.jobs.removeAll(keepingCapacity: true)
                inbox.closures.removeAll(keepingCapacity: true)
                inbox.isWoken = false
            }
            return (inbox.jobs, inbox.closures, inbox.isStopping)
        }
        for closure in closures { closure() }
        for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        return isStopping
    }
}
