import EmisoraCore
import EmisoraRTP

/// Repair that is sent before it is asked for, and what of the rate it takes.
extension PeerEngine {
    /// What media may take of the rate, headers included, when repair has its part. Equal to the target while nothing is
    /// lost.
    package var mediaBitrate: DataRate {
        let left = max(0, Int(sending.decision.targetBitrate.bitsPerSecond) - redundantBitrate)
        return .bitsPerSecond(Int(Double(left) / (1 + protection)))
    }

    /// Repair comes on top of what media may take, as far as the path carries it.
    var ceilingWithRepair: DataRate {
        let media = Double(maximumBitrate?.bitsPerSecond ?? 0) * (1 + protection)
        return .bitsPerSecond(Int(min(1e12, media)) + redundantBitrate)
    }

    func followLoss(_ block: ReportBlock, of stream: SendControl.Stream, now: Instant) {
        let roundTripTime = videoSender?.roundTripTime ?? ice.statistics.currentRoundTripTime
        let before = (depth: audioSender?.redundancyDepth, protection: protection)
        repair.handle(
            fractionLost: Double(block.fractionLost) / 256, of: stream, roundTripTime: roundTripTime, now: now)
        audioSender?.redundancyDepth = repair.soundDepth
        videoSender?.protection = repair.pictureProtection
        guard before.depth != audioSender?.redundancyDepth || before.protection != protection else { return }
        if let maximumBitrate { sending.setMaximum(ceilingWithRepair, start: maximumBitrate, now: now) }
        announceTarget(always: true)
    }

    /// Parity packets for each of the pictures' packets.
    private var protection: Double { videoSender?.protection ?? 0 }

    private var redundantBitrate: Int { audioSender?.redundantBitrate ?? 0 }
}
