import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// Two agents find each other.
@Suite struct ICEConnectionTests {
    @Test func twoAgentsConnectInThreeRoundTripsAndAgreeOnThePath() {
        let duel = Duel()
        #expect(duel.connect())
        // 20 ms a round trip: the check, and with slack the nomination.
        #expect(duel.simulation.now - Duel.start <= .milliseconds(60))
        #expect(duel.left.agent.role == .controlling)
        #expect(duel.right.agent.role == .controlled)
        #expect(duel.left.states == [.checking, .connected])
        #expect(duel.right.states == [.checking, .connected])
        #expect(duel.left.agent.isValidated(ICEPath(local: Addresses.left, remote: Addresses.right)))
        #expect(!duel.left.agent.isValidated(ICEPath(local: Addresses.left, remote: Addresses.stranger)))
        #expect(duel.left.agent.statistics.currentRoundTripTime == .milliseconds(20))
        #expect(duel.left.agent.statistics.selectedLocal?.type == .host)
        #expect(duel.left.agent.statistics.selectedRemote?.address == Addresses.right)
    }

    /// Also for who looks when the path is gone already.
    @Test func theEventOfASelectionNamesThePairOfThatMoment() {
        let duel = Duel()
        #expect(duel.connect())
        let selections = duel.left.events.compactMap { one -> (ICEPath, ICEStatistics)? in
            if case .selectedPathChanged(let path, let statistics) = one.event { (path, statistics) } else { nil }
        }
        #expect(!selections.isEmpty)
        for (path, statistics) in selections {
            #expect(statistics.selectedLocal?.base == path.local)
            #expect(statistics.selectedRemote?.address == path.remote)
        }
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func aHundredBadNetworksConnectAndStayConnected(seed: UInt64) {
        var conditions = SimulatedLink.Conditions()
        conditions.delay = .milliseconds(40)
        conditions.jitter = .milliseconds(30)
        conditions.loss = 0.3
        conditions.duplication = 0.1
        conditions.reordering = 0.1
        let duel = Duel(seed: seed, conditions: conditions)
        #expect(duel.connect(within: .seconds(40)))
        duel.run(.seconds(120)) { duel.left.hasFailed || duel.right.hasFailed }
        #expect(!duel.left.hasFailed && !duel.right.hasFailed)
        #expect(duel.agreeOnPath)
        #expect(!duel.simulation.isStalled)
    }

    @Test func lossInBurstsIsSurvived() {
        var conditions = SimulatedLink.Conditions()
        conditions.burstStart = 0.1
        conditions.burstEnd = 0.3
        for seed in 0..<20 as Range<UInt64> {
            let duel = Duel(seed: seed, conditions: conditions)
            #expect(duel.connect(within: .seconds(40)), "seed \(seed)")
        }
    }

    @Test func theSameSeedGivesTheSameRunByteForByte() {
        func trace(_ seed: UInt64) -> UInt64 {
            var conditions = SimulatedLink.Conditions()
            conditions.loss = 0.2
            conditions.jitter = .milliseconds(5)
            let duel = Duel(
                seed: seed, conditions: conditions, leftAddresses: [Addresses.left, Addresses.left2, Addresses.leftV6],
                rightAddresses: [Addresses.right, Addresses.rightV6])
            duel.introduce()
            duel.run(.seconds(60))
            return duel.simulation.traceHash
        }
        #expect(trace(5) == trace(5))
        #expect(trace(5) != trace(6))
    }

    @Test("RFC 8445 §7.3: checks that come before the answer are answered and used")
    func checksThatComeBeforeTheAnswerAreAnsweredAndUsed() {
        let duel = Duel()
        // Only the left one has the description; the right one, whose answer is on its way, knows nothing yet.
        duel.left.agent.setRemoteCredentials(duel.right.agent.localCredentials, now: duel.simulation.now)
        duel.left.agent.addRemoteCandidate(duel.right.agent.localCandidates[0], now: duel.simulation.now)
        #expect(duel.run(.milliseconds(200)) { duel.left.agent.state == .connected })
        #expect(duel.right.agent.state == .new)
        duel.right.agent.setRemoteCredentials(duel.left.agent.localCredentials, now: duel.simulation.now)
        #expect(duel.run(.milliseconds(200)) { duel.areConnected && duel.agreeOnPath })
        // No candidate was signalled to it: it learnt the address from the check.
        #expect(duel.right.agent.remoteCandidates.map(\.type) == [.peerReflexive])
    }

    @Test("RFC 8838 §11: candidates that trickle in late connect") func candidatesThatTrickleInLateConnect() {
        let duel = Duel()
        duel.introduce(candidates: false)
        duel.run(.seconds(30))
        #expect(duel.left.agent.state == .checking)
        duel.left.agent.addRemoteCandidate(duel.right.agent.localCandidates[0], now: duel.simulation.now)
        #expect(duel.run(.seconds(1)) { duel.areConnected && duel.agreeOnPath })
    }

    @Test(arguments: [(ICERole.controlling, ICERole.controlling), (.controlled, .controlled)])
    func aRoleConflictIsResolvedWhoeverHasTheLargerTieBreaker(left: ICERole, right: ICERole) {
        for seed in 0..<20 as Range<UInt64> {
            let duel = Duel(seed: seed, roles: (left, right))
            #expect(duel.connect(within: .seconds(3)), "seed \(seed)")
            #expect(duel.left.agent.role != duel.right.agent.role)
        }
    }

    /// Two pairs; the worse one is answered at 20 ms, the better one when told. Gives where USE-CANDIDATE went, and when.
    private func nomination(betterAnsweredAfter delay: Duration) throws -> (at: Duration, path: ICEPath)? {
        let peer = AgentPeer(.controlling, seed: 1, addresses: [Addresses.left, Addresses.leftV6])
        let other = AgentPeer(.controlled, seed: 2, addresses: [Addresses.right, Addresses.rightV6])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        for candidate in other.agent.localCandidates { peer.agent.addRemoteCandidate(candidate, now: Duel.start) }
        var answers: [(at: Duration, bytes: [UInt8], from: SocketAddress, to: SocketAddress)] = []
        for millisecond in 0..<400 {
            let elapsed = Duration.milliseconds(millisecond)
            let now = Duel.start + elapsed
            if let deadline = peer.nextDeadline, deadline <= now { peer.handleTimeout(now: now) }
            var sent = peer.drain(now: now)
            for answer in answers where answer.at == elapsed {
                sent += peer.inject(answer.bytes, from: answer.from, to: answer.to, now: now).sent
            }
            for (transmit, bytes) in sent {
                let request = try parse(bytes)
                if request.useCandidate {
                    return (elapsed, ICEPath(local: transmit.source, remote: transmit.destination))
                }
                let answer = try Forgery(
                    type: STUNMessageType(.success), transactionID: request.transactionID, priority: nil,
                    tieBreaker: nil, mappedAddress: transmit.source, password: other.agent.localCredentials.password
                ).bytes()
                let at = transmit.source == Addresses.left ? delay : .milliseconds(20)
                answers.append((at, answer, transmit.destination, transmit.source))
            }
        }
        return nil
    }

    @Test func aBetterPairIsWaitedForAMomentButNotLong() throws {
        let better = ICEPath(local: Addresses.left, remote: Addresses.right)
        let worse = ICEPath(local: Addresses.leftV6, remote: Addresses.rightV6)
        let prompt = try #require(try nomination(betterAnsweredAfter: .milliseconds(50)))
        #expect(prompt.path == better)
        #expect(prompt.at == .milliseconds(50))
        let slow = try #require(try nomination(betterAnsweredAfter: .milliseconds(300)))
        #expect(slow.path == worse)
        #expect(slow.at == .milliseconds(60))
    }

    @Test func onlyPairsOfOneFamilyAndKindAreChecked() {
        let loopback = SocketAddress(ip: .loopbackV4, port: 5_003)
        let duel = Duel(
            leftAddresses: [Addresses.left, Addresses.leftV6, loopback],
            rightAddresses: [Addresses.right, Addresses.rightV6])
        duel.introduce()
        duel.run(.seconds(2))
        let paths = Set(duel.left.sent.map { [$0.transmit.source, $0.transmit.destination] })
        #expect(paths == [[Addresses.left, Addresses.right], [Addresses.leftV6, Addresses.rightV6]])
    }

    @Test func behindANATBothSidesLearnTheAddressOutside() {
        let duel = Duel()
        duel.simulation.nats[Simulation.Side.left.rawValue] = SimulatedNAT(address: Addresses.natOutside)
        #expect(duel.connect())
        let outside = SocketAddress(ip: Addresses.natOutside, port: 40_000)
        #expect(duel.right.agent.selectedPath?.remote == outside)
        #expect(duel.right.agent.statistics.selectedRemote?.type == .peerReflexive)
        #expect(duel.left.agent.statistics.selectedLocal?.type == .peerReflexive)
        #expect(duel.left.agent.statistics.selectedLocal?.address == outside)
        #expect(duel.left.agent.statistics.selectedLocal?.relatedAddress == Addresses.left)
    }

    @Test("RFC 8445 §14.2: checks of all agents are 5 ms apart")
    func aHundredAgentsShareOnePacerWithAtLeastFiveMillisecondsBetweenChecks() {
        let pacer = TransactionPacer()
        let agents = (0..<100 as Range<UInt64>).map { index in
            AgentPeer(.controlling, seed: index, pacer: pacer, addresses: [Addresses.left])
        }
        let other = AgentPeer(.controlled, seed: 1_000, addresses: [Addresses.right])
        for peer in agents {
            peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
            peer.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        }
        var firstChecks: [Instant] = []
        for millisecond in 0..<499 {
            let now = Duel.start + .milliseconds(millisecond)
            for peer in agents {
                guard let deadline = peer.nextDeadline, deadline <= now else { continue }
                peer.handleTimeout(now: now)
                firstChecks += peer.drain(now: now).map { _ in now }
            }
        }
        #expect(firstChecks.count == 100)
        #expect(zip(firstChecks, firstChecks.dropFirst()).allSatisfy { $1 - $0 >= .milliseconds(5) })
    }

    @Test(
        "RFC 8445 §14.3: the first RTO grows with all checks of the process; the first answer brings it down to 500 ms")
    func aPathThatHasAnsweredIsNotMadeToWaitForTheOthers() throws {
        let pacer = TransactionPacer()
        let agents = (0..<3 as Range<UInt64>).map { index in
            AgentPeer(.controlling, seed: index, pacer: pacer, addresses: [Addresses.left])
        }
        let other = AgentPeer(.controlled, seed: 1_000, addresses: [Addresses.right])
        for peer in agents {
            peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
            for index in 0..<60 as Range<UInt32> {
                peer.agent.addRemoteCandidate(
                    ICECandidate(
                        foundation: "\(index)", priority: 1_000 + index,
                        address: SocketAddress(ip: IPAddress(v4: 0xC633_6500 + index), port: 6_000), type: .host),
                    now: Duel.start)
            }
        }
        let left = agents[0]
        left.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        other.agent.setRemoteCredentials(left.agent.localCredentials, now: Duel.start)
        var sent: [STUNTransactionID: [Instant]] = [:]
        var nominations: Set<STUNTransactionID> = []
        for millisecond in 0..<2_600 {
            let now = Duel.start + .milliseconds(millisecond)
            for peer in agents {
                if let deadline = peer.nextDeadline, deadline <= now { peer.handleTimeout(now: now) }
                for (transmit, bytes) in peer.drain(now: now) {
                    let message = try parse(bytes)
                    sent[message.transactionID, default: []].append(now)
                    if message.useCandidate { nominations.insert(message.transactionID) }
                    guard peer === left, transmit.destination == Addresses.right, !message.useCandidate else {
                        continue
                    }
                    let answers = other.inject(bytes, from: Addresses.left, to: Addresses.right, now: now).sent
                    for (_, answer) in answers {
                        _ = left.agent.handle(
                            datagram: answer.span.bytes, path: ICEPath(local: Addresses.left, remote: Addresses.right),
                            now: now)
                    }
                }
            }
        }
        // Those that two agents with 60 pairs each still have, and at the beginning 61 of the third.
        let unanswered = sent.filter { !nominations.contains($0.key) }.values.filter { $0.count > 1 }
        #expect(unanswered.count > 100)
        #expect(unanswered.count { $0[1] - $0[0] < .milliseconds(600) } <= 1)
        #expect(unanswered.allSatisfy { $0[1] - $0[0] >= .milliseconds(500) && $0[1] - $0[0] <= .milliseconds(905) })
        let nomination = try #require(nominations.compactMap { sent[$0] }.first { $0.count > 1 })
        #expect(nomination[1] - nomination[0] == .milliseconds(500))
    }

    @Test("RFC 8445 §6.1.2.5: a checklist holds 100 pairs at most")
    func theChecklistHoldsAtMostAHundredPairsAndKeepsTheBest() {
        let addresses = (0..<4).map { SocketAddress(ip: IPAddress(v4: 0xC000_0210 + UInt32($0)), port: 5_000) }
        let peer = AgentPeer(.controlling, seed: 1, addresses: addresses)
        let other = AgentPeer(.controlled, seed: 2, addresses: [Addresses.right])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        for index in 0..<60 as Range<UInt32> {
            peer.agent.addRemoteCandidate(
                ICECandidate(
                    foundation: "\(index)", priority: 1_000 + index,
                    address: SocketAddress(ip: IPAddress(v4: 0xC633_6400 + index), port: 6_000), type: .host),
                now: Duel.start)
        }
        var destinations: [SocketAddress: Int] = [:]
        for millisecond in 0..<2_000 {
            let now = Duel.start + .milliseconds(millisecond)
            if let deadline = peer.nextDeadline, deadline <= now { peer.handleTimeout(now: now) }
            for (transmit, _) in peer.drain(now: now) { destinations[transmit.destination, default: 0] += 1 }
        }
        #expect(peer.agent.statistics.requestsSent == 100)
        // The candidates of the highest priority, though they came last.
        #expect(destinations.keys.allSatisfy { $0.ip.v4Bits >= 0xC633_6400 + 35 })
    }

    @Test("RFC 8445 §14.3: a check is repeated after 500 ms at the earliest")
    func aCheckIsRepeatedUnchangedSevenTimesWithDoublingIntervals() {
        let duel = Duel()
        duel.simulation.filter = { _, _ in false }
        duel.introduce()
        duel.run(.seconds(39))
        let times = duel.left.sent.map { ($0.at - Duel.start).inMilliseconds }
        #expect(times == [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500])
        #expect(Set(duel.left.sent.map(\.bytes)).count == 1)
    }
}
