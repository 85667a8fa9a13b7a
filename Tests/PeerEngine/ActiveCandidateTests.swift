import EmisoraCore
import EmisoraICE
import EmisoraSDP
import EmisoraSTUN
import EmisoraSimulation
import Testing

@testable import EmisoraPeerEngine

/// What the peer is told of the connections that we make and take.
@Suite struct ActiveCandidateTests {
    @Test("RFC 6544 §5.1: beside each passive candidate an active one is told, with port 9 and a higher priority")
    func eachAddressIsToldAsOneThatConnects() throws {
        let now = Instant.zero + .seconds(1)
        let passive = SocketAddress(ip: PeerEngineTests.leftAddress.ip, port: 50_000)
        let later = SocketAddress(ip: IPAddress(v4: 0xC000_0299), port: 50_001)
        var configuration = PeerEngineTests.configuration(PeerEngineTests.leftAddress, sends: true)
        configuration.passiveAddresses = [passive]
        let engine = PeerEngine(
            configuration: configuration, security: NullSecurity(), pacer: TransactionPacer(),
            random: RandomSource(SeededRandom(1)), now: now)
        let told = try engine.makeOffer().split(separator: "\r\n").filter { $0.hasPrefix("a=candidate:") }
            .map { try #require(ICECandidateLine(parsing: $0.dropFirst(2))) }
        #expect(told.map(\.transport) == ["udp", "tcp", "tcp"])
        try check(told.filter { $0.transport == "tcp" }, passive)

        // One that comes later is told in both its roles, too.
        engine.addPassiveHost(later, now: now)
        var trickled: [ICECandidateLine] = []
        while let event = engine.pollEvent() {
            guard case .localCandidate(let line) = event, !line.candidate.isEmpty else { continue }
            trickled.append(try #require(ICECandidateLine(parsing: line.candidate)))
        }
        try check(trickled, later)
    }

    private func check(_ lines: [ICECandidateLine], _ address: SocketAddress) throws {
        let passive = try #require(lines.first { $0.tcpType == "passive" })
        let active = try #require(lines.first { $0.tcpType == "active" })
        #expect(lines.count == 2)
        #expect(passive.usableAddress == address)
        #expect(active.address == address.ip.description && active.port == 9 && active.type == "host")
        // RFC 6544 §4.2: direction-pref 6 before 4, the rest the same.
        #expect(active.priority >> 21 & 7 == 6 && passive.priority >> 21 & 7 == 4)
        #expect(active.priority & ~(7 << 21) == passive.priority & ~(7 << 21))
        // Nobody is to connect there.
        #expect(active.usableAddress == nil)
    }
}
