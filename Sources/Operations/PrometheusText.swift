/// Writes metrics in Prometheus' text format, version 0.0.4.
///
/// ```swift
/// var text = PrometheusText()
/// text.family("emisora_server_rooms", .gauge, "Rooms with somebody in them.", 3)
/// text.family("emisora_server_errors_total", .counter, "Refused messages.", [.init(["code": "notJoined"], 7)])
/// return text.body
/// ```
///
/// Names are of our own and well formed; values of labels may be anything.
package struct PrometheusText: Sendable {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package struct Sample: Sendable {
        package var labels: [(name: String, value: String)]
        package var value: Double

        package init(_ labels: KeyValuePairs<String, String>, _ value: Double) {
            self.labels = labels.map { ($0.key, $0.value) }
            self.value = value
        }
    }

    package private(set) var body = ""

    package init() {}

    package mutating func family(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        family(name, kind, help, [Sample([:], value)])
    }

    /// Nothing is written of a family without samples.
    package mutating func family(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        head(name, kind, help)
        for sample in samples { line(name, sample.labels, sample.value) }
    }

    /// One sample for each key, in the order of the keys.
    package mutating func family(
        _ name: String, _ kind: Kind, _ help: String, by label: String, _ counts: [String: UInt64]
    ) {
        family(
            name, kind, help,
            counts.sorted { $0.key < $1.key }.map { entry in
                var sample = Sample([:], Double(entry.value))
                sample.labels = [(label, entry.key)]
                return sample
            })
    }

    package mutating func family(_ name: String, _ help: String, _ histogram: MetricHistogram) {
        head(name, .histogram, help)
        for (bound, count) in histogram.cumulative {
            line(name + "_bucket", [("le", Self.text(of: bound))], Double(count))
        }
        line(name + "_sum", [], histogram.sum)
        line(name + "_count", [], Double(histogram.count))
    }

    private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
        body += "# HELP \(name) \(Self.escaped(help, quote: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func line(_ name: String, _ labels: [(name: String, value: String)], _ value: Double) {
        body += name
        if !labels.isEmpty {
            let texts = labels.map { "\($0.name)=\"\(Self.escaped($0.value, quote: true))\"" }
            body += "{\(texts.joined(separator: ","))}"
        }
        body += " \(Self.text(of: value))\n"
    }

    private static func escaped(_ text: String, quote: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quote: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func text(of value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // What counters hold is written as the whole number that it is.
        return Int64(exactly: value).map(String.init) ?? "\(value)"
    }
}
