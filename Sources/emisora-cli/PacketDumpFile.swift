import Emisora

/// The file of `--dump-packets`, and what is said of it.
struct PacketDumpFile {
    static let values = "FILE.pcapng"
    static let help = "writes all packets, decrypted, for Wireshark"

    /// `nil`: none was asked for.
    let dump: PacketDump?
    private let path: String

    init(_ path: String?) throws {
        self.path = path ?? ""
        dump = try path.map { path in
            try PacketDump(path: path) { Terminal.note("\($0) The call goes on.", as: "dump.failed", .warning) }
        }
    }

    /// To be called when the session has been disconnected.
    func finish() throws {
        guard let dump else { return }
        try dump.finish()
        let statistics = dump.statistics
        let dropped =
            statistics.packetsDropped == 0
            ? "" : "; \(statistics.packetsDropped) are missing, since the disk was too slow"
        Terminal.note(
            "\(statistics.packetsWritten) packets in \(path)\(dropped)", as: "dump.written", .info,
            ["packets": .integer(Int(clamping: statistics.packetsWritten)), "file": .text(path)])
        // It would see the handshake and take what follows for encrypted.
        Terminal.note(
            "To read them: wireshark --disable-protocol dtls --enable-heuristic rtp_udp \(path)", as: "dump.howToRead")
    }
}
