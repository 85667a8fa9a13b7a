import EmisoraCore

/// Repair that goes out before anybody asks for it.
extension RTPSendStream {
    /// How many packets before it each packet of sound carries once more, 0…4; of use where RED was negotiated.
    package var redundancyDepth: Int {
        get { sound?.depth ?? 0 }
        set { sound?.depth = newValue }
    }

    /// What that adds, in bits a second.
    package var redundantBitrate: Int { max(0, redundancyDepth) * blockBitrate }

    /// Parity packets for each packet, 0…1; of use where FlexFEC was negotiated.
    package var protection: Double {
        get { parity?.protection ?? 0 }
        set { parity?.protection = newValue }
    }

    mutating func makeRepair(using generator: inout some RandomNumberGenerator) {
        if configuration.redPayloadType != nil { sound = REDSoundBlocks(depth: 0) }
        guard let ssrc = configuration.flexfecSSRC, let payloadType = configuration.flexfecPayloadType else { return }
        let parity = FlexFECSender.Configuration(
            ssrc: ssrc, payloadType: payloadType, mediaSSRC: configuration.ssrc, extensions: configuration.extensions,
            extensionIDs: configuration.extensions?.ids ?? HeaderExtensionIDs())
        self.parity = FlexFECSender(parity, using: &generator)
    }

    /// What a later description makes of it.
    mutating func followRepair(in new: inout Configuration) {
        if new.redPayloadType == nil {
            sound = nil
        } else {
            sound = sound ?? REDSoundBlocks(depth: 0)
        }
        // Parity packets that ended do not begin again: their numbers would not go on.
        new.flexfecSSRC = new.flexfecPayloadType == nil ? nil : configuration.flexfecSSRC
        guard new.flexfecSSRC != nil, let payloadType = new.flexfecPayloadType else {
            parity = nil
            return
        }
        parity?.renegotiate(payloadType: payloadType, extensions: new.extensions)
    }

    /// The frame with its forerunners, where they are to be sent, and the payload type that it has then. The frame that
    /// all peers share stays as it is.
    mutating func addRedundancy(to queued: QueuedFrame) -> (frame: PacketizedFrame, payloadType: UInt8) {
        let frame = queued.frame
        let plain = (frame, configuration.payloadType)
        guard let redPayloadType = configuration.redPayloadType, let depth = sound?.depth else { return plain }
        if let duration = frame.durationInTicks, duration > 0 {
            let byteCount = frame.payload.count + REDPayload.redundantHeaderByteCount
            let bitrate = byteCount * 8 * configuration.clockRate / Int(duration)
            blockBitrate += blockBitrate == 0 ? bitrate : (bitrate - blockBitrate) / 8
        }
        guard depth > 0, let packet = frame.packets.first, frame.packets.count == 1,
            frame.payload.count < configuration.payloadByteLimit,
            let payload = sound?.payload(
                for: frame.payload, timestamp: queued.timestamp, payloadType: configuration.payloadType,
                byteLimit: configuration.payloadByteLimit)
        else {
            sound?.remember(frame.payload, queued.timestamp)
            return plain
        }
        statistics.fecPacketsSent += UInt64(sound?.carriedBlocks ?? 0)
        statistics.fecBytesSent += UInt64(sound?.carriedByteCount ?? 0)
        let wrapped = PacketizedFrame(
            payload: payload,
            packets: [.init(descriptor: .empty, range: 0..<payload.count, marker: packet.marker)],
            isKeyFrame: frame.isKeyFrame, durationInTicks: frame.durationInTicks, audioLevel: frame.audioLevel)
        return (wrapped, redPayloadType)
    }

    /// The parity packet that is due, right behind what it protects.
    mutating func writeParity(_ values: HeaderExtensionValues, into buffer: inout MutableRawSpan) -> SentPacket? {
        guard let ssrc = configuration.flexfecSSRC, let written = parity?.pollPacket(into: &buffer, values: values)
        else { return nil }
        statistics.fecPacketsSent += 1
        statistics.fecBytesSent += UInt64(written.byteCount)
        return SentPacket(byteCount: written.byteCount, ssrc: ssrc, sequenceNumber: written.sequenceNumber)
    }
}
