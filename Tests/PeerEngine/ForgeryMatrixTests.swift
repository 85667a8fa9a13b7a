import EmisoraCore
import EmisoraCrypto
import EmisoraICE
import EmisoraPeerEngine
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// What strangers, and a peer that breaks the rules, send on a connection that stands: it never changes the pair or the
/// state, tears nothing down, and is never answered with more than twice its size.
@Suite struct ForgeryMatrixTests {
    enum Forgery: String, CaseIterable {
        case withoutIntegrity, wrongIntegrity, wrongFragment, withoutUsername, usernameWithoutColon
        case usernameOf513Bytes, successOfForeignTransaction, errorOfForeignTransaction, unsignedAnswer
        case answerFromElsewhere, wrongFingerprint, truncated, wrongLength, useCandidateFromTheControlledSide
        case useCandidateBehindTheIntegrity, unknownRequiredAttribute, indication, unknownMethod

        /// Carries the password that only the peer knows, so that it can come from the peer alone.
        var isThePeers: Bool {
            switch self {
            case .useCandidateFromTheControlledSide, .useCandidateBehindTheIntegrity, .unknownRequiredAttribute: true
            default: false
            }
        }
    }

    static let stranger = SocketAddress(ip: IPAddress(v4: 0xCB00_7101), port: 9_999)
    private static let id = STUNTransactionID(high: 1, low: 2)

    @Test(arguments: Forgery.allCases, [false, true])
    func aForgeryChangesNothing(_ forgery: Forgery, againstTheSender: Bool) throws {
        let call = try Call()
        #expect(call.connect())
        call.run(.seconds(2))
        let victim = againstTheSender ? call.sender : call.receiver
        let local = againstTheSender ? PeerEngineTests.leftAddress : PeerEngineTests.rightAddress
        let remote = againstTheSender ? PeerEngineTests.rightAddress : PeerEngineTests.leftAddress
        let bytes = try bytes(of: forgery, against: victim, in: call, isSender: againstTheSender)
        _ = victim.drain(now: call.simulation.now)
        while victim.pollEvent() != nil {}

        let before = Self.fingerprint(of: victim)
        // An answer to a request that was really made comes from the wrong side by its nature.
        let sources =
            forgery.isThePeers || forgery == .unsignedAnswer
            ? [remote] : forgery == .answerFromElsewhere ? [Self.stranger] : [Self.stranger, remote]
        for source in sources {
            let path = ICEPath(local: local, remote: source)
            let replies = victim.inject(bytes, path: path, now: call.simulation.now)
            #expect(replies.allSatisfy { $0.transmit.destination == source })
            #expect(replies.reduce(0) { $0 + $1.bytes.count } <= 2 * bytes.count)
            #expect(victim.pollEvent() == nil)
            #expect(Self.fingerprint(of: victim) == before)
            #expect(victim.isValidated(path) == (source == remote))
        }

        #expect(try call.stream(.seconds(1)).count >= 29)
        call.run(.seconds(60))
        #expect(call.areConnected)
        #expect(Self.fingerprint(of: victim) == before)
    }

    /// Pair and state.
    private static func fingerprint(of engine: PeerEngine<NullSecurity>) -> [String] {
        let statistics = engine.statistics
        return [
            "\(statistics.state)", "\(String(describing: statistics.ice.selectedLocal))",
            "\(String(describing: statistics.ice.selectedRemote))", "\(statistics.security)",
        ]
    }

    // MARK: Forging

    private func bytes(
        of forgery: Forgery, against victim: PeerEngine<NullSecurity>, in call: Call<NullSecurity>, isSender: Bool
    ) throws -> [UInt8] {
        let ours = isSender ? call.senderDescription : call.receiverDescription
        let theirs = isSender ? call.receiverDescription : call.senderDescription
        let fragment = try #require(attribute("ice-ufrag", of: ours))
        let username = "\(fragment):\(try #require(attribute("ice-ufrag", of: theirs)))"
        let key = Self.key(try #require(attribute("ice-pwd", of: ours)))
        let wrong = Self.key("this is not the password")
        // The receiver has offered, so that it controls and the sender is controlled.
        let isVictimControlling = !isSender
        func check(
            _ username: String?, _ integrity: STUNIntegrity?, isControlling: Bool? = nil,
            attribute: UInt16? = nil
        ) -> [UInt8] {
            Self.request(
                username: username.map { Array($0.utf8) }, integrity: integrity,
                isControlling: isControlling ?? !isVictimControlling, attribute: attribute)
        }
        switch forgery {
        case .withoutIntegrity: return check(username, nil)
        case .wrongIntegrity: return check(username, wrong)
        case .wrongFragment: return check("abcd:efgh", wrong)
        case .withoutUsername: return check(nil, wrong)
        case .usernameWithoutColon: return check(fragment, key)
        case .usernameOf513Bytes:
            return Self.request(
                username: Array("\(fragment):".utf8) + [UInt8](repeating: 0x61, count: 512 - fragment.utf8.count),
                integrity: key, isControlling: !isVictimControlling)
        case .successOfForeignTransaction: return Self.answer(id: Self.id, mapped: Self.stranger, integrity: wrong)
        case .errorOfForeignTransaction: return Self.error(id: Self.id, code: 487, integrity: wrong)
        case .unsignedAnswer, .answerFromElsewhere:
            let id = try pendingTransaction(of: victim, in: call, isSender: isSender)
            return Self.answer(id: id, mapped: Self.stranger, integrity: forgery == .unsignedAnswer ? nil : wrong)
        case .wrongFingerprint:
            var bytes = check(username, key)
            bytes[bytes.count - 1] ^= 1
            return bytes
        case .truncated: return Array(check(username, key).dropLast(9))
        case .wrongLength:
            var bytes = check(username, key)
            bytes[3] &+= 4
            return bytes
        case .useCandidateFromTheControlledSide:
            // Where the victim is controlled itself, the larger tie-breaker keeps it so.
            return check(username, key, isControlling: false)
        case .useCandidateBehindTheIntegrity:
            return Self.appendingUseCandidate(
                to: Self.request(
                    username: Array(username.utf8), integrity: key, isControlling: !isVictimControlling,
                    useCandidate: false))
        case .unknownRequiredAttribute: return check(username, key, attribute: 0x7ABC)
        case .indication:
            var bytes = check(username, nil)
            bytes[1] = 0x11
            return Self.sealed(bytes)
        case .unknownMethod:
            var bytes = check(username, key)
            bytes[1] = 0x02
            return Self.sealed(bytes)
        }
    }

    private static func key(_ password: String) -> STUNIntegrity {
        .sha1(HMACSHA1Key(Array(password.utf8).span.bytes))
    }

    private static func request(
        username: [UInt8]?, integrity: STUNIntegrity?, isControlling: Bool, useCandidate: Bool = true,
        attribute: UInt16? = nil
    ) -> [UInt8] {
        SimulatedTURNServer.message(STUNMessageType(.request), id, integrity: integrity) { builder throws(STUNError) in
            if let username { try builder.add(attribute: STUNAttribute.username, value: username) }
            try builder.add(priority: 0x6E00_01FF)
            try builder.add(tieBreaker: .max, isControlling: isControlling)
            if useCandidate { try builder.addUseCandidate() }
            if let attribute { try builder.add(attribute: attribute, value: [1, 2, 3, 4]) }
        }
    }

    private static func answer(id: STUNTransactionID, mapped: SocketAddress, integrity: STUNIntegrity?) -> [UInt8] {
        SimulatedTURNServer.message(STUNMessageType(.success), id, integrity: integrity) { builder throws(STUNError) in
            try builder.add(xorMappedAddress: mapped)
        }
    }

    private static func error(id: STUNTransactionID, code: UInt16, integrity: STUNIntegrity?) -> [UInt8] {
        SimulatedTURNServer.message(STUNMessageType(.error), id, integrity: integrity) { builder throws(STUNError) in
            try builder.add(errorCode: code, reason: "")
        }
    }

    /// FINGERPRINT anew, for a message that was changed after it was made.
    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        let checksum = CRC32.checksum(bytes.span.bytes.extracting(0..<bytes.count - 8)) ^ 0x5354_554E
        return bytes.dropLast(4) + (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (24 - 8 * $0)) }
    }

    /// USE-CANDIDATE where the integrity does not cover it.
    private static func appendingUseCandidate(to bytes: [UInt8]) -> [UInt8] {
        var changed = bytes.dropLast(8) + [0x00, 0x25, 0x00, 0x00] + bytes.suffix(8)
        let length = UInt16(changed.count - 20)
        changed[changed.startIndex + 2] = UInt8(length >> 8)
        changed[changed.startIndex + 3] = UInt8(truncatingIfNeeded: length)
        return sealed(Array(changed))
    }

    /// A consent check of the victim's whose answer never came.
    private func pendingTransaction(
        of victim: PeerEngine<NullSecurity>, in call: Call<NullSecurity>, isSender: Bool
    ) throws -> STUNTransactionID {
        var request: [UInt8]?
        call.simulation.filter = { side, bytes in
            guard request == nil, side == (isSender ? .left : .right), bytes.byteCount >= 20,
                bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == 0,
                bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self) == 1
            else { return true }
            request = bytes.withUnsafeBytes { Array($0) }
            return false
        }
        #expect(call.run(.seconds(7)) { request != nil })
        call.simulation.filter = nil
        let found = try #require(request)
        return try STUNMessage(parsing: found.span.bytes).transactionID
    }
}
