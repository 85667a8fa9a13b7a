import EmisoraCore
import EmisoraSDP
import Testing

@Suite struct ICECandidateLineTests {
    private let text =
        "candidate:842163049 1 UDP 1677729535 203.0.113.7 50000 typ srflx raddr 192.0.2.1 rport 40000 generation 0 ufrag ab12"

    @Test(arguments: ["", "a="]) func readsEveryField(prefix: String) throws {
        let line = try #require(ICECandidateLine(parsing: prefix + text + "\r\n"))
        #expect(line.foundation == "842163049")
        #expect(line.component == 1)
        #expect(line.transport == "udp")
        #expect(line.priority == 1_677_729_535)
        #expect(line.address == "203.0.113.7")
        #expect(line.port == 50_000)
        #expect(line.type == "srflx")
        #expect(line.relatedAddress == IPAddress("192.0.2.1").map { SocketAddress(ip: $0, port: 40_000) })
        #expect(line["generation"] == "0")
        #expect(line["ufrag"] == "ab12")
        #expect(line.usableAddress?.description == "203.0.113.7:50000")
        #expect(ICECandidateLine(parsing: line.text) == line)
    }

    @Test func readsABareValueAndAnIPv6Address() {
        let line = ICECandidateLine(parsing: "1 1 udp 5 2001:db8::1 5000 typ host")
        #expect(line?.usableAddress?.description == "[2001:db8::1]:5000")
    }

    @Test(
        "RFC 8839 §5.1: candidates of unknown types, transports and names are not fatal",
        arguments: [
            "1 1 tcp 5 192.0.2.1 9 typ host tcptype active", "1 1 tcp 5 192.0.2.1 5000 typ host tcptype so",
            "1 1 tcp 5 192.0.2.1 5000 typ host", "1 2 tcp 5 192.0.2.1 5000 typ host tcptype passive",
            "1 2 udp 5 192.0.2.1 5000 typ host",
            "1 1 udp 5 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 5000 typ host", "1 1 udp 5 192.0.2.1 5000 typ future",
            "1 1 sctp 5 192.0.2.1 5000 typ host", "1 1 udp 5 192.0.2.1 0 typ host",
        ])
    func keepsWhatItCannotUseWithoutAnAddress(text: String) throws {
        let line = try #require(ICECandidateLine(parsing: text))
        #expect(line.usableAddress == nil)
    }

    @Test func readsTheTCPType() {
        #expect(ICECandidateLine(parsing: "1 1 TCP 5 192.0.2.1 9 typ host tcptype active")?.tcpType == "active")
    }

    /// Systems connect to the unspecified address as to themselves: it would lead to services that only we may reach.
    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "::", "::ffff:127.0.0.1", "::ffff:192.0.2.1", "ff02::1",
    ])
    func anAddressThatIsNoHostsIsNotUsed(address: String) throws {
        for rest in ["udp 5 \(address) 5000 typ host", "tcp 5 \(address) 5000 typ host tcptype passive"] {
            #expect(try #require(ICECandidateLine(parsing: "candidate:1 1 " + rest)).usableAddress == nil)
        }
    }

    @Test("RFC 6544 §4.5: a passive TCP candidate is an address that can be connected to")
    func takesAPassiveTCPCandidate() throws {
        let text = "candidate:1 1 TCP 1518280447 192.0.2.1 443 typ host tcptype passive"
        let line = try #require(ICECandidateLine(parsing: text))
        #expect(line.usableAddress?.description == "192.0.2.1:443")
        #expect(line.text == "candidate:1 1 tcp 1518280447 192.0.2.1 443 typ host tcptype passive")
    }

    @Test(arguments: [
        "1 1 udp 5 192.0.2.1 5000 typ", "1 257 udp 5 192.0.2.1 5000 typ host", "1 1 udp -5 192.0.2.1 5000 typ host",
        "1 1 udp 4294967296 192.0.2.1 5000 typ host", "000000000000000000000000000000001 1 udp 5 192.0.2.1 5 typ host",
        "1 1 udp 5 192.0.2.1 5000 typ ho\u{0}st", "nonsense",
    ])
    func refusesWhatDoesNotFollowTheGrammar(text: String) {
        #expect(ICECandidateLine(parsing: text) == nil)
        #expect(ICECandidateLine.trickled(text) == .unusable)
    }

    @Test(arguments: ["", "\r\n", "candidate:", "a=candidate:", "end-of-candidates", "a=end-of-candidates\r\n"])
    func takesAnEmptyTrickleForTheEnd(text: String) {
        #expect(ICECandidateLine.trickled(text) == .endOfCandidates)
    }

    @Test func tellsATrickledCandidate() throws {
        let line = try #require(ICECandidateLine(parsing: text))
        #expect(ICECandidateLine.trickled("a=" + text) == .candidate(line))
    }
}
