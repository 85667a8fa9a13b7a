import Synchronization

/// What goes from a codec's thread to the network's: bounded, in order.
///
/// Pictures depend on those before them, so one is never replaced: when the queue overflows, everything up to the next
/// key frame is dropped, which the consumer of `push`'s answer then asks for.
final class EncodedQueue<Element: Sendable>: Sendable {
    enum PushResult {
        case queued
        /// Dropped, with everything that was queued: a key frame is needed.
        case overflowed(dropped: Int)
    }

    private let capacity: Int
    private let elements = Mutex<[Element]>([])

    init(capacity: Int) {
        self.capacity = capacity
    }

    func push(_ element: Element) -> PushResult {
        elements.withLock { elements in
            guard elements.count < capacity else {
                defer { elements.removeAll(keepingCapacity: true) }
                return .overflowed(dropped: elements.count + 1)
            }
            elements.append(element)
            return .queued
        }
    }

    func takeAll() -> [Element] {
        elements.withLock { elements in
            defer { elements.removeAll(keepingCapacity: true) }
            return elements
        }
    }
}
