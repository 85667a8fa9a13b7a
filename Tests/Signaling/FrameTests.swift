import EmisoraSignalingServer
import Testing

/// RFC 6455 frame by frame, on the echo of tests: what is taken, and with which code the connection ends otherwise.
@Suite(.serialized) struct FrameTests {
    typealias Frame = RawWebsocket.Frame

    static func withEcho(_ body: (() throws -> RawWebsocket) async throws -> Void) async throws {
        try await LoopbackTests.withServer {
            $0.echoes = true
        } _: { port in
            try await body { try RawWebsocket(port: port, subprotocol: "echo.emisora.test") }
        }
    }

    /// The code that the server closes with; `nil`: none. The connection has to end, too.
    static func closeCode(_ socket: RawWebsocket) throws -> UInt16? {
        while true {
            guard let frame = try? socket.receiveFrame() else { return nil }
            guard frame.opcode == 8 else { continue }
            return frame.payload.count < 2 ? nil : UInt16(frame.payload[0]) << 8 | UInt16(frame.payload[1])
        }
    }

    static func code(_ code: UInt16) -> [UInt8] { [UInt8(code >> 8), UInt8(code & 255)] }

    @Test(arguments: [1, 2] as [UInt8], [0, 1, 125, 126, 127, 65_535, 65_536])
    func messagesOfAnyLengthComeBack(_ opcode: UInt8, _ length: Int) async throws {
        try await Self.withEcho { connect in
            let socket = try connect()
            var frame = Frame(opcode, (0..<length).map { UInt8(0x20 + $0 % 0x5F) })
            frame.mask = [0x12, 0xFF, 0, 0x80]
            socket.send(frame)
            let back = try socket.receiveFrame()
            #expect(back.opcode == opcode && back.payload == frame.payload)
        }
    }

    @Test func whatIsLongerThan64KiBIsTooBig() async throws {
        try await Self.withEcho { connect in
            let whole = try connect()
            whole.send(Frame(2, Array(repeating: 1, count: 65_537)))
            #expect(try Self.closeCode(whole) == 1009)
            let parts = try connect()
            parts.send(Frame(2, Array(repeating: 1, count: 65_536), isFinal: false), Frame(0, [1]))
            #expect(try Self.closeCode(parts) == 1009)
        }
    }

    @Test(arguments: [UInt64(1) << 63, 1 << 31])
    func aFrameThatSaysItIsEndlessEnds(_ length: UInt64) async throws {
        try await Self.withEcho { connect in
            let socket = try connect()
            var frame = Frame(2, Array(repeating: 1, count: 2 << 20))
            frame.length = length
            socket.send(frame)
            // With a code or without: what has been sent besides may take the way of the connection's end.
            while (try? socket.receiveFrame()) != nil {}
        }
    }

    @Test func controlFramesComeBetweenFragments() async throws {
        try await Self.withEcho { connect in
            let socket = try connect()
            socket.send(
                Frame(1, Array("a".utf8), isFinal: false), Frame(9, Array("ping".utf8)), Frame(0, [], isFinal: false),
                Frame(10, Array("unasked".utf8)), Frame(0, Array("b".utf8)))
            let pong = try socket.receiveFrame()
            #expect(pong.opcode == 10 && pong.payload == Array("ping".utf8))
            let back = try socket.receiveFrame()
            #expect(back.opcode == 1 && back.payload == Array("ab".utf8))
            socket.send(Frame(9, Array(repeating: 7, count: 125)))
            let long = try socket.receiveFrame()
            #expect(long.opcode == 10 && long.payload.count == 125)
        }
    }

    @Test func manyFragmentsAreOneMessageAndTooManyAreNone() async throws {
        try await Self.withEcho { connect in
            let socket = try connect()
            let one = Frame(0, [UInt8(ascii: "x")], isFinal: false).bytes
            socket.send(
                bytes: Frame(1, [], isFinal: false).bytes + (0..<16_000).flatMap { _ in one } + Frame(0, []).bytes)
            #expect(try socket.receiveFrame().payload.count == 16_000)
            // No end to them, and hardly a byte.
            socket.send(bytes: Frame(1, [], isFinal: false).bytes)
            let flood = (0..<1_000).flatMap { _ in one }
            for _ in 0..<40 { socket.send(bytes: flood) }
            // Pings may come, too.
            while let frame = try? socket.receiveFrame() {
                #expect(frame.opcode >= 8)
                if frame.opcode == 8 { #expect(frame.payload == Self.code(1009)) }
            }
        }
    }

    static let violations: [(String, [Frame])] = {
        var all: [(String, [Frame])] = [
            ("a fragmented ping", [Frame(9, [1], isFinal: false)]),
            ("a fragmented close", [Frame(8, code(1000), isFinal: false)]),
            ("a close of one byte", [Frame(8, [3])]),
            ("a continuation of nothing", [Frame(0, [97])]),
            ("a message within a message", [Frame(1, [97], isFinal: false), Frame(1, [98])]),
        ]
        for bits in 1...7 as ClosedRange<UInt8> { all.append(("RSV \(bits)", [Frame(1, [97], reserved: bits)])) }
        for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8] {
            all.append(("opcode \(opcode)", [Frame(opcode, [97])]))
        }
        for wrong in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] as [UInt16] {
            all.append(("close \(wrong)", [Frame(8, code(wrong))]))
        }
        return all
    }()

    @Test func whatBreaksTheRulesEndsWith1002() async throws {
        try await Self.withEcho { connect in
            for (name, frames) in Self.violations {
                let socket = try connect()
                for frame in frames { socket.send(frame) }
                #expect(try Self.closeCode(socket) == 1002, "\(name)")
            }
        }
    }

    @Test func controlFramesAreShort() async throws {
        try await Self.withEcho { connect in
            for opcode in [8, 9, 10] as [UInt8] {
                let socket = try connect()
                socket.send(Frame(opcode, Self.code(1000) + Array(repeating: 97, count: 124)))
                // libwebsockets ends the connection without a word.
                let code = try Self.closeCode(socket)
                #expect(code == nil || code == 1002)
            }
        }
    }

    @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] as [UInt16])
    func aCloseIsAnsweredWithItsCode(_ code: UInt16) async throws {
        try await Self.withEcho { connect in
            let socket = try connect()
            socket.send(Frame(8, Self.code(code) + Array("bye".utf8)))
            #expect(try Self.closeCode(socket) == code)
            try socket.awaitEnd()
        }
    }

    @Test func aCloseWithoutACodeIsAnswered() async throws {
        try await Self.withEcho { connect in
            let socket = try connect()
            // Nothing that comes after it counts.
            socket.send(Frame(8, []), Frame(1, [97]))
            #expect(try socket.receiveFrame().opcode == 8)
            try socket.awaitEnd()
        }
    }

    static let valid = "κόσμε — 𝄞 \u{10FFFF}\u{FFFF}\u{800}\u{7FF}\u{80}"

    @Test func charactersMayBeSplitBetweenFragments() async throws {
        try await Self.withEcho { connect in
            let bytes = Array(Self.valid.utf8)
            let socket = try connect()
            for split in bytes.indices {
                socket.send(Frame(1, Array(bytes[..<split]), isFinal: false), Frame(0, Array(bytes[split...])))
                #expect(try socket.receiveFrame().payload == bytes)
            }
            socket.send(bytes: Frame(1, [], isFinal: false).bytes)
            for byte in bytes { socket.send(Frame(0, [byte], isFinal: false)) }
            socket.send(Frame(0, []))
            #expect(try socket.receiveFrame().payload == bytes)
        }
    }

    static let invalid: [[UInt8]] = [
        [0x80], [0xC0, 0xAF], [0xC1, 0x81], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
        [0xF0, 0x80, 0x80, 0xAF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xFE],
        [0xE2, 0x28, 0xA1], [0xC2], [0xE2, 0x82], [0xF0, 0x9D, 0x84],
    ]

    @Test func whatIsNoTextEndsWith1007AlsoInPieces() async throws {
        try await Self.withEcho { connect in
            for bytes in Self.invalid {
                let whole = try connect()
                whole.send(Frame(1, Array("a".utf8) + bytes))
                #expect(try Self.closeCode(whole) == 1007, "\(bytes)")
                let parts = try connect()
                parts.send(bytes: Frame(1, Array("a".utf8), isFinal: false).bytes)
                for byte in bytes { parts.send(Frame(0, [byte], isFinal: false)) }
                parts.send(Frame(0, []))
                #expect(try Self.closeCode(parts) == 1007, "\(bytes)")
                // Bytes that are not said to be text may be any.
                let binary = try connect()
                binary.send(Frame(2, bytes))
                #expect(try binary.receiveFrame().payload == bytes)
            }
        }
    }

    @Test func aCloseReasonIsText() async throws {
        try await Self.withEcho { connect in
            let socket = try connect()
            socket.send(Frame(8, Self.code(1000) + [0xC0, 0xAF]))
            let code = try Self.closeCode(socket)
            #expect(code == nil || code == 1007)
            try socket.awaitEnd()
        }
    }

    @Test func framesWithoutAMaskAreRefused() async throws {
        try await withKnownIssue("libwebsockets 4.1.6 takes them (RFC 6455 §5.1), and tells nobody") {
            try await Self.withEcho { connect in
                let socket = try connect()
                var frame = Frame(1, [97])
                frame.mask = nil
                socket.send(frame)
                #expect(try socket.receiveFrame().opcode == 8)
            }
        }
    }

    @Test func theEchoIsOnlyWhereItIsAskedFor() async throws {
        try await LoopbackTests.withServer { port in
            #expect(throws: SocketFailure.self) { try RawWebsocket(port: port, subprotocol: "echo.emisora.test") }
        }
        #expect(!SignalingServerCommand.manual().help.contains("echo"))
    }
}
