import EmisoraSignalingProtocol
import Testing

@testable import EmisoraSignalingServer

/// Tokens by themselves: what is genuine, and when.
@Suite struct AccessTokenTests {
    static let secret = SecretFile(Array("0123456789abcdef0123456789abcdef".utf8))
    static let key = TokenKey(secret)
    static let claims = AccessClaims(
        room: "demo", role: .publisher, stream: "camera", exp: 2_000_000_000, nbf: 1_000_000_000, data: "Ana")
    /// What PyJWT 2.15 makes of these claims with that secret.
    static let foreign = BearerToken(
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb29tIjoiZGVtbyIsInJvbGUiOiJwdWJsaXNoZXIiLCJzdHJlYW0iOiJjYW1lcmEiLCJleHAi"
            + "OjIwMDAwMDAwMDAsIm5iZiI6MTAwMDAwMDAwMCwiZGF0YSI6IkFuYSJ9.ZdVqY-BxvYE7HooUIBGUNG1dpT8CDCHOI9FsKuBHTOg")
    static let now = 1_500_000_000.0

    /// A token with any header and payload, and a genuine signature over them.
    static func signed(_ header: String, _ payload: String, by key: HMACOfTests = HMACOfTests(secret)) -> BearerToken {
        let text = Base64.encodeForURL(Array(header.utf8)) + "." + Base64.encodeForURL(Array(payload.utf8))
        return BearerToken(text + "." + key.signature(of: text))
    }

    static func refusal(_ token: BearerToken, at time: Double? = now) -> TokenKey.Refusal? {
        do throws(TokenKey.Refusal) {
            _ = try key.verify(token, at: time)
            return nil
        } catch {
            return error
        }
    }

    @Test func aTokenOfAnotherLibraryIsRead() throws {
        #expect(try Self.key.verify(Self.foreign, at: Self.now) == Self.claims)
    }

    @Test func aTokenOfOurOwnIsRead() throws {
        let token = try #require(Self.key.sign(Self.claims))
        #expect(try Self.key.verify(token, at: Self.now) == Self.claims)
        #expect(!token.text.contains("="))
    }

    static let header = #"{"alg":"HS256"}"#
    static let payload = #"{"room":"demo","role":"subscriber","exp":2000000000}"#

    @Test func whatIsRequiredIsEnough() {
        #expect(Self.refusal(Self.signed(Self.header, Self.payload)) == nil)
        #expect(Self.refusal(Self.signed(#"{"typ":"JWT","alg":"HS256","kid":"7"}"#, Self.payload)) == nil)
        #expect(
            Self.refusal(Self.signed(Self.header, Self.payload.replacing("000000}", with: "000000.5,\"iat\":1}")))
                == nil)
    }

    @Test(arguments: [
        #"{"alg":"none"}"#, #"{"alg":"HS384"}"#, #"{"alg":"RS256"}"#, #"{"alg":"hs256"}"#, #"{"alg":""}"#, "{}", "[]",
        "x",
        #"{"alg":"HS256","crit":["exp"]}"#, #"{"alg":["HS256"]}"#, #"{"alg":null}"#,
    ])
    func aHeaderOfAnotherAlgorithmIsRefused(_ header: String) {
        #expect(Self.refusal(Self.signed(header, Self.payload)) == .invalid)
    }

    @Test(arguments: [
        #"{"role":"subscriber","exp":2000000000}"#, #"{"room":"demo","exp":2000000000}"#,
        #"{"room":"demo","role":"subscriber"}"#, #"{"room":"demo","role":"subscriber","exp":"2000000000"}"#,
        #"{"room":"demo","role":"subscriber","exp":1e999}"#, #"{"room":"demo","role":"owner","exp":2000000000}"#,
        #"{"room":"a b","role":"subscriber","exp":2000000000}"#,
        #"{"room":"whep","role":"subscriber","exp":2000000000}"#,
        #"{"room":"demo","role":"publisher","stream":"a/b","exp":2000000000}"#,
        #"{"room":"demo","role":"subscriber","exp":2000000000,"data":7}"#,
        #"{"room":"demo","role":"subscriber","exp":2000000000,"data":"\u0001"}"#,
        #"{"room":"demo","role":"subscriber","exp":2000000000,"data":""# + String(repeating: "x", count: 1025) + #""}"#,
        "", "[]", "null", "{",
    ])
    func aPayloadWithoutItsClaimsIsRefused(_ payload: String) {
        #expect(Self.refusal(Self.signed(Self.header, payload)) == .invalid)
    }

    @Test func aKibibyteOfDataIsTaken() {
        let data = String(repeating: "x", count: 1024)
        #expect(
            Self.refusal(Self.signed(Self.header, Self.payload.replacing("}", with: ",\"data\":\"\(data)\"}"))) == nil)
    }

    @Test func noByteOfATokenMayBeAnother() {
        let bytes = Array(Self.foreign.text.utf8)
        for index in bytes.indices {
            var other = bytes
            other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(Self.refusal(BearerToken(String(decoding: other, as: UTF8.self))) == .invalid, "byte \(index)")
        }
    }

    @Test(arguments: [
        "", ".", "..", "...", "a.b", "a.b.c", String(repeating: "a", count: 100_000), "é.é.é", foreign.text + ".",
        foreign.text + "=",
        foreign.text + "A", String(foreign.text.dropLast()), foreign.text.replacing("-", with: "+"), " " + foreign.text,
        foreign.text.split(separator: ".").prefix(2).joined(separator: ".") + ".",
    ])
    func whatIsNoTokenIsRefused(_ text: String) {
        #expect(Self.refusal(BearerToken(text)) == .invalid)
    }

    @Test func anotherSecretIsRefused() {
        let other = HMACOfTests(SecretFile(Array("another secret, of 32 bytes as well".utf8)))
        #expect(Self.refusal(Self.signed(Self.header, Self.payload, by: other)) == .invalid)
    }

    @Test(
        arguments: [
            (2_000_000_059.0, nil), (2_000_000_060, .expired), (3_000_000_000, .expired), (999_999_940, nil),
            (999_999_939, .notYetValid), (0, .notYetValid),
        ] as [(Double, TokenKey.Refusal?)])
    func clocksMayBeAMinuteApart(_ time: Double, _ expected: TokenKey.Refusal?) {
        #expect(Self.refusal(Self.foreign, at: time) == expected)
        #expect(Self.refusal(Self.foreign, at: nil) == nil)
    }

    @Test func aTokenIsNeverPrinted() {
        let request = HTTPRequest(method: .get, path: "/", token: Self.foreign)
        let message = SignalingMessage.join(version: 1, room: "demo", token: Self.foreign)
        var dumped = ""
        dump((request, message, Self.secret), to: &dumped)
        for text in ["\(Self.foreign)", "\(request)", "\(message)", String(reflecting: message), dumped] {
            #expect(!text.contains("eyJ"))
            #expect(text.contains("(token)"))
        }
        #expect(String(decoding: message.json(), as: UTF8.self).contains(Self.foreign.text))
    }

    @Test(arguments: [
        ("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("BEARER a.b-c_d", "a.b-c_d"), ("Basic abc", nil),
        ("Bearer", nil),
        ("abc", nil), ("", nil),
    ])
    func theAuthorizationHeaderIsRead(_ header: String, _ expected: String?) {
        #expect(BearerToken(authorization: header)?.text == expected)
    }

    // MARK: The program

    static let arguments = ["--secret-file", "F", "--room", "demo", "--role", "publisher"]

    @Test func theProgramsOptionsBecomeClaims() throws {
        let parsed = TokenCommand.parse(
            Self.arguments + ["--stream=camera", "--expires", "90m", "--data", "Ana María"])
        guard case .make(let request) = parsed else {
            Issue.record("\(parsed)")
            return
        }
        let token = try #require(TokenCommand.token(for: request, key: Self.key, at: Self.now))
        #expect(
            try Self.key.verify(token, at: Self.now)
                == AccessClaims(
                    room: "demo", role: .publisher, stream: "camera", exp: Self.now + 5400, data: "Ana María"))
    }

    @Test(arguments: [
        ["--expires", "0"], ["--expires", "1y"], ["--expires", "-1h"], ["--expires", ""], ["--role", "owner"],
        ["--room", "a b"],
        ["--stream", ""], ["--data", String(repeating: "x", count: 1025)], ["--wat", "x"], ["--room"],
    ])
    func wrongArgumentsAreNamed(_ wrong: [String]) {
        guard case .wrong(let line) = TokenCommand.parse(Self.arguments + wrong) else {
            Issue.record("accepted \(wrong)")
            return
        }
        #expect(line.hasPrefix(wrong[0]))
    }

    @Test(arguments: ["--secret-file", "--room", "--role"])
    func whatIsMissingIsNamed(_ name: String) throws {
        var rest = Self.arguments
        let index = try #require(rest.firstIndex(of: name))
        rest.removeSubrange(index...index + 1)
        guard case .wrong(let line) = TokenCommand.parse(rest) else {
            Issue.record("accepted \(rest)")
            return
        }
        #expect(line.hasPrefix("\(name) is missing"))
    }
}
