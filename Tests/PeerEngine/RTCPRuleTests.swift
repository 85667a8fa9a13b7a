import EmisoraCore
import EmisoraICE
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSimulation
import Testing

/// What RTCP and the numbers of streams must keep to, seen on the wire.
@Suite struct RTCPRuleTests {
    /// All RTCP datagrams that an engine sends, each as its packets.
    private final class Reports {
        private(set) var datagrams: [(at: Instant, packets: [RTCPPacket])] = []

        init(of engine: PeerEngine<NullSecurity>) {
            engine.packetTap = { [unowned self] packet, direction, _, now in
                guard direction == .sent, DatagramKind(of: packet) == .rtcp else { return }
                var reader = RTCPReader(packet)
                var packets: [RTCPPacket] = []
                while let next = try? reader.next() { packets.append(next) }
                datagrams.append((now, packets))
            }
        }
    }

    private static func isCompound(_ packets: [RTCPPacket]) -> Bool {
        guard packets.count >= 2 else { return false }
        switch packets[0] {
        case .senderReport, .receiverReport: break
        default: return false
        }
        return packets.contains {
            if case .sourceDescription(let one) = $0 { one.chunks[0].cname != nil } else { false }
        }
    }

    @Test(
        "RFC 8834 §4.6: RTCP is of reduced size only where that was negotiated", arguments: [false, true],
        [false, true])
    func reducedSizeIsNegotiated(isNegotiated: Bool, senderOffers: Bool) throws {
        var setup = Call<NullSecurity>.Setup()
        setup.senderOffers = senderOffers
        setup.conditions.loss = 0.05
        if !isNegotiated { setup.changeOffer = { $0.replacing("a=rtcp-rsize\r\n", with: "") } }
        let call = try Call<NullSecurity>(setup)
        #expect(call.answer.contains("a=rtcp-rsize") == isNegotiated)
        let reports = Reports(of: call.receiver)
        #expect(call.connect(within: .seconds(20)))
        _ = try call.stream(.seconds(5))
        let nacks = reports.datagrams.filter { $0.packets.contains { if case .nack = $0 { true } else { false } } }
        #expect(!nacks.isEmpty)
        #expect(nacks.allSatisfy { Self.isCompound($0.packets) } == !isNegotiated)
        #expect(isNegotiated || reports.datagrams.allSatisfy { Self.isCompound($0.packets) })
    }

    @Test("RFC 8834 §4.9: one fresh CNAME stands for all of a connection's sources")
    func oneCNAMEForAConnection() throws {
        var names: Set<String> = []
        for seed in 1...5 as ClosedRange<UInt64> {
            var setup = Call<NullSecurity>.Setup()
            setup.seed = seed
            let call = try Call<NullSecurity>(setup)
            let reports = Reports(of: call.sender)
            #expect(call.connect())
            _ = try call.stream(.seconds(3))
            var ours: Set<String> = []
            for packet in reports.datagrams.flatMap(\.packets) {
                guard case .sourceDescription(let description) = packet else { continue }
                #expect(description.chunks.count == 2)
                ours.formUnion(description.chunks.compactMap(\.cname))
            }
            #expect(ours.count == 1)
            let name = try #require(ours.first)
            // RFC 7022 §4.2: 96 bits of randomness.
            #expect(name.utf8.count >= 16)
            #expect(call.senderDescription.contains("cname:\(name)\r\n"))
            names.formUnion(ours)
        }
        #expect(names.count == 5)
    }

    @Test("RFC 8834 §4.8: sources that nobody announced are received", arguments: [false, true])
    func unannouncedSourcesAreReceived(senderOffers: Bool) throws {
        var setup = Call<NullSecurity>.Setup()
        setup.senderOffers = senderOffers
        let strip: (String) -> String = { text in
            text.split(separator: "\r\n").filter { !$0.hasPrefix("a=ssrc") }.joined(separator: "\r\n") + "\r\n"
        }
        setup.changeOffer = strip
        setup.changeAnswer = strip
        setup.conditions.loss = 0.02
        let call = try Call<NullSecurity>(setup)
        #expect(!call.senderDescription.contains("a=ssrc"))
        #expect(call.connect(within: .seconds(20)))
        #expect(try call.stream(.seconds(3)).count >= 85)
        #expect(call.receiver.statistics.inboundVideo?.retransmittedPacketsReceived ?? 0 > 0)
    }

    @Test("RFC 3550 §8.2: a source whose number the peer uses too goes on under another one")
    func aCollisionIsResolved() throws {
        let call = try Call<NullSecurity>()
        #expect(call.connect())
        _ = try call.stream(.seconds(1))
        let line = try #require(attribute("ssrc-group", of: call.senderDescription))
        let announced = line.split(separator: " ").dropFirst().compactMap { UInt32($0) }
        #expect(announced.count == 2)
        let path = ICEPath(local: PeerEngineTests.leftAddress, remote: PeerEngineTests.rightAddress)
        var sources: Set<UInt32> = []
        var departed: [UInt32] = []
        call.sender.packetTap = { packet, direction, _, _ in
            guard direction == .sent else { return }
            if DatagramKind(of: packet) == .rtcp {
                var reader = RTCPReader(packet)
                while let next = try? reader.next() {
                    if case .goodbye(let goodbye) = next { departed += goodbye.sources }
                }
            } else if let header = try? RTPHeader(parsing: packet), header.payloadType == 96 {
                sources.insert(header.ssrc)
            }
        }
        let report = [0x80, 200, 0, 6] + bytes(announced[0]) + [UInt8](repeating: 1, count: 20)
        _ = call.sender.inject(report + bytes(UInt32(0x5AFE_5AFE).byteSwapped), path: path, now: call.simulation.now)
        _ = try call.stream(.seconds(1))
        #expect(departed.sorted() == announced.sorted())
        #expect(sources.count == 1 && sources.isDisjoint(with: announced))
        #expect(call.areConnected)
    }

    private func bytes(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    @Test("RFC 3550 §6.3.5: a source that has long been silent is reported no more, until it speaks again")
    func silentSourcesAreNotReported() throws {
        let call = try Call<NullSecurity>()
        let reports = Reports(of: call.receiver)
        #expect(call.connect())
        _ = try call.stream(.seconds(3))
        call.run(.seconds(20))
        let silentSince = call.simulation.now - .seconds(10)
        func blocks(since start: Instant) -> [Int] {
            reports.datagrams.filter { $0.at >= start }.compactMap {
                if case .receiverReport(let report)? = $0.packets.first { report.reports.count } else { nil }
            }
        }
        #expect(blocks(since: silentSince).count >= 5 && blocks(since: silentSince).allSatisfy { $0 == 0 })
        let spokenAt = call.simulation.now
        #expect(try call.stream(.seconds(3)).count >= 85)
        #expect(blocks(since: spokenAt).contains(1))
    }

    @Test("RFC 3550 §6.3.7: who leaves says BYE for all its sources")
    func leavingSaysGoodbye() throws {
        let call = try Call<NullSecurity>()
        let reports = Reports(of: call.sender)
        #expect(call.connect())
        _ = try call.stream(.seconds(1))
        call.sender.close()
        call.run(.seconds(1))
        let last = try #require(reports.datagrams.last)
        #expect(Self.isCompound(last.packets))
        guard case .goodbye(let goodbye)? = last.packets.last else {
            Issue.record("\(last.packets)")
            return
        }
        #expect(goodbye.sources.count == 2)
    }
}
