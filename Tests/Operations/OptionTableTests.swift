import Testing

@testable import EmisoraOperations

/// What the closures of a table took, in order.
private final class Taken {
    var values: [String] = []

    var table: OptionTable {
        OptionTable([
            ProgramOption(name: "port", values: "0-65535", help: "where", otherVariables: ["PORT"]) {
                self.values.append("port=\($0)")
                return UInt16($0) != nil
            },
            ProgramOption(name: "allow-origin", values: "ORIGIN", help: "who", isRepeatable: true) {
                self.values.append("origin=\($0)")
                return true
            },
            ProgramOption(name: "open", values: "", help: "everybody") { _ in
                self.values.append("open")
                return true
            },
            ProgramOption(name: "password", values: "PASSWORD", help: "for TURN", isSecret: true) { $0 == "right" },
            ProgramOption(name: "config", values: "FILE", help: "more") { !$0.isEmpty },
        ])
    }

    func read(
        _ arguments: [String] = [], environment: [String: String] = [:], files: [String: String] = [:]
    ) throws -> [String] {
        try table.read(arguments, environment: environment) { path throws(OptionError) in
            guard let text = files[path] else { throw OptionError(description: "no file \(path)") }
            return text
        }
    }
}

@Suite struct OptionTableTests {
    @Test("arguments count before the environment, and that before the file")
    func precedence() throws {
        let files = ["f": "EMISORA_PORT=3\nEMISORA_OPEN=yes\nEMISORA_ALLOW_ORIGIN=c d\n"]
        let environment = ["EMISORA_CONFIG": "f", "EMISORA_PORT": "2", "EMISORA_ALLOW_ORIGIN": "b"]
        for (arguments, environment, expected) in [
            (["--port", "1", "--allow-origin=a"], environment, ["port=1", "origin=a", "open"]),
            ([], environment, ["port=2", "origin=b", "open"]),
            (["--config", "f"], [:], ["port=3", "origin=c", "origin=d", "open"]),
            (["--config", "f"], ["PORT": "4"], ["port=4", "origin=c", "origin=d", "open"]),
            (["--config", "f"], ["PORT": "4", "EMISORA_PORT": "5"], ["port=5", "origin=c", "origin=d", "open"]),
            (["--config", "f"], ["EMISORA_OPEN": "no", "PORT": ""], ["port=3", "origin=c", "origin=d"]),
        ] as [([String], [String: String], [String])] {
            let taken = Taken()
            _ = try taken.read(arguments, environment: environment, files: files)
            #expect(taken.values == expected, "\(arguments) \(environment)")
        }
    }

    @Test("what is wrong is said with the name of who said it")
    func origins() {
        for (arguments, environment, file, expected) in [
            (["--port", "x"], [:], "", "--port: x is not allowed; allowed: 0-65535"),
            (["--port"], [:], "", "--port: a value is missing; allowed: 0-65535"),
            (["--open=1"], [:], "", "--open: takes no value"),
            ([], ["PORT": "x"], "", "PORT in the environment: x is not allowed; allowed: 0-65535"),
            ([], [:], "\n# so\nEMISORA_PORT=70000", "f, line 3, EMISORA_PORT: 70000 is not allowed; allowed: 0-65535"),
            (
                [], ["EMISORA_OPEN": "perhaps"], "",
                "EMISORA_OPEN in the environment: perhaps is not allowed; allowed: yes, no"
            ),
            ([], ["EMISORA_CONFIG": "nowhere"], "", "no file nowhere"),
            ([], [:], "EMISORA_PORT", "f, line 1: it is not NAME=value"),
        ] as [([String], [String: String], String, String)] {
            let environment = ["EMISORA_CONFIG": "f"].merging(environment) { $1 }
            #expect(throws: OptionError(description: expected)) {
                try Taken().read(arguments, environment: environment, files: ["f": file])
            }
        }
    }

    @Test("a name in a file that is no option's is refused, with those that are")
    func unknownNames() {
        #expect {
            try Taken().read(["--config", "f"], files: ["f": "EMISORA_PROT=1"])
        } throws: {
            "\($0)".hasPrefix("f, line 1: EMISORA_PROT is no option; allowed: EMISORA_PORT, ")
        }
    }

    @Test("secrets, and values that would break the line, are not repeated")
    func secrets() {
        for (arguments, secret) in [(["--password", "wrong-one"], "wrong-one"), (["--port", "a\nb"], "a\nb")] {
            #expect {
                try Taken().read(arguments)
            } throws: {
                "\($0)".contains("the value is not allowed") && !"\($0)".contains(secret)
            }
        }
        // A line without its name may be nothing but a secret.
        #expect { try Taken().read(["--config", "f"], files: ["f": "hunter2"]) } throws: {
            !"\($0)".contains("hunter2")
        }
    }

    @Test("lines of a file are read as systemd reads them")
    func environmentFile() throws {
        let text = "A=1\r\n\n ; no\n#B=2\n B2 = x y \nC=\"a \\\"b\\\" c\"\nD='a\\b'\nE=a\\ b\nF=\nA=2"
        let entries = try EnvironmentFile.entries(of: text, path: "f").map { "\($0.line) \($0.name)=\($0.value)" }
        #expect(
            entries == ["1 A=1", "6 C=a \"b\" c", "7 D=a\\b", "8 E=a b", "9 F=", "10 A=2"].inserting("5 B2=x y", at: 1))
        for wrong in ["A=\"x", "A='x'y", "A=x\\", "=x", "1 2=x", "Ä=x", "\u{0}=x"] {
            #expect(throws: OptionError.self, "\(wrong)") { try EnvironmentFile.entries(of: wrong, path: "f") }
        }
    }
}

extension [String] {
    fileprivate func inserting(_ element: String, at index: Int) -> Self {
        var copy = self
        copy.insert(element, at: index)
        return copy
    }
}
