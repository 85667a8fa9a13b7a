import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// What happens to a connection later: consent, moving peers, restarts, the end.
@Suite struct ICELifetimeTests {
    @Test("RFC 7675 §5.1: consent is asked for every 5 s, give or take a fifth")
    func consentIsAskedEveryFiveSecondsGiveOrTakeAFifth() {
        let duel = Duel()
        #expect(duel.connect())
        let connectedAt = duel.simulation.now
        duel.run(.seconds(600))
        let asked = duel.left.sent.filter {
            $0.at > connectedAt && (try? parse($0.bytes))?.type == STUNMessageType(.request)
        }
        let gaps = zip(asked, asked.dropFirst()).map { ($1.at - $0.at).inSeconds }
        #expect((100...150).contains(asked.count))
        #expect(gaps.allSatisfy { (4.0...6.0).contains($0) })
        #expect(Set(gaps).count > 50)
        #expect(Set(asked.compactMap { try? parse($0.bytes).transactionID }).count == asked.count)
        #expect(duel.left.agent.statistics.consentRequestsSent == UInt64(asked.count))
        #expect(duel.left.states == [.checking, .connected])
    }

    @Test("RFC 7675 §5.1: consent expires after 30 s, and these credentials with it")
    func consentExpiresAfterThirtySecondsOfSilenceAndThenNothingIsSentOrAnswered() throws {
        let duel = Duel()
        #expect(duel.connect())
        duel.run(.seconds(7))
        let silentSince = duel.simulation.now
        duel.simulation.filter = { side, _ in side == .left }
        #expect(duel.run(.seconds(60)) { duel.left.hasFailed })
        #expect(duel.left.states.suffix(2).first == .disconnected)
        let silence = duel.simulation.now - silentSince
        #expect(silence > .seconds(23) && silence <= .seconds(30))
        #expect(duel.left.agent.selectedPath == nil)
        #expect(!duel.left.agent.isValidated(ICEPath(local: Addresses.left, remote: Addresses.right)))
        // The peer's checks reach it again, but the consent of these credentials is gone for good.
        duel.simulation.filter = nil
        let sent = duel.left.sent.count
        duel.run(.seconds(20))
        #expect(duel.left.sent.count == sent)
        #expect(duel.left.hasFailed)
        #expect(duel.left.agent.nextDeadline == nil)
        #expect(!duel.simulation.isStalled)
    }

    @Test func aPathThatComesBackInTimeIsConnectedAgain() {
        let duel = Duel()
        #expect(duel.connect())
        duel.simulation.filter = { _, _ in false }
        #expect(duel.run(.seconds(20)) { duel.left.agent.state == .disconnected })
        duel.run(.seconds(8))
        duel.simulation.filter = nil
        #expect(duel.run(.seconds(8)) { duel.areConnected })
    }

    @Test(arguments: [ICERole.controlling, .controlled])
    func aPeerWhoseNATRebindsIsFollowed(roleBehindNAT: ICERole) {
        for seed in 0..<10 as Range<UInt64> {
            let duel = Duel(
                seed: seed, roles: (roleBehindNAT, roleBehindNAT == .controlling ? .controlled : .controlling))
            duel.simulation.nats[0] = SimulatedNAT(address: Addresses.natOutside)
            #expect(duel.connect())
            duel.run(.seconds(12))
            duel.simulation.nats[0]?.rebind()
            let moved = SocketAddress(ip: Addresses.natOutside, port: 40_001)
            #expect(
                duel.run(.seconds(15)) { duel.right.agent.selectedPath?.remote == moved && duel.areConnected },
                "seed \(seed)")
            duel.run(.seconds(120)) { duel.left.hasFailed || duel.right.hasFailed }
            #expect(duel.areConnected)
            #expect(duel.right.agent.selectedPath?.remote == moved)
        }
    }

    @Test func whenTheSelectedInterfaceDiesAnotherThatWorkedTakesOver() {
        let duel = Duel(leftAddresses: [Addresses.left, Addresses.left2])
        #expect(duel.connect())
        duel.run(.seconds(7))
        #expect(duel.left.agent.selectedPath?.local == Addresses.left)
        duel.left.cut = [Addresses.left]
        duel.right.cut = [Addresses.left]
        #expect(
            duel.run(.seconds(25)) {
                duel.areConnected && duel.agreeOnPath && duel.left.agent.selectedPath?.local == Addresses.left2
            })
        duel.run(.seconds(120)) { duel.left.hasFailed || duel.right.hasFailed }
        #expect(duel.areConnected && duel.agreeOnPath)
    }

    // MARK: Failure

    @Test("RFC 8863 §4: without any candidate there is no early failure", arguments: [false, true])
    func withoutAnyCandidateThereIsNoFailureBeforeTheTimeForPatience(saysEnd: Bool) {
        let duel = Duel()
        duel.introduce(candidates: false)
        if saysEnd { duel.left.agent.remoteEndOfCandidates(now: duel.simulation.now) }
        duel.run(.milliseconds(39_400))
        #expect(duel.left.agent.state == .checking)
        #expect(duel.run(.milliseconds(200)) { duel.left.hasFailed })
        guard case .failed(let reason) = duel.left.agent.state else { return }
        #expect(reason.contains("address"))
        #expect(!duel.simulation.isStalled)
    }

    @Test func aCandidateThatCameLateGetsAllItsChecksBeforeTheFailure() {
        let duel = Duel()
        duel.simulation.filter = { _, _ in false }
        duel.introduce(candidates: false)
        duel.run(.seconds(30))
        duel.left.agent.addRemoteCandidate(duel.right.agent.localCandidates[0], now: duel.simulation.now)
        duel.run(.seconds(39))
        #expect(duel.left.agent.state == .checking)
        #expect(duel.run(.seconds(2)) { duel.left.hasFailed })
        #expect(!duel.simulation.isStalled)
    }

    @Test("RFC 7675 §5.2: closing revokes consent at once") func closingRevokesConsentAtOnce() {
        let duel = Duel()
        #expect(duel.connect())
        duel.left.agent.close()
        #expect(duel.left.agent.selectedPath == nil)
        #expect(!duel.left.agent.isValidated(ICEPath(local: Addresses.left, remote: Addresses.right)))
        let sent = duel.left.sent.count
        duel.run(.seconds(60))
        #expect(duel.left.sent.count == sent)
        #expect(duel.left.agent.state == .closed)
    }

    // MARK: Restart

    @Test("RFC 8445 §9: a restart changes both credentials and keeps path and roles until the new path is ready")
    func aRestartKeepsThePathUntilTheNewOneIsReadyAndEndsConnected() {
        let duel = Duel()
        #expect(duel.connect())
        let old = duel.left.agent.localCredentials
        duel.left.agent.restart()
        #expect(duel.left.agent.localCredentials.ufrag != old.ufrag)
        #expect(duel.left.agent.localCredentials.password != old.password)
        #expect(duel.left.agent.ownsLocalFragment(old.ufrag))
        // The peer's answer takes a minute; the consent of both sides lives on meanwhile.
        duel.run(.seconds(60))
        #expect(duel.areConnected && duel.agreeOnPath)
        duel.right.agent.setRemoteCredentials(duel.left.agent.localCredentials, now: duel.simulation.now)
        duel.right.agent.restart()
        duel.introduce()
        #expect(duel.left.agent.selectedPath != nil)
        #expect(duel.run(.seconds(2)) { duel.areConnected && duel.agreeOnPath })
        #expect(!duel.left.agent.ownsLocalFragment(old.ufrag))
        #expect(duel.left.agent.role == .controlling)
        duel.run(.seconds(120))
        #expect(duel.areConnected && duel.agreeOnPath)
    }

    @Test func aConsentAnswerThatIsOnItsWayDuringARestartCounts() {
        let duel = Duel()
        #expect(duel.connect())
        let asked = duel.left.agent.statistics.consentRequestsSent
        #expect(duel.run(.seconds(7)) { duel.left.agent.statistics.consentRequestsSent > asked })
        let answered = duel.left.agent.statistics.responsesReceived
        duel.left.agent.restart()
        duel.run(.milliseconds(100))
        #expect(duel.left.agent.statistics.responsesReceived == answered + 1)
    }

    @Test func aRestartAfterFailureConnectsAgain() {
        let duel = Duel()
        #expect(duel.connect())
        duel.simulation.filter = { _, _ in false }
        #expect(duel.run(.seconds(60)) { duel.left.hasFailed && duel.right.hasFailed })
        duel.simulation.filter = nil
        duel.left.agent.restart()
        duel.right.agent.restart()
        #expect(duel.connect())
    }

    @Test func aRestartBecauseThePathDiedIsNotEndedByTheOldPathsConsent() {
        let duel = Duel()
        #expect(duel.connect())
        duel.simulation.filter = { _, _ in false }
        duel.run(.seconds(20))
        duel.left.agent.restart()
        duel.right.agent.restart()
        duel.introduce()
        duel.run(.seconds(15))
        #expect(duel.left.agent.selectedPath == nil)
        #expect(duel.left.agent.state == .checking)
        duel.simulation.filter = nil
        #expect(duel.run(.seconds(20)) { duel.areConnected && duel.agreeOnPath })
    }
}
