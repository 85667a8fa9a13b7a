import EmisoraOperations
import Glibc

/// Where the options of this process come from beside its arguments: its environment, and the file that `--config` names.
package enum ProcessOptions {
    /// The option that names the file.
    package static var file: ProgramOption {
        ProgramOption(name: OptionTable.fileOption, values: "FILE", help: "a file with further options, as below") {
            !$0.isEmpty
        }
    }

    /// Reads all three sources; gives the arguments that are no options.
    package static func read(_ arguments: [String], options: [ProgramOption]) throws(OptionError) -> [String] {
        try OptionTable(options).read(arguments, environment: environment(of: options), load: load)
    }

    /// Those variables that are options.
    static func environment(of options: [ProgramOption]) -> [String: String] {
        var all: [String: String] = [:]
        for name in options.flatMap({ [$0.variable] + $0.otherVariables }) {
            if let value = getenv(name) { all[name] = String(cString: value) }
        }
        return all
    }

    static func load(_ path: String) throws(OptionError) -> String {
        do throws(BoundedFile.Failure) {
            let file = try BoundedFile(path: path, maximumByteCount: EnvironmentFile.maximumByteCount)
            return String(decoding: file.bytes, as: UTF8.self)
        } catch {
            throw OptionError(description: "--\(OptionTable.fileOption): \(path) cannot be read: \(error.reason)")
        }
    }
}
