import EmisoraCore
import EmisoraTLS
import Testing

/// What a server cannot do to us; whole connections, with good and bad certificates, are tested against coturn
/// (Tests/Network).
@Suite struct TLSClientTests {
    @Test func theHandshakeBeginsWithTheNameOfTheServer() throws {
        let named = try TLSClient(context: TLSClientContext(), host: "turn.example.org").takeOutgoing()
        #expect(named.prefix(2) == [0x16, 0x03])
        #expect(named.split(separator: Array("turn.example.org".utf8)).count == 2)
        // RFC 6066 §3: addresses are no names.
        let unnamed = try TLSClient(context: TLSClientContext(), host: "192.0.2.1").takeOutgoing()
        #expect(unnamed.split(separator: Array("192.0.2.1".utf8)).count == 1)
    }

    @Test func aServerThatSpeaksSomethingElseIsAnError() throws {
        let client = try TLSClient(context: TLSClientContext(), host: "turn.example.org")
        let answer = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
        #expect(throws: TLSError.self) { try client.receive(answer.span.bytes) }
        #expect(!client.isConnected)
    }

    @Test(arguments: 0..<200)
    func randomBytesEndInAnErrorOrSilence(_ seed: Int) throws {
        let client = try TLSClient(context: TLSClientContext(), host: "turn.example.org")
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        // Records of the right form with random contents, too.
        var bytes: [UInt8] = seed % 2 == 0 ? [0x16, 0x03, 0x03, 0x00, 0x40] : []
        for _ in 0..<64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1
            bytes.append(UInt8(truncatingIfNeeded: state >> 56))
        }
        try? client.receive(bytes.span.bytes)
        #expect(!client.isConnected)
    }

    @Test func whatWaitsForTheHandshakeIsBounded() throws {
        let client = try TLSClient(context: TLSClientContext(), host: "turn.example.org")
        let request = [UInt8](repeating: 0, count: 10_000)
        try client.write(request.span.bytes)
        #expect(throws: TLSError.tooMuchWaiting) { try client.write(request.span.bytes) }
    }

    @Test func aFileThatHoldsNoAuthorityIsNamed() {
        #expect {
            _ = try TLSClientContext(authorities: "/no/such/file.pem")
        } throws: { error in
            "\(error)".contains("/no/such/file.pem")
        }
    }
}
