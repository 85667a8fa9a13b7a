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
    /// There is room again; asked for by `setWantsToWrite`.
    func writable()
}

extension EventLoopReader {
    package func writable() {}
}

/// One thread that waits for descriptors, deadlines and jobs, and runs everything that belongs to the network.
///
/// It is a serial executor: an actor that names it as its executor runs on this thread, and its synchronous state may be
/// touched by the loop's own callbacks through `assumeIsolated`. Packet paths use plain classes that stay on the thread.
package final class EventLoop: SerialExecutor, @unchecked Sendable {
    // Invariant behind `@unchecked Sendable`: `inbox` is a mutex; the descriptors are constant; everything else is only
    // touched on the loop's thread.
    private struct Inbox {
        var work: [Work] = []
        var isWoken = false
        var isStopping = false
        /// The thread has ended; it is started again if anything comes in late.
        var hasEnded = false
    }

    private enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private let inbox = Mutex(Inbox())
    private let epoll: Int32
    private let wakeUp: Int32
    private let thread = Mutex<pthread_t?>(nil)
    private let threadID = Atomic<Int32>(0)
    private let name: String

    private var readers: [Int32: any EventLoopReader] = [:]
    private var client: (any EventLoopClient)?
    /// What was taken out of the inbox last; swapped with it, so that a turn allocates nothing.
    private var work: [Work] = []

    /// Starts the thread, which keeps the loop alive until `shutdown()` or `stop()`.
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
        self.name = name
        guard Self.watch(epoll, wakeUp) else { throw SystemError("epoll_ctl") }
        let created = try startThread()
        thread.withLock { $0 = created }
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
        post(.job(job))
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func checkIsolated() {
        precondition(isCurrent, "This may only be called on the event loop's thread.")
    }

    /// Runs `body` on the loop's thread, soon, in the order of the calls.
    package func execute(_ body: @escaping @Sendable () -> Void) {
        post(.closure(body))
    }

    /// Ends the loop after what is queued, and waits for its thread; not to be called on it.
    ///
    /// Readers and the client are let go. Jobs that come in later still run, on a thread that lives just as long: an
    /// actor on this executor must not leave its callers waiting for ever.
    package func shutdown() {
        precondition(!isCurrent, "An event loop cannot wait for its own end.")
        post(nil)
        if let thread = thread.withLock({ $0.take() }) { pthread_join(thread, nil) }
    }

    /// Like `shutdown()`, without waiting for the end; may be called on the loop's own thread.
    package func stop() {
        if let thread = thread.withLock({ $0.take() }) { pthread_detach(thread) }
        post(nil)
    }

    /// Queues work, or the wish to stop.
    private func post(_ work: Work?) {
        let (mustWake, mustRestart) = inbox.withLock { inbox in
            if let work { inbox.work.append(work) } else { inbox.isStopping = true }
            if inbox.hasEnded {
                inbox.hasEnded = inbox.work.isEmpty
                return (false, !inbox.hasEnded)
            }
            defer { inbox.isWoken = true }
            return (!inbox.isWoken, false)
        }
        if mustWake { eventfd_write(wakeUp, 1) }
        if mustRestart { restart() }
    }

    private func restart() {
        do {
            pthread_detach(try startThread())
        } catch {
            // Out of threads: what waits is run when the next one comes in.
            inbox.withLock { $0.hasEnded = true }
        }
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

    /// Whether `writable` is called as soon as the descriptor takes bytes.
    package func setWantsToWrite(_ wants: Bool, descriptor: Int32) {
        checkIsolated()
        guard readers[descriptor] != nil else { return }
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | (wants ? EPOLLOUT.rawValue : 0)
        event.data.fd = descriptor
        epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)
    }

    private static func watch(_ epoll: Int32, _ descriptor: Int32) -> Bool {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.fd = descriptor
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    private func startThread() throws(SystemError) -> pthread_t {
        // The application's signals are its own threads' affair.
        var blocked = sigset_t()
        var previous = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_BLOCK, &blocked, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let context = Unmanaged.passRetained(self)
        var created = pthread_t()
        let status = pthread_create(
            &created, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            throw SystemError("pthread_create", code: status)
        }
        return created
    }

    private func run() {
        emisora_set_thread_name(name)
        threadID.store(emisora_thread_id(), ordering: .releasing)
        let capacity = 64
        var events = [epoll_event](repeating: epoll_event(), count: capacity)
        while true {
            let isStopping = runQueued()
            client?.turnDidEnd(now: SystemClock.now())
            if isStopping, end() { return }
            let count = emisora_epoll_wait(epoll, &events, Int32(capacity), isStopping ? 0 : timeout())
            for event in events.prefix(max(0, Int(count))) {
                if event.data.fd == wakeUp {
                    // Before the inbox is emptied: what is posted from then on sets the descriptor anew.
                    var value: eventfd_t = 0
                    eventfd_read(wakeUp, &value)
                } else {
                    if event.events & EPOLLOUT.rawValue != 0 { readers[event.data.fd]?.writable() }
                    if event.events & ~EPOLLOUT.rawValue != 0 { readers[event.data.fd]?.readable() }
                }
            }
        }
    }

    /// Lets everything go, unless there is still work.
    private func end() -> Bool {
        for descriptor in readers.keys { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil) }
        readers.removeAll()
        client = nil
        return inbox.withLock { inbox in
            guard inbox.work.isEmpty else { return false }
            inbox.hasEnded = true
            // A thread that comes after this one may get its number.
            threadID.store(0, ordering: .releasing)
            return true
        }
    }

    /// Nanoseconds to wait; −1: without end.
    private func timeout() -> Int64 {
        guard let deadline = client?.nextDeadline else { return -1 }
        return max(0, (deadline - SystemClock.now()).nanoseconds)
    }

    /// Runs what was posted up to now; answers whether the loop is to end.
    private func runQueued() -> Bool {
        let isStopping = inbox.withLock { inbox in
            swap(&work, &inbox.work)
            inbox.isWoken = false
            return inbox.isStopping
        }
        for item in work {
            switch item {
            case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
            case .closure(let closure): closure()
            }
        }
        work.removeAll(keepingCapacity: true)
        return isStopping
    }
}
