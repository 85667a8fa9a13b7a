import Emisora
import EmisoraMicrophone

/// What `emisora devices` prints for people.
enum DevicesText {
    // MARK: Modes

    /// A heading; then formats, those with the same sizes together, and a line for each run of sizes with the same rates.
    static func modes(of camera: CameraDiscovery.Camera) -> String {
        var lines = [heading(camera)]
        var rest = camera.modes.formats[...]
        while let first = rest.first {
            let alike = rest.prefix { $0.sizes == first.sizes }
            rest = rest.dropFirst(alike.count)
            lines += wrapped(alike.map(\.fourcc.description), indent: 2)
            let rows = runs(first.sizes).flatMap { run in
                let sizes = wrapped(run.sizes, indent: 0, width: 44)
                return sizes.enumerated().map { [$1, $0 + 1 == sizes.count ? run.rates : ""] }
            }
            lines.append(table(rows.isEmpty ? [["any size"]] : rows, indent: 6))
        }
        if camera.modes.isPartial { lines.append("  … and more") }
        return lines.joined(separator: "\n")
    }

    private static func wrapped(_ words: [String], indent: Int, width: Int = 76) -> [String] {
        var lines: [String] = []
        for word in words {
            if let last = lines.last, last.count + word.count < width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(repeating: " ", count: indent) + word)
            }
        }
        return lines
    }

    private static func heading(_ camera: CameraDiscovery.Camera) -> String {
        let place = [camera.modes.driver, camera.modes.bus].filter { !$0.isEmpty }.joined(separator: ", ")
        return "\(camera.identity.path)  \(camera.modes.label)\(place.isEmpty ? "" : "  (\(place))")".terminalLine
    }

    private static func runs(_ sizes: [CameraModes.Size]) -> [(sizes: [String], rates: String)] {
        var runs: [(sizes: [String], rates: String)] = []
        for size in sizes {
            let rates = text(size.intervals)
            if let last = runs.last, last.rates == rates {
                runs[runs.count - 1].sizes.append(text(size.extent))
            } else {
                runs.append(([text(size.extent)], rates))
            }
        }
        return runs
    }

    private static func text(_ extent: CameraModes.Extent) -> String {
        switch extent {
        case .discrete(let width, let height): return "\(width)x\(height)"
        case .stepwise(let range), .continuous(let range):
            let ends = "\(range.minWidth)x\(range.minHeight)…\(range.maxWidth)x\(range.maxHeight)"
            if case .continuous = extent { return ends }
            return "\(ends) in steps of \(range.stepWidth)x\(range.stepHeight)"
        }
    }

    private static func text(_ intervals: [CameraModes.Intervals]) -> String {
        let rates = intervals.map { interval in
            switch interval {
            case .discrete(let interval): number(interval)
            case .continuous(let shortest, let longest): "\(number(longest))…\(number(shortest))"
            case .stepwise(let shortest, let longest, let step):
                "\(number(longest))…\(number(shortest)) in steps of \(step) s"
            }
        }
        return rates.isEmpty ? "any rate" : rates.joined(separator: ", ") + " fps"
    }

    private static func number(_ interval: FrameInterval) -> String {
        let text = interval.rateText
        return text.hasSuffix(" fps") ? String(text.dropLast(4)) : text
    }

    // MARK: Choice

    static func explanation(_ choice: CameraModeChoice.Explained, modes: CameraModes, path: String?) -> String {
        let name = [path, modes.label.isEmpty ? nil : modes.label].compactMap { $0 }.joined(separator: "  ")
            .terminalLine
        let sorted = choice.candidates.enumerated().sorted {
            // The chosen one on top, of equals the one that the driver lists first.
            ($0.element.isChosen ? 1 : 0, $0.element.score, $1.offset)
                > ($1.element.isChosen ? 1 : 0, $1.element.score, $0.offset)
        }
        let rows = sorted.map { _, candidate in
            [
                candidate.isChosen ? "*" : "", "\(candidate.score)", candidate.mode.fourcc.description,
                "\(candidate.mode.width)x\(candidate.mode.height)", candidate.mode.interval?.rateText ?? "any rate",
                candidate.isChosen ? "chosen" : candidate.reason,
            ]
        }
        return (name.isEmpty ? "" : name + "\n") + "chosen  \(choice.chosen?.description ?? "none")\n"
            + "because \(choice.reason)\n\n" + table([["", "score", "", "size", "rate", "reason"]] + rows, indent: 0)
    }

    // MARK: Controls

    static func controls(_ controls: [CameraControl], of camera: CameraDiscovery.Camera) -> String {
        let rows = controls.map { control in
            let isNumber = control.kind != .button && control.kind != .other
            let notes = [control.isInactive ? "on automatic" : nil, control.isReadOnly ? "read only" : nil]
            return [
                control.name, control.value.map { "\($0)" } ?? "-", isNumber ? "\(control.defaultValue)" : "-",
                ([control.allowed.terminalLine] + notes.compactMap { $0 }).joined(separator: "; "),
            ]
        }
        guard !rows.isEmpty else { return heading(camera) + "\n  no controls" }
        return heading(camera) + "\n" + table([["control", "value", "default", "allowed"]] + rows, indent: 2)
    }

    // MARK: Microphones

    static func microphones(_ microphones: [MicrophoneDevice]) -> String {
        guard !microphones.isEmpty else { return "No microphone found." }
        return "Microphones\n" + table(microphones.map { [$0.name.terminalLine, $0.title.terminalLine] }, indent: 2)
    }

    // MARK: Tables

    /// Columns side by side, two blanks between them.
    private static func table(_ rows: [[String]], indent: Int) -> String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.compactMap { column < $0.count ? $0[column].count : nil }.max() ?? 0
        }
        return rows.map { row in
            var line = String(repeating: " ", count: indent)
            for (column, cell) in row.enumerated() {
                line += cell
                if column + 1 < row.count {
                    line += String(repeating: " ", count: max(0, widths[column] - cell.count) + 2)
                }
            }
            while line.last == " " { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }
}
