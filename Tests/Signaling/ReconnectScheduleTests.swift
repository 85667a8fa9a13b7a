import Testing

@testable import EmisoraWebsocketClient

@Suite struct ReconnectScheduleTests {
    @Test func pausesAreARandomPartOfABoundThatDoublesEightfold() throws {
        var random = CountingGenerator()
        func next(_ schedule: inout ReconnectSchedule) -> Duration? { schedule.next(using: &random) }
        var longest: [Int: Duration] = [:]
        var shortest: [Int: Duration] = [:]
        for _ in 0..<2_000 {
            var schedule = ReconnectSchedule(firstDelay: .milliseconds(250))
            for attempt in 0..<6 {
                let chosen = next(&schedule)
                let pause = try #require(chosen)
                longest[attempt] = max(longest[attempt] ?? .zero, pause)
                shortest[attempt] = min(shortest[attempt] ?? .seconds(9), pause)
            }
        }
        for (attempt, bound) in [0.25, 0.5, 1, 2, 2, 2].enumerated() {
            #expect((longest[attempt] ?? .zero) <= .seconds(bound))
            #expect((longest[attempt] ?? .zero) > .seconds(bound * 0.95))
            #expect((shortest[attempt] ?? .zero) < .seconds(bound * 0.05))
        }
    }

    @Test func noPauseIsLongerThanFiveSeconds() throws {
        var random = CountingGenerator()
        func next(_ schedule: inout ReconnectSchedule) -> Duration? { schedule.next(using: &random) }
        for first in [Duration.seconds(1), .seconds(60)] {
            var schedule = ReconnectSchedule(firstDelay: first)
            for _ in 0..<1_000 {
                let chosen = next(&schedule)
                let pause = try #require(chosen)
                #expect(pause <= .seconds(5))
            }
        }
    }

    @Test(arguments: [0, 1, 5]) func afterSoManyAttemptsThereAreNoMoreUntilOneServes(_ maximum: Int) {
        var random = CountingGenerator()
        func next(_ schedule: inout ReconnectSchedule) -> Duration? { schedule.next(using: &random) }
        var schedule = ReconnectSchedule(maximumAttempts: maximum)
        for _ in 0..<2 {
            for _ in 0..<maximum {
                let pause = next(&schedule)
                #expect(pause != nil)
            }
            for _ in 0..<2 {
                let pause = next(&schedule)
                #expect(pause == nil)
            }
            #expect(schedule.attempts == maximum)
            schedule.reset()
        }
    }

    @Test func theNumberToldIsThatSinceTheConnectionServed() {
        let delay = ReconnectDelay(ReconnectSchedule(maximumAttempts: 3))
        for _ in 0..<2 { _ = delay.next() }
        #expect(delay.outlook == .attempt(2))
        delay.reset()
        // As where a connection is told to be lost that no attempt has to be made for.
        #expect(delay.outlook == .attempt(1))
        for _ in 0..<4 { _ = delay.next() }
        #expect(delay.outlook == .exhausted(3))
        delay.reset()
        #expect(delay.outlook == .exhausted(3))
    }
}
