import EmisoraCore
import EmisoraCrypto
import EmisoraSTUN
import EmisoraSimulation
import EmisoraTURN
import Testing

/// A server that refuses or misbehaves, and others that pretend to be it.
@Suite struct TURNOpponentTests {
    private typealias Server = SimulatedTURNServer

    private static let relayed = SocketAddress(ip: Addresses.relay, port: 50_000)
    private static let evil = SocketAddress(ip: Addresses.stranger.ip, port: 1)

    /// A success of an Allocate that says that `evil` is the relayed address.
    private static func forgedSuccess(_ id: STUNTransactionID, _ integrity: STUNIntegrity? = nil) -> [UInt8] {
        Server.message(STUNMessageType(.success, .allocate), id, integrity: integrity) { builder throws(STUNError) in
            try builder.add(STUNAttribute.xorRelayedAddress, xorAddress: evil)
            try builder.add(attribute: STUNAttribute.lifetime, word: 600)
            try builder.add(xorMappedAddress: evil)
        }
    }

    private static func forgedError(
        _ method: STUNMessageType.Method, _ id: STUNTransactionID, _ code: UInt16, _ integrity: STUNIntegrity? = nil
    ) -> [UInt8] {
        Server.message(STUNMessageType(.error, method), id, integrity: integrity) { builder throws(STUNError) in
            try builder.add(errorCode: code, reason: "")
        }
    }

    private static let wrongKey = STUNIntegrity.sha1(HMACSHA1Key(Array("not the key".utf8).span.bytes))

    @Test func answersWithAForeignTransactionChangeNothing() {
        let pair = ClientAndServer()
        pair.start()
        let before = pair.fingerprint
        let sent = pair.sent.count
        for method in STUNMessageType.Method.allCases {
            for code in [300, 401, 437, 438, 486] as [UInt16] {
                for integrity in [nil, Self.wrongKey] {
                    let bytes = Self.forgedError(method, STUNTransactionID(high: 1, low: 2), code, integrity)
                    #expect(pair.inject(bytes) == .ignored)
                }
            }
        }
        #expect(pair.inject(Self.forgedSuccess(STUNTransactionID(high: 1, low: 2))) == .ignored)
        pair.exchange()
        #expect(pair.fingerprint == before)
        #expect(pair.sent.count == sent)
    }

    @Test func anAllocationIsBelievedOnlyWithTheServersProofAndAddress() throws {
        let pair = ClientAndServer()
        var real: [UInt8] = []
        pair.onAnswer = { bytes in
            guard (try? parse(bytes).type) == STUNMessageType(.success, .allocate) else { return bytes }
            real = bytes
            return nil
        }
        pair.start()
        let id = try parse(real).transactionID
        #expect(pair.inject(Self.forgedSuccess(id)) == .ignored)
        #expect(pair.inject(Self.forgedSuccess(id, Self.wrongKey)) == .ignored)
        #expect(pair.inject(Self.forgedError(.allocate, id, 486, Self.wrongKey)) == .ignored)
        #expect(pair.inject(real, from: Addresses.stranger) == .ignored)
        // All but the FINGERPRINT, which is not covered, since nothing depends on it.
        for bit in 0..<(real.count - 8) * 8 {
            var damaged = real
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(pair.inject(damaged) == .ignored, "bit \(bit)")
        }
        #expect(pair.client.state == .allocating)
        #expect(pair.inject(real) == .handled)
        #expect(pair.client.relayedAddress == Self.relayed)
    }

    @Test func anUnsignedErrorIsBelievedOnlyIfNoSignedAnswerFollows() throws {
        for hasRealAnswer in [true, false] {
            let pair = ClientAndServer()
            var real: [UInt8] = []
            pair.onAnswer = { bytes in
                guard (try? parse(bytes).type) == STUNMessageType(.success, .allocate) else { return bytes }
                real = bytes
                return nil
            }
            pair.start()
            pair.inject(Self.forgedError(.allocate, try parse(real).transactionID, 508))
            pair.exchange()
            #expect(pair.client.state == .allocating)
            if hasRealAnswer { pair.inject(real) }
            pair.exchange()
            pair.isConnected = false
            pair.run(.seconds(2))
            #expect(
                pair.events
                    == [
                        hasRealAnswer
                            ? .allocated(relayed: Self.relayed, mapped: Addresses.left) : .failed(.insufficientCapacity)
                    ])
        }
    }

    @Test(
        arguments: [
            (300, .redirected(to: SocketAddress(ip: Addresses.peer.ip, port: 3_479))), (400, .rejected(code: 400)),
            (403, .forbidden), (437, .fiveTupleInUse), (440, .addressFamilyNotSupported), (441, .unauthorized),
            (442, .unsupportedTransport), (486, .quotaReached), (508, .insufficientCapacity),
        ] as [(UInt16, TURNError)], [true, false])
    func refusalsAreToldInWordsThatHelp(_ refusal: (code: UInt16, error: TURNError), isSigned: Bool) {
        let pair = ClientAndServer()
        pair.server.refusal = (refusal.code, isSigned)
        pair.server.alternate = SocketAddress(ip: Addresses.peer.ip, port: 3_479)
        pair.start()
        pair.run(.seconds(2))
        #expect(pair.events == [.failed(refusal.error)])
        #expect(refusal.error.description.count > 30)
        #expect(pair.client.nextDeadline == nil)
        // Never another Allocate on this five-tuple.
        pair.client.start(now: pair.now)
        pair.exchange()
        #expect(Set(pair.sent).count == 2)
    }

    @Test func aWrongPasswordIsSaidSoAfterOneTry() {
        let pair = ClientAndServer(credentials: STUNLongTermCredentials(username: "lab", password: "wrong"))
        pair.start()
        #expect(pair.events == [.failed(.unauthorized)])
        #expect(pair.server.requests[.allocate] == 2)
        let without = ClientAndServer(credentials: nil)
        without.start()
        #expect(without.events == [.failed(.credentialsMissing)])
    }

    @Test func aServerWhoseNoncesAreAllStaleIsLeftAfterThreeTries() {
        let pair = ClientAndServer()
        pair.server.nonceLifetime = .zero
        pair.start()
        #expect(pair.events == [.failed(.staleNonce)])
        #expect(pair.server.requests[.allocate] == 4)
    }

    @Test func aServerThatNamesAnotherRealmEachTimeIsLeftAfterThreeTries() throws {
        let pair = ClientAndServer()
        var realms = 0
        pair.onAnswer = { bytes in
            guard let id = try? parse(bytes).transactionID else { return bytes }
            realms += 1
            return Server.message(STUNMessageType(.error, .allocate), id, integrity: nil) { builder throws(STUNError) in
                try builder.add(errorCode: 401, reason: "")
                try builder.add(attribute: STUNAttribute.realm, value: Array("realm \(realms)".utf8))
                try builder.add(attribute: STUNAttribute.nonce, value: [1])
            }
        }
        pair.start()
        #expect(pair.client.hasEnded)
        #expect(realms == 4)
    }

    @Test func whoeverTakesTheAlgorithmsOutOfAChallengeGetsNoWeakerProof() throws {
        let pair = ClientAndServer()
        pair.server.authentication = .sha256
        pair.onAnswer = { bytes in
            guard let message = try? parse(bytes), let realm = message.realm, let nonce = message.nonce else {
                return bytes
            }
            return Server.message(message.type, message.transactionID, integrity: nil) { builder throws(STUNError) in
                try builder.add(errorCode: 401, reason: "")
                try builder.add(attribute: STUNAttribute.realm, value: realm)
                try builder.add(attribute: STUNAttribute.nonce, value: nonce)
            }
        }
        pair.start()
        #expect(pair.events == [.failed(.malformedAnswer)])
        #expect(try pair.sent.allSatisfy { try !parse($0).hasIntegrity })
    }

    @Test func aForgedChallengeDuringTheCallCostsNoAllocation() throws {
        let pair = ClientAndServer()
        pair.start()
        // The forger saw the request and is faster than the server; each time.
        pair.onAnswer = { bytes in
            guard let message = try? parse(bytes), message.type.method == 4 else { return bytes }
            return Self.forgedError(.refresh, message.transactionID, 401)
        }
        pair.run(.seconds(570))
        #expect(pair.client.relayedAddress == Self.relayed)
        pair.onAnswer = nil
        pair.run(.seconds(1_000))
        #expect(pair.client.relayedAddress == Self.relayed)
    }

    @Test func dataCountsOnlyFromThoseWhoWereLetIn() {
        let pair = ClientAndServer()
        func indication(from peer: SocketAddress, _ data: [UInt8]?) -> [UInt8] {
            Server.message(
                STUNMessageType(.indication, .data), STUNTransactionID(high: 9, low: 9), integrity: nil
            ) { builder throws(STUNError) in
                try builder.add(STUNAttribute.xorPeerAddress, xorAddress: peer)
                if let data { try builder.add(attribute: STUNAttribute.data, value: data) }
            }
        }
        #expect(pair.inject(indication(from: Addresses.peer, [1])) == .ignored)
        pair.start()
        #expect(pair.inject(indication(from: Addresses.peer, [1])) == .ignored)
        pair.send([1], to: Addresses.peer)
        #expect(pair.inject(indication(from: Addresses.stranger, [1])) == .ignored)
        #expect(pair.inject(indication(from: Addresses.peer, nil)) == .ignored)
        #expect(pair.inject(indication(from: Addresses.peer, [1]), from: Addresses.stranger) == .ignored)
        let good = indication(from: Addresses.peer, [7, 8, 9])
        guard case .data(let range, Addresses.peer) = pair.inject(good) else {
            Issue.record("the peer's own datagram was not taken")
            return
        }
        #expect(Array(good[range]) == [7, 8, 9])
    }

    @Test func channelDataWithAnUnknownNumberOrAWrongLengthIsIgnored() {
        let pair = ClientAndServer()
        pair.start()
        pair.send([1], to: Addresses.peer)
        pair.receive([2], from: Addresses.peer)
        pair.send([3], to: Addresses.peer)
        #expect(pair.inject([0x40, 0x00, 0x00, 0x02, 1, 2]) == .data(4..<6, peer: Addresses.peer))
        // Padding is no part of it.
        #expect(pair.inject([0x40, 0x00, 0x00, 0x02, 1, 2, 0, 0]) == .data(4..<6, peer: Addresses.peer))
        for bytes in [
            [0x40, 0x01, 0x00, 0x02, 1, 2], [0x40, 0x00, 0x00, 0x03, 1, 2], [0x40, 0x00, 0xFF, 0xFF, 1, 2],
            [0x40, 0x00, 0x00, 0x00], [0x40, 0x00, 0x00], [0x40], [], [0x4F, 0xFF, 0x00, 0x01, 1],
        ] as [[UInt8]] {
            #expect(pair.inject(bytes) == .ignored)
        }
    }

    @Test func nonsenseInASignedAnswerIsNoAllocation() throws {
        for address in [
            SocketAddress(ip: Addresses.relay, port: 0),
            SocketAddress(ip: IPAddress(v6High: 0x2001_0DB8_0000_0000, low: 1), port: 1),
        ] {
            let pair = ClientAndServer()
            let key = try #require(credentials.key(realm: Array("lab.test".utf8), algorithm: .md5))
            pair.onAnswer = { bytes in
                guard let message = try? parse(bytes), message.type == STUNMessageType(.success, .allocate) else {
                    return bytes
                }
                return Server.message(
                    message.type, message.transactionID, integrity: .sha1(HMACSHA1Key(key.span.bytes))
                ) { builder throws(STUNError) in
                    try builder.add(STUNAttribute.xorRelayedAddress, xorAddress: address)
                    try builder.add(attribute: STUNAttribute.lifetime, word: 600)
                }
            }
            pair.start()
            #expect(pair.events == [.failed(.malformedAnswer)])
        }
    }

    @Test func tenThousandDamagedDatagramsNeitherTrapNorDisturb() {
        let pair = ClientAndServer()
        var samples: [[UInt8]] = []
        pair.onAnswer = { bytes in
            samples.append(bytes)
            return bytes
        }
        pair.start()
        pair.send([1], to: Addresses.peer)
        pair.receive([2], from: Addresses.peer)
        pair.send([3], to: Addresses.peer)
        pair.receive([4], from: Addresses.peer)
        pair.onAnswer = nil
        samples.append([0x40, 0x00, 0x00, 0x02, 1, 2])
        #expect(samples.count >= 7)
        let before = pair.fingerprint
        let sent = pair.sent.count
        var random = SeededRandom(8_656)
        for round in 0..<10_000 {
            var bytes = samples[round % samples.count]
            if round % 5 == 0 {
                bytes = (0..<Int(random.next() % 64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            } else {
                for _ in 0...Int(random.next() % 4) {
                    bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
                }
                if random.next() % 4 == 0 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
            }
            switch pair.inject(bytes) {
            case .ignored: break
            case .handled: Issue.record("round \(round) was believed")
            case .data(let range, let peer):
                #expect(range.upperBound <= bytes.count && peer.ip == Addresses.peer.ip)
            }
        }
        pair.exchange()
        #expect(pair.fingerprint == before)
        #expect(pair.sent.count == sent)
        #expect(pair.send([5], to: Addresses.peer))
    }
}
