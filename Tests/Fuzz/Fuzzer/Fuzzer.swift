import EmisoraFuzz
import Glibc

/// libFuzzer on one target, by its name in the environment; see `scripts/fuzz`.
///
/// The main function is the runtime's, which calls `LLVMFuzzerTestOneInput`; the linker lets it take this one's place.
@main
enum Fuzzer {
    static let target: FuzzTarget = {
        guard let name = getenv("EMISORA_FUZZ_TARGET").map({ String(cString: $0) }),
            let target = FuzzTarget(rawValue: name)
        else {
            let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: " ")
            fatalError("EMISORA_FUZZ_TARGET must be one of: \(names)")
        }
        if let folder = getenv("EMISORA_FUZZ_SEEDS") {
            writeSeeds(of: target, into: String(cString: folder))
            exit(0)
        }
        return target
    }()

    static func main() {
        fatalError("emisora-fuzz is to be built by scripts/fuzz")
    }

    /// Messages as they should be, for libFuzzer to begin with.
    private static func writeSeeds(of target: FuzzTarget, into folder: String) {
        var random = FuzzRandom(seed: 1)
        for number in 0..<200 {
            let bytes = target.seed(using: &random)
            guard let file = fopen("\(folder)/seed-\(number)", "w") else { fatalError("\(folder) cannot be written to") }
            fwrite(bytes, 1, bytes.count, file)
            fclose(file)
        }
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    do {
        try Fuzzer.target.run(Array(UnsafeBufferPointer(start: data, count: size)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
