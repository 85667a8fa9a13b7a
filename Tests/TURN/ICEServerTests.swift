import EmisoraTURN
import Testing

@Suite struct ICEServerTests {
    @Test(
        arguments: [
            ("stun:example.org", false, .udp, "example.org", 3_478),
            ("STUN:example.org:19302", false, .udp, "example.org", 19_302),
            ("stuns:example.org", false, .tls, "example.org", 5_349),
            ("turn:192.0.2.1", true, .udp, "192.0.2.1", 3_478),
            ("turn:192.0.2.1:80?transport=tcp", true, .tcp, "192.0.2.1", 80),
            ("turn:a-b.example.org?transport=udp", true, .udp, "a-b.example.org", 3_478),
            ("turns:example.org:443", true, .tls, "example.org", 443),
            ("turns:example.org?transport=tcp", true, .tls, "example.org", 5_349),
            ("turn:[2001:db8::1]:1?transport=TCP", true, .tcp, "2001:db8::1", 1),
            ("stun:[::1]", false, .udp, "::1", 3_478),
        ] as [(String, Bool, ICEServerEndpoint.Transport, String, UInt16)])
    func addressesOfRFC7064And7065AreRead(
        _ expected: (url: String, isRelay: Bool, transport: ICEServerEndpoint.Transport, host: String, port: UInt16)
    ) throws {
        let endpoint = try ICEServerEndpoint(expected.url)
        #expect(endpoint.isRelay == expected.isRelay)
        #expect(endpoint.transport == expected.transport)
        #expect(endpoint.host == expected.host)
        #expect(endpoint.port == expected.port)
    }

    @Test(
        arguments: [
            ("", .unknownScheme(url: "")), ("example.org", .unknownScheme(url: "example.org")),
            ("http://example.org", .unknownScheme(url: "http://example.org")),
            ("turn://example.org", .unknownScheme(url: "turn://example.org")),
            ("turn:", .hostMissing(url: "turn:")), ("turn::3478", .hostMissing(url: "turn::3478")),
            ("turn:exa mple.org", .invalidHost(url: "turn:exa mple.org")),
            ("turn:user@example.org", .invalidHost(url: "turn:user@example.org")),
            ("turn:2001:db8::1", .invalidHost(url: "turn:2001:db8::1")),
            ("turn:[2001:db8::1", .invalidHost(url: "turn:[2001:db8::1")),
            ("turn:[::1]3478", .invalidHost(url: "turn:[::1]3478")),
            ("turn:[192.0.2.1]", .invalidHost(url: "turn:[192.0.2.1]")),
            ("stun:example.org:", .invalidPort(url: "stun:example.org:")),
            ("stun:example.org:0", .invalidPort(url: "stun:example.org:0")),
            ("stun:example.org:65536", .invalidPort(url: "stun:example.org:65536")),
            ("stun:example.org:+80", .invalidPort(url: "stun:example.org:+80")),
            ("stun:example.org?transport=udp", .unknownQuery(url: "stun:example.org?transport=udp")),
            ("turn:example.org?transport=sctp", .unknownTransport(url: "turn:example.org?transport=sctp")),
            ("turns:example.org?transport=udp", .unknownTransport(url: "turns:example.org?transport=udp")),
            ("turn:example.org?tls=1", .unknownQuery(url: "turn:example.org?tls=1")),
        ] as [(String, ICEServerError)])
    func whatIsWrongIsNamed(_ expected: (url: String, error: ICEServerError)) {
        #expect(throws: expected.error) { try ICEServerEndpoint(expected.url) }
        #expect(expected.error.description.hasPrefix("\(expected.url): "))
    }

    @Test func aRelayNeedsCredentialsAndAServerAnAddress() throws {
        #expect(throws: ICEServerError.noURL) { try ICEServer(urls: []).validate() }
        #expect(throws: ICEServerError.credentialsMissing(url: "turn:a")) {
            try ICEServer(urls: ["stun:a", "turn:a"]).validate()
        }
        #expect(throws: ICEServerError.credentialsMissing(url: "turn:a")) {
            try ICEServer(urls: ["turn:a"], username: "", credential: "x").validate()
        }
        let name = String(repeating: "a", count: 509)
        #expect(throws: ICEServerError.usernameTooLong(byteCount: 509)) {
            try ICEServer(urls: ["turn:a"], username: name, credential: "x").validate()
        }
        let server = ICEServer(urls: ["stun:a", "turn:a", "turn:a:3478"], username: "u", credential: "c")
        #expect(try server.endpoints().count == 2)
    }
}
