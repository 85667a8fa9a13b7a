import CEmisoraSRTP

/// How libsrtp is to treat a session's streams, kept since a stream that is made or changed later needs it again.
struct SRTPPolicy {
    let profile: SRTPProfile
    let masterKeyAndSalt: [UInt8]
    let direction: SRTPContext.Direction
    let replayWindow: UInt
    /// Ids of header extensions (RFC 6904).
    var encryptedHeaderExtensions: Set<UInt8>

    /// Lends the policy of one source, or of all without streams of their own.
    ///
    /// What is encrypted of header extensions is counter mode also beside GCM (RFC 7714 §8.3); libsrtp sees to that.
    func withPolicy(
        of ssrc: UInt32?, _ body: (UnsafePointer<srtp_policy_t>) -> srtp_err_status_t
    ) -> srtp_err_status_t {
        var policy = srtp_policy_t()
        for crypto in [\srtp_policy_t.rtp, \.rtcp] {
            switch profile {
            case .aeadAes128Gcm: emisora_srtp_policy_aead_aes_128_gcm(&policy[keyPath: crypto])
            case .aeadAes256Gcm: emisora_srtp_policy_aead_aes_256_gcm(&policy[keyPath: crypto])
            case .aes128CmHmacSha1_80: emisora_srtp_policy_aes_cm_128_hmac_sha1_80(&policy[keyPath: crypto])
            }
        }
        if let ssrc {
            policy.ssrc.type = ssrc_specific
            policy.ssrc.value = ssrc
        } else {
            policy.ssrc.type = direction == .inbound ? ssrc_any_inbound : ssrc_any_outbound
        }
        policy.window_size = replayWindow
        // A retransmission on the media's own SSRC repeats an index that was sent before; it is the same packet.
        policy.allow_repeat_tx = direction == .outbound ? 1 : 0
        var key = masterKeyAndSalt
        var ids = encryptedHeaderExtensions.sorted().map(Int32.init)
        return key.withUnsafeMutableBufferPointer { key in
            ids.withUnsafeMutableBufferPointer { ids in
                policy.key = key.baseAddress
                policy.enc_xtn_hdr = ids.isEmpty ? nil : ids.baseAddress
                policy.enc_xtn_hdr_count = Int32(ids.count)
                return body(&policy)
            }
        }
    }
}
