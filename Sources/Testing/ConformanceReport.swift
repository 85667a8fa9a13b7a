/// What came of looking at a capturer.
public struct ConformanceReport: Sendable {
    /// Something that is wrong.
    public struct Finding: Hashable, Sendable, CustomStringConvertible {
        public let check: ConformanceCheck
        /// What is wrong and what to do, in one sentence.
        public let sentence: String

        public var description: String { "\(check.rawValue): \(sentence)" }
    }

    /// What is wrong, at most one for each check; empty for a capturer that keeps all rules.
    public internal(set) var findings: [Finding] = []
    /// Checks that could not be made, and why.
    public internal(set) var skipped: [Finding] = []
    /// What is allowed but could be better, and what was measured.
    public internal(set) var notes: [Finding] = []
    /// Checks that found nothing.
    public internal(set) var passed: [ConformanceCheck] = []

    /// A line for each finding, note and check that was left out, below a summary.
    public var description: String {
        var lines = ["\(findings.count) findings, \(passed.count) checks passed, \(skipped.count) not made"]
        lines += findings.map { "wrong: \($0)" }
        lines += skipped.map { "not made: \($0)" }
        lines += notes.map { "note: \($0)" }
        return lines.joined(separator: "\n")
    }

    mutating func add(_ check: ConformanceCheck, _ verdict: Verdict) {
        switch verdict {
        case .failed(let sentence): findings.append(Finding(check: check, sentence: sentence))
        case .impossible(let reason): skipped.append(Finding(check: check, sentence: reason))
        }
    }
}

extension ConformanceReport: CustomStringConvertible {}

/// Why a check did not pass.
enum Verdict: Error {
    case failed(String)
    /// It could not be made, for a reason that another check names or that lies in how the kit was called.
    case impossible(String)
}
