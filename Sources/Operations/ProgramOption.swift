/// One option of a program: the one place from which its parsing, its help and its man page are made.
///
/// ```swift
/// ProgramOption(name: "port", values: "0-65535", help: "where to listen (8080)") { text in
///     guard let port = UInt16(text) else { return false }
///     box.port = port
///     return true
/// }
/// ```
package struct ProgramOption {
    package let name: String
    /// For people: `N`, `WxH`, `noise|pattern|file:PATH|none`; empty for an option without a value.
    package let values: String
    package let help: String
    /// Whether it may be given several times; in the environment and in files its values stand with blanks between.
    package let isRepeatable: Bool
    /// Whether its value must not be repeated to anybody.
    package let isSecret: Bool
    /// Whether it is for the project's own tests, and in no list of what there is.
    package let isHidden: Bool
    /// Names of environment variables that count after its own.
    package let otherVariables: [String]
    /// The name of an option that says the same in another way: whichever source gives one of them decides about all.
    package let sameAs: String?
    /// Takes the value; `false` when it is not allowed.
    package let accept: (String) -> Bool

    package init(
        name: String, values: String, help: String, isRepeatable: Bool = false, isSecret: Bool = false,
        isHidden: Bool = false, otherVariables: [String] = [], sameAs: String? = nil, accept: @escaping (String) -> Bool
    ) {
        self.name = name
        self.values = values
        self.help = help
        self.isRepeatable = isRepeatable
        self.isSecret = isSecret
        self.isHidden = isHidden
        self.otherVariables = otherVariables
        self.sameAs = sameAs
        self.accept = accept
    }

    /// Its name in the environment and in files: `--log-level` is `EMISORA_LOG_LEVEL`.
    package var variable: String {
        "EMISORA_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }
}

/// What is wrong with arguments, in one line that names the argument and what is allowed.
package struct OptionError: Error, Equatable, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}
