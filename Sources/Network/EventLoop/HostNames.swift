import CEmisoraLinux
import EmisoraCore
import Glibc

/// Finds the addresses of a name, on a thread of its own, since the system's resolver blocks.
package enum HostNames {
    /// Why a name has no addresses, in the system's words.
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package let host: String
        package let reason: String

        package var description: String { "The name \(host) cannot be resolved: \(reason)." }
    }

    private static let limit = 16

    private final class Question {
        let host: String
        let answer: @Sendable (Result<[IPAddress], Failure>) -> Void

        init(_ host: String, _ answer: @escaping @Sendable (Result<[IPAddress], Failure>) -> Void) {
            self.host = host
            self.answer = answer
        }
    }

    /// Calls `answer` on `loop`'s thread, once; for an IP address at the next turn, without a thread. Who no longer
    /// cares lets the answer do nothing: the resolver cannot be interrupted.
    package static func resolve(
        _ host: String, on loop: EventLoop, _ answer: @escaping @Sendable (Result<[IPAddress], Failure>) -> Void
    ) {
        if let ip = IPAddress(host) { return loop.execute { answer(.success([ip])) } }
        let question = Unmanaged.passRetained(Question(host) { result in loop.execute { answer(result) } })
        // The application's signals are its own threads' affair.
        var blocked = sigset_t()
        var previous = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_BLOCK, &blocked, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                emisora_set_thread_name("emisora-names")
                let question = Unmanaged<Question>.fromOpaque(context).takeRetainedValue()
                question.answer(HostNames.addresses(of: question.host))
                return nil
            }, question.toOpaque())
        guard status == 0 else {
            let reason = String(cString: strerror(status))
            question.takeRetainedValue().answer(.failure(Failure(host: host, reason: reason)))
            return
        }
        pthread_detach(thread)
    }

    private static func addresses(of host: String) -> Result<[IPAddress], Failure> {
        var raw = [emisora_address](repeating: emisora_address(), count: limit)
        let count = emisora_resolve(host, &raw, Int32(limit))
        guard count > 0 else {
            let reason = count < 0 ? String(cString: gai_strerror(count)) : "it has no address"
            return .failure(Failure(host: host, reason: reason))
        }
        var addresses: [IPAddress] = []
        for one in raw.prefix(Int(count)) {
            let ip = IPAddress(one)
            if !addresses.contains(ip) { addresses.append(ip) }
        }
        return .success(addresses)
    }
}
