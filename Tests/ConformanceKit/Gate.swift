import EmisoraTesting
import Glibc

/// The checks that are made: time is not judged under sanitizers.
let judgedChecks = Set(ConformanceCheck.allCases).subtracting(
    getenv("EMISORA_NO_TIMING") == nil ? [] : ConformanceCheck.timed)

extension CaptureFault {
    static let judged = allCases.filter { $0.check.map(judgedChecks.contains) ?? true }
}

extension SoundFault {
    static let judged = allCases.filter { $0.check.map(judgedChecks.contains) ?? true }
}

/// Lets only so many in at a time: what is measured in real time is not to fill the machine by itself.
actor Gate {
    static let shared = Gate(8)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) {
        free = count
    }

    func pass<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
