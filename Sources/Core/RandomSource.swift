/// The randomness that is handed to a protocol machine: the operating system's in production, a seeded generator in
/// tests. A concrete type around any generator, so that machines stay plain values.
package struct RandomSource: RandomNumberGenerator, Sendable {
    private var generator: any RandomNumberGenerator & Sendable

    package init(_ generator: any RandomNumberGenerator & Sendable) {
        self.generator = generator
    }

    package mutating func next() -> UInt64 { generator.next() }

    /// A source for another machine. A seeded one is copied a step further on; a system generator has no state.
    package mutating func split() -> RandomSource {
        _ = next()
        return self
    }
}
