import EmisoraCore
import EmisoraICE
import EmisoraSTUN
import EmisoraSimulation
import Testing

/// What every check must carry, and what selected and valid pairs are for.
@Suite struct RuleTests {
    @Test(
        "RFC 8445 §7.1: checks carry PRIORITY, role and FINGERPRINT; USE-CANDIDATE is the controlling side's",
        arguments: [ICERole.controlling, .controlled])
    func whatChecksCarry(left: ICERole) throws {
        let duel = Duel(
            roles: (left, left == .controlling ? .controlled : .controlling),
            leftAddresses: [Addresses.left, Addresses.left2])
        #expect(duel.connect())
        duel.run(.seconds(30))
        for (peer, role) in [(duel.left, left), (duel.right, left == .controlling ? .controlled : .controlling)] {
            let requests = try peer.sent.map { try parse($0.bytes) }.filter { $0.type == STUNMessageType(.request) }
            #expect(requests.count > 5)
            // RFC 8445 §7.1.1: as a peer-reflexive candidate has it.
            #expect(requests.allSatisfy { $0.priority.map { $0 >> 24 == 110 } == true })
            #expect(requests.allSatisfy { $0.hasFingerprint && $0.integrityOffset != nil })
            #expect(requests.allSatisfy { ($0.iceControlling != nil) == (role == .controlling) })
            #expect(requests.allSatisfy { ($0.iceControlled != nil) == (role == .controlled) })
            #expect(requests.contains(where: \.useCandidate) == (role == .controlling))
        }
    }

    @Test("RFC 8445 §12: media goes out on the selected pair alone and is accepted on any valid one")
    func selectedAndValidPairs() throws {
        let duel = Duel(leftAddresses: [Addresses.left, Addresses.left2])
        #expect(duel.connect())
        duel.run(.seconds(5))
        let paths = [Addresses.left, Addresses.left2].map { ICEPath(local: $0, remote: Addresses.right) }
        #expect(paths.allSatisfy(duel.left.agent.isValidated))
        #expect(duel.left.agent.selectedPath == paths[0])
        #expect(!duel.left.agent.isValidated(ICEPath(local: Addresses.left, remote: Addresses.stranger)))
    }

    @Test("RFC 8445 §5.3: passwords have 128 bits and more, fragments 24, and none comes twice")
    func credentialsAreLongAndFresh() {
        var random = SeededRandom(1)
        let all = (0..<1_000).map { _ in ICECredentials(using: &random) }
        // Six bits each.
        #expect(all.allSatisfy { $0.password.utf8.count * 6 >= 128 && $0.ufrag.utf8.count * 6 >= 24 })
        #expect(Set(all.map(\.password)).count == 1_000 && Set(all.map(\.ufrag)).count == 1_000)
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        #expect(Set(all.flatMap { Array($0.password) }) == alphabet)
    }
}
