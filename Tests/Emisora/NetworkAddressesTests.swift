import EmisoraEventLoop
import Testing

@testable import Emisora

@Suite struct NetworkAddressesTests {
    private static func address(_ name: String, _ ip: String, temporary: Bool = false) throws
        -> NetworkInterfaces.Address
    {
        NetworkInterfaces.Address(
            interfaceName: name, ip: try #require(IPAddress(ip)), isTemporary: temporary)
    }

    @Test func loopbackIsUsedOnlyWhereNothingElseIs() throws {
        let loopback = try Self.address("lo", "127.0.0.1")
        #expect(NetworkAddresses.automatic.choose(from: [loopback]).map(\.description) == ["127.0.0.1"])
        let all = [loopback, try Self.address("eth0", "192.0.2.2"), try Self.address("eth0", "fe80::1")]
        #expect(NetworkAddresses.automatic.choose(from: all).map(\.description) == ["192.0.2.2"])
    }

    @Test func aTemporaryAddressStandsForThePermanentOneOfItsNetwork() throws {
        let all = [
            try Self.address("eth0", "2001:db8::1"), try Self.address("eth0", "2001:db8::abcd", temporary: true),
            try Self.address("eth0", "2001:db8:1::1"), try Self.address("eth1", "2001:db8::2"),
            try Self.address("eth0", "192.0.2.2"),
        ]
        #expect(
            NetworkAddresses.automatic.choose(from: all).map(\.description) == [
                "2001:db8::abcd", "2001:db8:1::1", "2001:db8::2", "192.0.2.2",
            ])
    }

    @Test func onlyTheInterfacesThatAreNamedCount() throws {
        let all = [
            try Self.address("lo", "127.0.0.1"), try Self.address("eth0", "192.0.2.2"),
            try Self.address("wlan0", "198.51.100.2"),
        ]
        #expect(NetworkAddresses.interfaces(["wlan0"]).choose(from: all).map(\.description) == ["198.51.100.2"])
        #expect(NetworkAddresses.interfaces(["lo"]).choose(from: all).map(\.description) == ["127.0.0.1"])
        #expect(NetworkAddresses.interfaces(["none"]).choose(from: all).isEmpty)
    }

    @Test func anIceServerThatCannotBeIsRefusedAtOnce() async throws {
        var options = Session.Options()
        options.iceServers = [ICEServer(urls: ["turn:turn.test"])]
        await #expect(
            throws: SessionError.invalidState("turn:turn.test: a TURN server needs a username and a credential.")
        ) {
            _ = try await Session.connect(to: "ws://127.0.0.1:9/demo", options: options)
        }
    }
}
