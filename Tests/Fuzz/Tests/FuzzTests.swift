import EmisoraFuzz
import Glibc
import Testing

/// A short run of `scripts/fuzz` without coverage: generated messages, damaged at random, through every reader of bytes from
/// the network. The seed is printed; `EMISORA_FUZZ_SEED` and `EMISORA_FUZZ_ROUNDS` repeat and prolong a run.
@Suite struct FuzzTests {
    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    /// For about a second and a half each, unoptimised.
    private static func rounds(_ target: FuzzTarget) -> Int {
        if let rounds = number("EMISORA_FUZZ_ROUNDS") { return Int(clamping: rounds) }
        return switch target {
        case .engine, .sender: 60
        case .description: 250
        case .dtls: 120
        case .dataChannels: 400
        case .signaling, .nodes: 1_500
        case .sound, .pictures: 400
        case .turnFramer: 1_000
        default: 6_000
        }
    }

    @Test(arguments: FuzzTarget.allCases) func damagedMessagesDoNoHarm(_ target: FuzzTarget) throws {
        let seed = Self.number("EMISORA_FUZZ_SEED") ?? 8_445
        print("fuzz: \(target.rawValue), EMISORA_FUZZ_SEED=\(seed)")
        var random = FuzzRandom(seed: seed)
        let mutator = FuzzMutator()
        var other = target.seed(using: &random)
        for round in 0..<Self.rounds(target) {
            let genuine = target.seed(using: &random)
            let bytes = round % 4 == 0 ? genuine : mutator.mutate(genuine, other: other, using: &random)
            do {
                try target.run(bytes)
            } catch {
                Issue.record("\(target.rawValue), round \(round): \(error); input \(bytes)")
                return
            }
            other = genuine
        }
    }
}
