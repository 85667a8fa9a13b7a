import EmisoraCore
import Synchronization

/// Spaces the new STUN and TURN transactions of everything that shares it, gathering and connectivity checks alike, so
/// that neither many viewers joining at once nor many servers flood the path. RFC 8445 §14.2 wants at least 5 ms between
/// them in the whole process: one pacer is handed to all agents and gatherers, on whatever thread they are.
///
/// ```
/// guard pacer.take(now: now) else { return }  // again at `pacer.nextSlot`
/// ```
package final class TransactionPacer: Sendable {
    private struct State {
        var nextSlot = Instant(nanoseconds: .min)
        var outstanding = 0
    }

    /// Ta (RFC 8445 §14.2).
    package let interval: Duration
    private let state = Mutex(State())

    package init(interval: Duration = .milliseconds(5)) {
        self.interval = max(interval, .milliseconds(5))
    }

    /// When a new transaction may start at the earliest; another thread may be faster.
    package var nextSlot: Instant { state.withLock { $0.nextSlot } }

    /// Takes the slot at `now`; answers whether it was free.
    package func take(now: Instant) -> Bool {
        state.withLock { state in
            guard now >= state.nextSlot else { return false }
            state.nextSlot = now + interval
            return true
        }
    }

    /// The first RTO of a transaction to where nothing is known of (RFC 8445 §14.3): until all that wait and all that are
    /// on their way have had their turn, and 500 ms at least.
    ///
    /// N × (Num-Waiting + Num-In-Progress) is taken as what all that share Ta have to do, since the checklists take turns.
    /// With N as the checks of one list a list of 100 pairs would repeat its first check after 50 s.
    package var initialTimeout: Duration {
        STUNRetransmission.clamp(interval * state.withLock { $0.outstanding })
    }

    /// The place of one checklist, or of one list of servers, among all that share a pacer.
    package final class Line: Sendable {
        private let pacer: TransactionPacer
        private let length = Mutex(0)

        package init(_ pacer: TransactionPacer) {
            self.pacer = pacer
        }

        deinit { update(0) }

        /// How many transactions wait to start or to be answered.
        package func update(_ new: Int) {
            let change = length.withLock { length in
                defer { length = new }
                return new - length
            }
            guard change != 0 else { return }
            pacer.state.withLock { $0.outstanding += change }
        }
    }
}
