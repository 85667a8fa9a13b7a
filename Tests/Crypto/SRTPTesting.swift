import EmisoraCore
import EmisoraSRTP

extension SRTPProfile {
    var reference: ReferenceSRTP.Profile {
        switch self {
        case .aeadAes128Gcm: .aeadAes128Gcm
        case .aeadAes256Gcm: .aeadAes256Gcm
        case .aes128CmHmacSha1_80: .aes128CmHmacSha1_80
        }
    }
}

// Whole packets in and out, which is what a test compares.
extension SRTPContext {
    func protect(rtp packet: [UInt8], room: Int = SRTPContext.maximumOverhead) throws -> [UInt8] {
        try transformed(packet, room: room) { bytes, count throws(SRTPError) in
            try protectRTP(&bytes, byteCount: count)
        }
    }

    func protect(rtcp packet: [UInt8], room: Int = SRTPContext.maximumOverhead) throws -> [UInt8] {
        try transformed(packet, room: room) { bytes, count throws(SRTPError) in
            try protectRTCP(&bytes, byteCount: count)
        }
    }

    func unprotect(rtp packet: [UInt8]) throws -> [UInt8] {
        try transformed(packet, room: 0) { bytes, count throws(SRTPError) in
            try unprotectRTP(&bytes, byteCount: count)
        }
    }

    func unprotect(rtcp packet: [UInt8]) throws -> [UInt8] {
        try transformed(packet, room: 0) { bytes, count throws(SRTPError) in
            try unprotectRTCP(&bytes, byteCount: count)
        }
    }

    private func transformed(
        _ packet: [UInt8], room: Int, _ operation: (inout MutableRawSpan, Int) throws(SRTPError) -> Int
    ) throws(SRTPError) -> [UInt8] {
        var buffer = packet + [UInt8](repeating: 0, count: room)
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        let count = try operation(&bytes, packet.count)
        return Array(buffer[..<count])
    }
}
