import EmisoraCapture
import EmisoraCore
import Glibc
import Synchronization

/// Video nodes that answer requests out of a function each, and keep book of who has them open.
final class FakeVideoNodes: V4L2System {
    typealias Answers = @Sendable (V4L2Request) throws(V4L2Error) -> V4L2Answer

    private let answers: [String: Answers]
    private let refusals: [String: Int32]
    private let books = Mutex(Books())

    struct Books: Sendable {
        var open = 0
        var requests: [V4L2Request] = []
    }

    init(_ answers: [String: Answers], refusals: [String: Int32] = [:]) {
        self.answers = answers
        self.refusals = refusals
    }

    var openNodes: Int { books.withLock { $0.open } }
    var requests: [V4L2Request] { books.withLock { $0.requests } }

    var now: Instant { .zero }

    func open(_ path: String, converting: Bool) throws(V4L2Error) -> any V4L2Device {
        if let code = refusals[path] { throw V4L2Error("open", code: code) }
        guard let answers = answers[path] else { throw V4L2Error("open", code: ENOENT) }
        books.withLock { $0.open += 1 }
        return Node(answers, of: self)
    }

    func nodes() -> [String] { (Array(answers.keys) + refusals.keys).sorted() }

    func access(to path: String) -> V4L2Access? { V4L2Access(isPermitted: false, group: "video", holders: [4711]) }

    func makePoller() throws(V4L2Error) -> any V4L2Poller { throw V4L2Error("epoll_create", code: ENOSYS) }

    private final class Node: V4L2Device {
        private let answers: Answers
        private let owner: FakeVideoNodes
        private let isClosed = Atomic(false)

        init(_ answers: @escaping Answers, of owner: FakeVideoNodes) {
            self.answers = answers
            self.owner = owner
        }

        func perform(_ request: V4L2Request) throws(V4L2Error) -> V4L2Answer {
            guard !isClosed.load(ordering: .relaxed) else { throw V4L2Error(request.name, code: EBADF) }
            owner.books.withLock { $0.requests.append(request) }
            return try answers(request)
        }

        func map(length: Int, offset: Int64) throws(V4L2Error) -> V4L2Mapping { throw V4L2Error("mmap", code: EINVAL) }

        func close() {
            guard !isClosed.exchange(true, ordering: .relaxed) else { return }
            owner.books.withLock { $0.open -= 1 }
        }
    }
}

extension FakeVideoNodes {
    static let streaming: UInt32 = 0x0400_0000
    static let capture: UInt32 = 0x1
    static let output: UInt32 = 0x2
    static let captureMultiplanar: UInt32 = 0x1000
    static let metadata: UInt32 = 0x0080_0000

    static func node(_ card: String, bus: String, capabilities: UInt32) -> Answers {
        { request throws(V4L2Error) in
            guard case .queryCapability = request else { throw V4L2Error(request.name, code: ENOTTY) }
            return .capability(V4L2Capability(driver: "fake", card: card, busInfo: bus, capabilities: capabilities))
        }
    }

    /// A camera that lists just these modes.
    static func camera(_ modes: CameraModes, current: V4L2Format? = nil) -> Answers {
        { request throws(V4L2Error) in
            func entry<Entry>(_ list: [Entry], _ index: UInt32) throws(V4L2Error) -> Entry {
                guard index < list.count else { throw V4L2Error(request.name, code: EINVAL) }
                return list[Int(index)]
            }
            switch request {
            case .queryCapability:
                return .capability(
                    V4L2Capability(
                        driver: modes.driver, card: modes.label, busInfo: modes.bus,
                        capabilities: streaming | (modes.multiplanar ? captureMultiplanar : capture)))
            case .enumerateFormat(_, let index):
                return .formatDescription(
                    V4L2FormatDescription(pixelFormat: try entry(modes.formats, index).fourcc.rawValue))
            case .enumerateFrameSize(let pixelFormat, let index):
                let sizes = modes.formats.first { $0.fourcc.rawValue == pixelFormat }?.sizes ?? []
                return .frameSize(V4L2FrameSize(try entry(sizes, index).extent))
            case .enumerateFrameInterval(let pixelFormat, let width, let height, let index):
                let sizes = modes.formats.first { $0.fourcc.rawValue == pixelFormat }?.sizes ?? []
                let size = sizes.first { $0.extent.reaches(width, height) }
                return .frameInterval(V4L2FrameInterval(try entry(size?.intervals ?? [], index)))
            case .getFormat:
                guard let current else { throw V4L2Error(request.name, code: EINVAL) }
                return .format(current)
            default: throw V4L2Error(request.name, code: ENOTTY)
            }
        }
    }
}

extension CameraModes.Extent {
    fileprivate func reaches(_ width: UInt32, _ height: UInt32) -> Bool {
        switch self {
        case .discrete(let w, let h): w == Int(width) && h == Int(height)
        case .stepwise(let range), .continuous(let range):
            (range.minWidth...range.maxWidth).contains(Int(width))
                && (range.minHeight...range.maxHeight).contains(Int(height))
        }
    }
}

extension V4L2FrameSize {
    fileprivate init(_ extent: CameraModes.Extent) {
        switch extent {
        case .discrete(let width, let height): self = .discrete(width: UInt32(width), height: UInt32(height))
        case .stepwise(let range), .continuous(let range):
            var isContinuous = false
            if case .continuous = extent { isContinuous = true }
            self = .stepwise(
                width: V4L2SizeSteps(
                    minimum: UInt32(range.minWidth), maximum: UInt32(range.maxWidth), step: UInt32(range.stepWidth)),
                height: V4L2SizeSteps(
                    minimum: UInt32(range.minHeight), maximum: UInt32(range.maxHeight), step: UInt32(range.stepHeight)),
                isContinuous: isContinuous)
        }
    }
}

extension V4L2FrameInterval {
    fileprivate init(_ intervals: CameraModes.Intervals) {
        func fraction(_ interval: FrameInterval) -> V4L2Fraction {
            V4L2Fraction(interval.numerator, interval.denominator)
        }
        switch intervals {
        case .discrete(let interval): self = .discrete(fraction(interval))
        case .stepwise(let min, let max, let step):
            self = .stepwise(
                minimum: fraction(min), maximum: fraction(max), step: fraction(step), isContinuous: false)
        case .continuous(let min, let max):
            self = .stepwise(
                minimum: fraction(min), maximum: fraction(max), step: V4L2Fraction(1, 1), isContinuous: true)
        }
    }
}
