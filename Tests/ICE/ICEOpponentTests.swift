import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// What strangers and broken peers send: it changes nothing, and is never answered with much more than it cost.
@Suite struct ICEOpponentTests {
    /// A connected pair of agents, and the user name and password that checks for the left one carry.
    static func connected(_ roles: (ICERole, ICERole) = (.controlling, .controlled)) -> (
        duel: Duel, username: String, password: String
    ) {
        let duel = Duel(roles: roles)
        #expect(duel.connect())
        duel.run(.seconds(2))
        let local = duel.left.agent.localCredentials
        return (duel, "\(local.ufrag):\(duel.right.agent.localCredentials.ufrag)", local.password)
    }

    enum Attack: CaseIterable {
        case withoutIntegrity, withoutUsername, wrongPassword, wrongFragment, noColon, emptyUsername
        case indication, unknownMethod, foreignSuccess, foreignError, foreignSuccessSigned
    }

    @Test(arguments: Attack.allCases)
    func aForgedMessageChangesNothing(attack: Attack) throws {
        let (duel, username, password) = Self.connected()
        var forgery = Forgery(username: username, useCandidate: true, password: password)
        switch attack {
        case .withoutIntegrity: forgery.password = nil
        case .withoutUsername: forgery.username = nil
        case .wrongPassword: forgery.password = "0123456789012345678901234"
        case .wrongFragment: forgery.username = "abcd:efgh"
        case .noColon: forgery.username = duel.left.agent.localCredentials.ufrag
        case .emptyUsername: forgery.username = ""
        case .indication: forgery.type = STUNMessageType(.indication)
        case .unknownMethod: forgery.type = STUNMessageType(rawValue: 0x0003)
        case .foreignSuccess:
            forgery = Forgery(type: STUNMessageType(.success), mappedAddress: Addresses.left)
        case .foreignError:
            forgery = Forgery(type: STUNMessageType(.error), errorCode: 487)
        case .foreignSuccessSigned:
            forgery = Forgery(
                type: STUNMessageType(.success), mappedAddress: Addresses.left,
                password: duel.right.agent.localCredentials.password)
        }
        let bytes = try forgery.bytes()
        for source in [Addresses.stranger, Addresses.right] {
            let before = duel.left.fingerprint
            let (input, sent) = duel.left.inject(bytes, from: source, to: Addresses.left, now: duel.simulation.now)
            #expect(input == .ignored)
            #expect(duel.left.fingerprint == before)
            #expect(!duel.left.agent.isValidated(ICEPath(local: Addresses.left, remote: Addresses.stranger)))
            #expect(sent.allSatisfy { $0.transmit.destination == source })
            #expect(sent.reduce(0) { $0 + $1.bytes.count } <= 2 * bytes.count)
            for reply in sent {
                let message = try parse(reply.bytes)
                #expect(message.type == STUNMessageType(.error))
                #expect([400, 401].contains(message.errorCode))
                #expect(message.username == nil)
            }
        }
        duel.run(.seconds(60))
        #expect(duel.areConnected && duel.agreeOnPath)
    }

    @Test("RFC 8489 §9.1.3: 400 without credentials, 401 with wrong ones")
    func requestsWithoutCredentialsAreRefusedByTheRightNumber() throws {
        let (duel, username, password) = Self.connected()
        func refusal(_ forgery: Forgery) throws -> UInt16? {
            let (_, sent) = duel.left.inject(
                try forgery.bytes(), from: Addresses.stranger, to: Addresses.left, now: duel.simulation.now)
            return try sent.first.map { try parse($0.bytes).errorCode } ?? nil
        }
        #expect(try refusal(Forgery(username: username)) == 400)
        #expect(try refusal(Forgery(password: password)) == 400)
        #expect(try refusal(Forgery(username: username, password: "wrong password, long enough")) == 401)
    }

    @Test func anUnknownRequiredAttributeIsAnsweredWith420AndItsNumber() throws {
        let (duel, username, password) = Self.connected()
        let before = duel.left.fingerprint
        let bytes = try Forgery(username: username, useCandidate: true, password: password, hasUnknownAttribute: true)
            .bytes()
        let (_, sent) = duel.left.inject(bytes, from: Addresses.stranger, to: Addresses.left, now: duel.simulation.now)
        #expect(sent.count == 1)
        #expect(try parse(sent[0].bytes).errorCode == 420)
        // UNKNOWN-ATTRIBUTES with the one number in it.
        let list: [UInt8] = [0x00, 0x0A, 0x00, 0x02, 0x7A, 0xBC]
        #expect((0...sent[0].bytes.count - 6).contains { Array(sent[0].bytes[$0..<$0 + 6]) == list })
        #expect(duel.left.fingerprint == before)
        #expect(sent[0].bytes.count <= 2 * bytes.count)
    }

    @Test("RFC 8445 §7.3.1.5: USE-CANDIDATE from the controlled side nominates nothing")
    func useCandidateFromTheControlledSideNominatesNothing() throws {
        // The left one is controlled; the check says that its sender is controlled too, with the smaller tie-breaker.
        let duel = Duel(roles: (.controlled, .controlling), leftAddresses: [Addresses.left, Addresses.left2])
        #expect(duel.connect())
        // Longer than nominations count as made together, so that a new one would be followed.
        duel.run(.milliseconds(3_500))
        let selected = duel.left.agent.selectedPath
        let local = duel.left.agent.localCredentials
        for tieBreaker in [(UInt64.max, false), nil] as [(value: UInt64, isControlling: Bool)?] {
            let bytes = try Forgery(
                username: "\(local.ufrag):x", tieBreaker: tieBreaker, useCandidate: true, password: local.password
            ).bytes()
            _ = duel.left.inject(bytes, from: Addresses.right, to: Addresses.left2, now: duel.simulation.now)
            duel.run(.seconds(1))
            #expect(duel.left.agent.selectedPath == selected)
        }
    }

    @Test("RFC 8445 §7.3.1.1: the smaller tie-breaker is told with 487")
    func aConflictingRoleWithTheSmallerTieBreakerIsToldWith487() throws {
        let (duel, username, password) = Self.connected()
        let bytes = try Forgery(username: username, tieBreaker: (0, true), password: password).bytes()
        let (_, sent) = duel.left.inject(bytes, from: Addresses.right, to: Addresses.left, now: duel.simulation.now)
        let reply = try parse(try #require(sent.first).bytes)
        #expect(reply.errorCode == 487)
        #expect(reply.integrityOffset != nil)
        #expect(duel.left.agent.role == .controlling)
    }

    @Test("RFC 8445 §7.2.5.1: a 487 changes the role and the tie-breaker")
    func a487MakesTheAgentChangeItsRoleAndTryAgainWithANewTieBreaker() throws {
        let peer = AgentPeer(.controlling, seed: 3, addresses: [Addresses.left])
        let other = AgentPeer(.controlled, seed: 4, addresses: [Addresses.right])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        peer.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        peer.handleTimeout(now: Duel.start)
        let request = try parse(try #require(peer.drain(now: Duel.start).first).bytes)
        #expect(request.iceControlling != nil)
        let refusal = try Forgery(
            type: STUNMessageType(.error), transactionID: request.transactionID, priority: nil, tieBreaker: nil,
            errorCode: 487, password: other.agent.localCredentials.password
        ).bytes()
        let now = Duel.start + .milliseconds(20)
        let (input, sent) = peer.inject(refusal, from: Addresses.right, to: Addresses.left, now: now)
        #expect(input == .handled)
        #expect(peer.agent.role == .controlled)
        let second = try parse(try #require(sent.first).bytes)
        #expect(second.iceControlled != nil)
        #expect(second.iceControlled != request.iceControlling)
        #expect(second.transactionID != request.transactionID)
        // The first is not repeated, neither in its old role nor in the new one.
        peer.handleTimeout(now: Duel.start + .milliseconds(510))
        #expect(peer.drain(now: Duel.start + .milliseconds(510)).isEmpty)
    }

    @Test func afterA487NoCheckIsRepeatedInTheOldRole() throws {
        let peer = AgentPeer(.controlling, seed: 3, addresses: [Addresses.left, Addresses.left2])
        let other = AgentPeer(.controlled, seed: 4, addresses: [Addresses.right])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        peer.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        peer.handleTimeout(now: Duel.start)
        let request = try parse(try #require(peer.drain(now: Duel.start).first).bytes)
        peer.handleTimeout(now: Duel.start + .milliseconds(5))
        #expect(peer.drain(now: Duel.start + .milliseconds(5)).count == 1)
        let refusal = try Forgery(
            type: STUNMessageType(.error), transactionID: request.transactionID, priority: nil, tieBreaker: nil,
            errorCode: 487, password: other.agent.localCredentials.password
        ).bytes()
        var later = peer.inject(
            refusal, from: Addresses.right, to: Addresses.left, now: Duel.start + .milliseconds(20)
        ).sent
        for millisecond in 21..<2_000 {
            let now = Duel.start + .milliseconds(millisecond)
            if let deadline = peer.nextDeadline, deadline <= now { peer.handleTimeout(now: now) }
            later += peer.drain(now: now)
        }
        #expect(Set(later.map(\.transmit.source)) == [Addresses.left, Addresses.left2])
        #expect(try later.allSatisfy { try parse($0.bytes).iceControlled != nil })
    }

    @Test("RFC 8445 §7.2.5.2.1: an answer from another address fails the pair")
    func anAnswerFromAnotherAddressFailsThePair() throws {
        let peer = AgentPeer(.controlling, seed: 3, addresses: [Addresses.left])
        let other = AgentPeer(.controlled, seed: 4, addresses: [Addresses.right])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        peer.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        peer.handleTimeout(now: Duel.start)
        let request = try parse(try #require(peer.drain(now: Duel.start).first).bytes)
        #expect(peer.agent.ownsTransaction(request.transactionID))
        let answer = try Forgery(
            type: STUNMessageType(.success), transactionID: request.transactionID, priority: nil, tieBreaker: nil,
            mappedAddress: Addresses.left, password: other.agent.localCredentials.password
        ).bytes()
        _ = peer.inject(answer, from: Addresses.stranger, to: Addresses.left, now: Duel.start + .milliseconds(20))
        #expect(peer.agent.selectedPath == nil)
        #expect(!peer.agent.ownsTransaction(request.transactionID))
        // The right address is too late now.
        _ = peer.inject(answer, from: Addresses.right, to: Addresses.left, now: Duel.start + .milliseconds(21))
        #expect(peer.agent.selectedPath == nil)
        #expect(peer.agent.state == .checking)
    }

    @Test func anUnsignedAnswerToARealRequestIsNotBelieved() throws {
        let peer = AgentPeer(.controlling, seed: 3, addresses: [Addresses.left])
        let other = AgentPeer(.controlled, seed: 4, addresses: [Addresses.right])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        peer.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        peer.handleTimeout(now: Duel.start)
        let request = try parse(try #require(peer.drain(now: Duel.start).first).bytes)
        let now = Duel.start + .milliseconds(20)
        for password in [nil, peer.agent.localCredentials.password] {
            for code in [nil, 400, 401, 487] as [UInt16?] {
                let answer = try Forgery(
                    type: STUNMessageType(code == nil ? .success : .error), transactionID: request.transactionID,
                    priority: nil, tieBreaker: nil, mappedAddress: code == nil ? Addresses.left : nil, errorCode: code,
                    password: password
                ).bytes()
                let before = peer.fingerprint
                let (input, sent) = peer.inject(answer, from: Addresses.right, to: Addresses.left, now: now)
                #expect(input == .ignored && sent.isEmpty)
                #expect(peer.fingerprint == before)
            }
        }
        #expect(peer.agent.ownsTransaction(request.transactionID))
    }

    @Test func repeatedChecksOfAPeerCauseNoFloodOfOurs() throws {
        let peer = AgentPeer(.controlled, seed: 3, addresses: [Addresses.left])
        let other = AgentPeer(.controlling, seed: 4, addresses: [Addresses.right])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        peer.agent.addRemoteCandidate(other.agent.localCandidates[0], now: Duel.start)
        let local = peer.agent.localCredentials
        for millisecond in 0..<1_000 {
            let now = Duel.start + .milliseconds(millisecond)
            let check = try Forgery(
                transactionID: STUNTransactionID(high: 7, low: UInt64(millisecond)),
                username: "\(local.ufrag):x", useCandidate: true, password: local.password
            ).bytes()
            let reply = peer.inject(check, from: Addresses.right, to: Addresses.left, now: now).sent
            #expect(reply.contains { (try? parse($0.bytes).type) == STUNMessageType(.success) })
            if let deadline = peer.nextDeadline, deadline <= now { peer.handleTimeout(now: now) }
        }
        #expect(peer.agent.statistics.requestsSent <= 2)
    }

    @Test func checksFromManyPortsFillNoQueue() throws {
        let peer = AgentPeer(.controlled, seed: 3, addresses: [Addresses.left])
        let local = peer.agent.localCredentials
        let check = try Forgery(username: "\(local.ufrag):x", password: local.password).bytes()
        for port in 1_000..<3_000 as Range<UInt16> {
            let source = SocketAddress(ip: Addresses.right.ip, port: port)
            _ = peer.agent.handle(
                datagram: check.span.bytes, path: ICEPath(local: Addresses.left, remote: source), now: Duel.start)
        }
        #expect(peer.drain(now: Duel.start).count <= 64)
        let other = AgentPeer(.controlling, seed: 4, addresses: [Addresses.right])
        peer.agent.setRemoteCredentials(other.agent.localCredentials, now: Duel.start)
        #expect(peer.agent.remoteCandidates.count <= 16)
        for port in 1_000..<3_000 as Range<UInt16> {
            let source = SocketAddress(ip: Addresses.right.ip, port: port)
            _ = peer.inject(check, from: source, to: Addresses.left, now: Duel.start)
        }
        #expect(peer.agent.remoteCandidates.count <= 64)
    }

    @Test func aHundredThousandMutatedDatagramsNeitherTrapNorDisturb() throws {
        let (duel, _, _) = Self.connected()
        var samples = [try Forgery(username: "a:b", useCandidate: true, password: "some password of mine").bytes()]
        samples += duel.left.sent.prefix(6).map(\.bytes) + duel.right.sent.prefix(6).map(\.bytes)
        var random = SeededRandom(8_445)
        let now = duel.simulation.now
        let selected = duel.left.agent.selectedPath
        var sentBytes = 0
        var receivedBytes = 0
        for _ in 0..<100_000 {
            var bytes = samples[Int(random.next() % UInt64(samples.count))]
            for _ in 0...Int(random.next() % 3) {
                // Never the unchanged byte; nor the FINGERPRINT's type, without which a message may be genuine.
                bytes[Int(random.next() % UInt64(bytes.count - 8))] ^= UInt8(truncatingIfNeeded: random.next() | 1)
            }
            if random.next() % 4 == 0 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
            let (input, sent) = duel.left.inject(bytes, from: Addresses.stranger, to: Addresses.left, now: now)
            #expect(input == .ignored)
            receivedBytes += bytes.count
            sentBytes += sent.reduce(0) { $0 + $1.bytes.count }
        }
        #expect(sentBytes <= 2 * receivedBytes)
        #expect(duel.left.agent.selectedPath == selected)
        #expect(duel.left.agent.remoteCandidates.count == 1)
        duel.run(.seconds(60))
        #expect(duel.areConnected && duel.agreeOnPath)
    }
}
