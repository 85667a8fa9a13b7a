import Testing

@testable import EmisoraSignalingServer

/// Which pages may talk to the server.
@Suite struct OriginTests {
    @Test(arguments: [
        ("http://127.0.0.1:8080", true), ("http://localhost", true), ("https://LOCALHOST:1", true),
        ("http://[::1]:80", true),
        ("http://127.9.9.9", true), ("http://192.168.1.2:8080", false), ("https://evil.test", false),
        ("http://localhost.evil.test", false), ("http://127.0.0.1.evil.test", false),
        ("http://evil.test/localhost", false),
        ("http://localhost@evil.test", false), ("http://[::1].evil.test", false), ("http://localhost:8080/", false),
        ("null", false), ("", false), ("file://", false), ("http://", false), ("http://127.1", false),
    ])
    func atLoopbackItIsThisMachinesPages(_ origin: String, _ isAllowed: Bool) {
        let policy = OriginPolicy(listed: [], own: .loopback)
        // A name that leads here by DNS is no way in.
        #expect(policy.allows(origin, host: "evil.test:8080") == isAllowed)
    }

    @Test(arguments: [
        ("http://a.test:8080", false, true), ("https://a.test:8080", false, true), ("http://A.test:8080", false, true),
        ("http://a.test:8080", true, false), ("https://a.test:8080", true, true), ("http://a.test", false, false),
        ("http://a.test:80800", false, false), ("http://b.test:8080", false, false), ("null", false, false),
        ("http://localhost:8080", false, false),
    ])
    func elsewhereItIsTheServersOwn(_ origin: String, _ isTLS: Bool, _ isAllowed: Bool) {
        #expect(OriginPolicy(listed: [], own: .server(isTLS: isTLS)).allows(origin, host: "a.test:8080") == isAllowed)
    }

    @Test(arguments: [
        ("https://portal.test", true), ("https://portal.test:443", false), ("http://portal.test", false),
        ("https://portal.test/", false), ("https://PORTAL.test", false), ("https://xportal.test", false),
        ("https://portal.test.evil.test", false), ("https://sub.portal.test", false), ("https://portal.tes", false),
    ])
    func aListedOriginIsComparedAsAWhole(_ origin: String, _ isAllowed: Bool) {
        let policy = OriginPolicy(listed: ["https://portal.test", "https://b.test"], own: .server(isTLS: true))
        #expect(policy.allows(origin, host: "a.test") == isAllowed)
    }

    @Test func whoSendsNoOriginIsNoBrowserAndAStarIsEverybody() {
        #expect(OriginPolicy(listed: [], own: .loopback).allows(nil, host: nil))
        #expect(OriginPolicy.any.allows("https://evil.test", host: nil))
        #expect(!OriginPolicy(listed: [], own: .server(isTLS: false)).allows("http://", host: ""))
        #expect(!OriginPolicy(listed: [], own: .server(isTLS: false)).allows("http://a.test", host: nil))
    }

    @Test(
        arguments: [
            ("https://portal.test", "https://portal.test"), ("https://evil.test", nil), (nil, nil),
        ] as [(String?, String?)])
    func whatAPageMayReadFollowsTheList(_ origin: String?, _ expected: String?) throws {
        var settings = ServerCoreTests.Core.Settings()
        settings.origins = OriginPolicy(listed: ["https://portal.test"], own: .server(isTLS: false))
        var core = ServerCoreTests.Core(random: CountingGenerator(), settings: settings)
        let id = HTTPRequestID(number: 1)
        core.requested(
            HTTPRequest(method: .options, path: "/whep/demo", host: "a.test", origin: origin), id: id, now: .zero)
        guard case .respond(let response, id)? = core.pollOutput() else {
            Issue.record("no response")
            return
        }
        #expect(response.status == (origin == "https://evil.test" ? 403 : 204))
        #expect(response.header("Access-Control-Allow-Origin") == expected)
        if response.status == 204 { #expect(response.header("Vary") == "Origin") }
    }
}
