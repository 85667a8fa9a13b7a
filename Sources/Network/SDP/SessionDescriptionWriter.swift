extension SessionDescription {
    /// The description as text, with CRLF line ends (RFC 8866 §5).
    package var text: String {
        var lines = [
            "v=0", "o=- \(sessionID) \(sessionVersion) IN IP4 127.0.0.1", "s=-", "t=0 0",
        ]
        if !bundle.isEmpty { lines.append("a=group:BUNDLE " + bundle.joined(separator: " ")) }
        if allowsMixedExtensions { lines.append("a=extmap-allow-mixed") }
        if isICELite { lines.append("a=ice-lite") }
        if !iceOptions.isEmpty { lines.append("a=ice-options:" + iceOptions.joined(separator: " ")) }
        for section in media { lines += section.lines }
        return lines.joined(separator: "\r\n") + "\r\n"
    }
}

extension MediaSection {
    fileprivate var lines: [String] {
        var lines = [
            "m=\(kind) \(port) \(protocolName) " + formats.joined(separator: " "), "c=IN IP4 0.0.0.0",
        ]
        if let mid { lines.append("a=mid:\(mid)") }
        if isBundleOnly { lines.append("a=bundle-only") }
        // Data channels have no direction; where one was written it stays.
        if kind != DataChannelSection.kind || direction != .sendrecv { lines.append("a=\(direction.rawValue)") }
        if let iceUfrag { lines.append("a=ice-ufrag:\(iceUfrag)") }
        if let icePassword { lines.append("a=ice-pwd:\(icePassword)") }
        for fingerprint in fingerprints { lines.append("a=fingerprint:\(fingerprint.algorithm) \(fingerprint.value)") }
        if let setup { lines.append("a=setup:\(setup.rawValue)") }
        if isRTCPMultiplexed { lines.append("a=rtcp-mux") }
        if isRTCPReducedSize { lines.append("a=rtcp-rsize") }
        // Parameters and feedback may belong to a payload type that has no a=rtpmap.
        for map in rtpMaps {
            let channels = map.channels > 1 ? "/\(map.channels)" : ""
            lines.append("a=rtpmap:\(map.payloadType) \(map.name)/\(map.clockRate)\(channels)")
        }
        for (type, parameters) in formatParameters.sorted(by: { $0.key < $1.key }) {
            lines.append("a=fmtp:\(type) \(parameters)")
        }
        if let packetTime { lines.append("a=ptime:\(packetTime)") }
        if let maximumPacketTime { lines.append("a=maxptime:\(maximumPacketTime)") }
        for line in feedback {
            lines.append("a=rtcp-fb:\(line.payloadType.map { "\($0)" } ?? "*") \(line.value)")
        }
        for map in extensions { lines.append("a=extmap:\(map.text)") }
        if let streamID { lines.append("a=msid:\(streamID)" + (trackID.map { " \($0)" } ?? "")) }
        for rid in rids { lines.append("a=rid:\(rid.text)") }
        if let simulcast { lines.append("a=simulcast:\(simulcast.text)") }
        if let sctpPort { lines.append("a=sctp-port:\(sctpPort)") }
        if let sctpMap { lines.append("a=sctpmap:\(sctpMap.text)") }
        if let maximumMessageSize { lines.append("a=max-message-size:\(maximumMessageSize)") }
        for group in retransmissionGroups { lines.append("a=ssrc-group:FID \(group.media) \(group.retransmission)") }
        for group in repairGroups { lines.append("a=ssrc-group:FEC-FR \(group.media) \(group.repair)") }
        for line in ssrcs {
            // Some receivers want at least one attribute behind each ssrc; RFC 5576 §6.1 has cname for that.
            lines.append("a=ssrc:\(line.ssrc)" + (line.cname.map { " cname:\($0)" } ?? ""))
        }
        for candidate in candidates { lines.append("a=\(candidate.text)") }
        if isEndOfCandidates { lines.append("a=end-of-candidates") }
        return lines
    }
}
