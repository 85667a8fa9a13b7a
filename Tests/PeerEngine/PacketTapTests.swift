import EmisoraCore
import EmisoraICE
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSimulation
import Testing

@Suite struct PacketTapTests {
    private final class Log {
        var packets: [(kind: DatagramKind, direction: PacketDirection, path: ICEPath, bytes: [UInt8])] = []

        func count(_ kind: DatagramKind, _ direction: PacketDirection) -> UInt64 {
            UInt64(packets.count { $0.kind == kind && $0.direction == direction })
        }

        var tap: PacketTap {
            { [self] packet, direction, path, _ in
                packets.append((DatagramKind(of: packet), direction, path, packet.withUnsafeBytes { Array($0) }))
            }
        }
    }

    @Test func whatIsShownIsWhatTheStatisticsCount() throws {
        var setup = Call<NullSecurity>.Setup()
        setup.conditions.loss = 0.03
        let call = try Call<NullSecurity>(setup)
        let (sent, received) = (Log(), Log())
        call.sender.packetTap = sent.tap
        call.receiver.packetTap = received.tap
        #expect(call.connect(within: .seconds(20)))
        _ = try call.stream(.seconds(10))
        call.sender.close()
        call.run(.seconds(1))

        let statistics = call.sender.statistics
        let packetsSent = (statistics.outboundVideo?.packetsSent ?? 0) + (statistics.outboundAudio?.packetsSent ?? 0)
        #expect(statistics.outboundVideo?.retransmittedPacketsSent ?? 0 > 0)
        #expect(sent.count(.rtp, .sent) == packetsSent)
        let inbound = call.receiver.statistics
        #expect(received.count(.rtp, .received) == inbound.inboundVideo?.packetsReceived)
        #expect(sent.count(.rtp, .received) == 0)
        for (kind, direction) in [(DatagramKind.stun, PacketDirection.sent), (.dtls, .sent), (.rtcp, .sent)] {
            #expect(sent.count(kind, direction) > 0 && sent.count(kind, .received) > 0)
        }
        // In the clear, and from where to where it really went.
        let path = ICEPath(local: PeerEngineTests.leftAddress, remote: PeerEngineTests.rightAddress)
        #expect(sent.packets.allSatisfy { $0.path == path })
        for packet in sent.packets where packet.kind == .rtcp {
            var reader = RTCPReader(packet.bytes.span.bytes)
            while let report = try reader.next() {
                if case .other = report { Issue.record("\(packet.bytes)") }
            }
        }
        // The last word is BYE.
        let last = try #require(sent.packets.last { $0.kind == .rtcp && $0.direction == .sent })
        var reader = RTCPReader(last.bytes.span.bytes)
        var endsWithGoodbye = false
        while let packet = try reader.next() { if case .goodbye = packet { endsWithGoodbye = true } }
        #expect(endsWithGoodbye)
    }
}
