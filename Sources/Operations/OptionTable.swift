/// The options of a program, read from its arguments and, where it has them, from its environment and a file.
///
/// An option's values come from the first of these that has any: arguments, environment, file.
package struct OptionTable {
    package let options: [ProgramOption]

    /// The option that names the file, where there is one.
    package static let fileOption = "config"

    package init(_ options: [ProgramOption]) {
        self.options = options
    }

    /// Reads arguments alone; gives those that are no options.
    package func read(_ arguments: [String]) throws(OptionError) -> [String] {
        let (settings, positional) = try split(arguments)
        for setting in settings { try apply(setting) }
        return positional
    }

    /// Reads all three sources; gives the arguments that are no options.
    ///
    /// - Parameters:
    ///   - environment: All of it; variables that are no option's are passed over.
    ///   - load: Gives the text of the file that the arguments or the environment name.
    package func read(
        _ arguments: [String], environment: [String: String],
        load: (_ path: String) throws(OptionError) -> String
    ) throws(OptionError) -> [String] {
        let (given, positional) = try split(arguments)
        var fileSettings: [Setting] = []
        if let file = options.firstIndex(where: { $0.name == Self.fileOption }) {
            let path = given.last { $0.option == file }?.value ?? variables(environment, of: file).first?.value
            if let path { fileSettings = try settings(in: try load(path), of: path) }
        }
        for index in options.indices {
            let kin = options.indices.filter { topic(of: $0) == topic(of: index) }
            if given.contains(where: { kin.contains($0.option) }) {
                for setting in given where setting.option == index { try apply(setting) }
            } else if kin.contains(where: { !variables(environment, of: $0).isEmpty }) {
                for setting in variables(environment, of: index) { try apply(setting) }
            } else {
                for setting in fileSettings where setting.option == index { try apply(setting) }
            }
        }
        return positional
    }

    private func topic(of index: Int) -> String { options[index].sameAs ?? options[index].name }

    // MARK: Sources

    /// One value and who gave it.
    private struct Setting {
        var option: Int
        var value: String
        /// How the source calls it: `--port`, `EMISORA_PORT in the environment`.
        var origin: String
    }

    private func split(_ arguments: [String]) throws(OptionError) -> ([Setting], positional: [String]) {
        var settings: [Setting] = []
        var positional: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-"), argument != "-" else {
                positional.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let index = options.firstIndex(where: { "--\($0.name)" == parts[0] }) else {
                let known = options.filter { !$0.isHidden }.map { "--\($0.name)" }.joined(separator: ", ")
                throw OptionError(description: "\(parts[0]): unknown option; allowed: \(known)")
            }
            let origin = "--\(options[index].name)"
            var value = ""
            if options[index].values.isEmpty {
                guard parts.count == 1 else { throw OptionError(description: "\(origin): takes no value") }
            } else if parts.count > 1 {
                value = String(parts[1])
            } else if let next = rest.popFirst() {
                value = next
            } else {
                throw OptionError(description: "\(origin): a value is missing; allowed: \(options[index].values)")
            }
            settings.append(Setting(option: index, value: value, origin: origin))
        }
        return (settings, positional)
    }

    private func variables(_ environment: [String: String], of index: Int) -> [Setting] {
        for name in [options[index].variable] + options[index].otherVariables {
            // An empty variable is the usual way to say that there is none.
            guard let value = environment[name], !value.isEmpty else { continue }
            return values(value, of: index).map {
                Setting(option: index, value: $0, origin: "\(name) in the environment")
            }
        }
        return []
    }

    private func settings(in text: String, of path: String) throws(OptionError) -> [Setting] {
        var settings: [Setting] = []
        for entry in try EnvironmentFile.entries(of: text, path: path) {
            guard
                let index = options.firstIndex(where: {
                    $0.variable == entry.name || $0.otherVariables.contains(entry.name)
                })
            else {
                let known = options.filter { !$0.isHidden }.map(\.variable).joined(separator: ", ")
                throw OptionError(
                    description: "\(path), line \(entry.line): \(entry.name) is no option; allowed: \(known)")
            }
            // As with a shell, the last line of a name counts.
            settings.removeAll { $0.option == index }
            guard !entry.value.isEmpty else { continue }
            settings += values(entry.value, of: index).map {
                Setting(option: index, value: $0, origin: "\(path), line \(entry.line), \(entry.name)")
            }
        }
        return settings
    }

    private func values(_ text: String, of index: Int) -> [String] {
        options[index].isRepeatable ? text.split(separator: " ").map(String.init) : [text]
    }

    private func apply(_ setting: Setting) throws(OptionError) {
        let option = options[setting.option]
        var isAllowed = true
        var allowed = option.values
        if option.values.isEmpty {
            // Only arguments say it by being there.
            switch setting.value.lowercased() {
            case "", "1", "yes", "true", "on": isAllowed = option.accept("")
            case "0", "no", "false", "off": break
            default:
                isAllowed = false
                allowed = "yes, no"
            }
        } else {
            isAllowed = option.accept(setting.value)
        }
        guard isAllowed else {
            let isPlain = setting.value.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
            let shown = option.isSecret || !isPlain ? "the value" : setting.value.isEmpty ? "nothing" : setting.value
            throw OptionError(description: "\(setting.origin): \(shown) is not allowed; allowed: \(allowed)")
        }
    }
}
