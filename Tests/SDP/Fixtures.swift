// Offers as Chromium and Firefox ESR write them after gathering, nothing stripped. Lines end with LF here; `crlf` gives
// them as they were.

enum Fixtures {
    static let all = [
        ("chromiumRecvonly", chromiumRecvonly), ("chromiumSendonly", chromiumSendonly),
        ("chromiumMulti", chromiumMulti), ("firefoxRecvonly", firefoxRecvonly),
        ("firefoxSendonly", firefoxSendonly), ("firefoxMulti", firefoxMulti),
    ]

    static func crlf(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    }

    /// Chromium. A viewer: video, then audio, both recvonly.
    static let chromiumRecvonly = """
        v=0
        o=- 5181890863236040383 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 100 101 35 36 37 38 102 103 104 107 108 109 114 115 116 117 39 40 41 42 43 44 45 46 47 48 118 119 120 49
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:3927155736 1 udp 2113937151 df7216a6-2ebb-4835-9ccb-18927f4087db.local 36040 typ host generation 0 network-cost 999
        a=candidate:561341944 1 udp 2113942271 c1a90f5e-d5ef-4d03-b86a-053a0a93463b.local 33952 typ host generation 0 network-cost 999
        a=ice-ufrag:eYza
        a=ice-pwd:67EheI03eqAo9uckuiwSSnTU
        a=ice-options:trickle
        a=fingerprint:sha-256 4A:F8:CE:16:3F:3E:62:DC:8F:9E:72:4D:C3:17:B7:5E:82:A2:F3:A1:13:CF:CF:4C:D5:3D:2C:A4:67:3F:1B:19
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 urn:3gpp:video-orientation
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:98 VP9/90000
        a=rtcp-fb:98 goog-remb
        a=rtcp-fb:98 transport-cc
        a=rtcp-fb:98 ccm fir
        a=rtcp-fb:98 nack
        a=rtcp-fb:98 nack pli
        a=fmtp:98 profile-id=0
        a=rtpmap:99 rtx/90000
        a=fmtp:99 apt=98
        a=rtpmap:100 VP9/90000
        a=rtcp-fb:100 goog-remb
        a=rtcp-fb:100 transport-cc
        a=rtcp-fb:100 ccm fir
        a=rtcp-fb:100 nack
        a=rtcp-fb:100 nack pli
        a=fmtp:100 profile-id=2
        a=rtpmap:101 rtx/90000
        a=fmtp:101 apt=100
        a=rtpmap:35 VP9/90000
        a=rtcp-fb:35 goog-remb
        a=rtcp-fb:35 transport-cc
        a=rtcp-fb:35 ccm fir
        a=rtcp-fb:35 nack
        a=rtcp-fb:35 nack pli
        a=fmtp:35 profile-id=1
        a=rtpmap:36 rtx/90000
        a=fmtp:36 apt=35
        a=rtpmap:37 VP9/90000
        a=rtcp-fb:37 goog-remb
        a=rtcp-fb:37 transport-cc
        a=rtcp-fb:37 ccm fir
        a=rtcp-fb:37 nack
        a=rtcp-fb:37 nack pli
        a=fmtp:37 profile-id=3
        a=rtpmap:38 rtx/90000
        a=fmtp:38 apt=37
        a=rtpmap:102 H264/90000
        a=rtcp-fb:102 goog-remb
        a=rtcp-fb:102 transport-cc
        a=rtcp-fb:102 ccm fir
        a=rtcp-fb:102 nack
        a=rtcp-fb:102 nack pli
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:103 rtx/90000
        a=fmtp:103 apt=102
        a=rtpmap:104 H264/90000
        a=rtcp-fb:104 goog-remb
        a=rtcp-fb:104 transport-cc
        a=rtcp-fb:104 ccm fir
        a=rtcp-fb:104 nack
        a=rtcp-fb:104 nack pli
        a=fmtp:104 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f
        a=rtpmap:107 rtx/90000
        a=fmtp:107 apt=104
        a=rtpmap:108 H264/90000
        a=rtcp-fb:108 goog-remb
        a=rtcp-fb:108 transport-cc
        a=rtcp-fb:108 ccm fir
        a=rtcp-fb:108 nack
        a=rtcp-fb:108 nack pli
        a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:109 rtx/90000
        a=fmtp:109 apt=108
        a=rtpmap:114 H264/90000
        a=rtcp-fb:114 goog-remb
        a=rtcp-fb:114 transport-cc
        a=rtcp-fb:114 ccm fir
        a=rtcp-fb:114 nack
        a=rtcp-fb:114 nack pli
        a=fmtp:114 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
        a=rtpmap:115 rtx/90000
        a=fmtp:115 apt=114
        a=rtpmap:116 H264/90000
        a=rtcp-fb:116 goog-remb
        a=rtcp-fb:116 transport-cc
        a=rtcp-fb:116 ccm fir
        a=rtcp-fb:116 nack
        a=rtcp-fb:116 nack pli
        a=fmtp:116 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f
        a=rtpmap:117 rtx/90000
        a=fmtp:117 apt=116
        a=rtpmap:39 H264/90000
        a=rtcp-fb:39 goog-remb
        a=rtcp-fb:39 transport-cc
        a=rtcp-fb:39 ccm fir
        a=rtcp-fb:39 nack
        a=rtcp-fb:39 nack pli
        a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=4d001f
        a=rtpmap:40 rtx/90000
        a=fmtp:40 apt=39
        a=rtpmap:41 H264/90000
        a=rtcp-fb:41 goog-remb
        a=rtcp-fb:41 transport-cc
        a=rtcp-fb:41 ccm fir
        a=rtcp-fb:41 nack
        a=rtcp-fb:41 nack pli
        a=fmtp:41 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f4001f
        a=rtpmap:42 rtx/90000
        a=fmtp:42 apt=41
        a=rtpmap:43 H264/90000
        a=rtcp-fb:43 goog-remb
        a=rtcp-fb:43 transport-cc
        a=rtcp-fb:43 ccm fir
        a=rtcp-fb:43 nack
        a=rtcp-fb:43 nack pli
        a=fmtp:43 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=f4001f
        a=rtpmap:44 rtx/90000
        a=fmtp:44 apt=43
        a=rtpmap:45 AV1/90000
        a=rtcp-fb:45 goog-remb
        a=rtcp-fb:45 transport-cc
        a=rtcp-fb:45 ccm fir
        a=rtcp-fb:45 nack
        a=rtcp-fb:45 nack pli
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
        a=rtpmap:47 AV1/90000
        a=rtcp-fb:47 goog-remb
        a=rtcp-fb:47 transport-cc
        a=rtcp-fb:47 ccm fir
        a=rtcp-fb:47 nack
        a=rtcp-fb:47 nack pli
        a=fmtp:47 level-idx=5;profile=1;tier=0
        a=rtpmap:48 rtx/90000
        a=fmtp:48 apt=47
        a=rtpmap:118 red/90000
        a=rtpmap:119 rtx/90000
        a=fmtp:119 apt=118
        a=rtpmap:120 ulpfec/90000
        a=rtpmap:49 flexfec-03/90000
        a=rtcp-fb:49 goog-remb
        a=rtcp-fb:49 transport-cc
        a=fmtp:49 repair-window=10000000
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:3927155736 1 udp 2113937151 df7216a6-2ebb-4835-9ccb-18927f4087db.local 34481 typ host generation 0 network-cost 999
        a=candidate:561341944 1 udp 2113942271 c1a90f5e-d5ef-4d03-b86a-053a0a93463b.local 48474 typ host generation 0 network-cost 999
        a=ice-ufrag:eYza
        a=ice-pwd:67EheI03eqAo9uckuiwSSnTU
        a=ice-options:trickle
        a=fingerprint:sha-256 4A:F8:CE:16:3F:3E:62:DC:8F:9E:72:4D:C3:17:B7:5E:82:A2:F3:A1:13:CF:CF:4C:D5:3D:2C:A4:67:3F:1B:19
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000

        """

    /// Chromium. A publisher: audio, then video, both sendonly.
    static let chromiumSendonly = """
        v=0
        o=- 4018771844225960894 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS c9211601-b140-4eae-ba31-c27de75ac242
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:1996510425 1 udp 2113937151 df7216a6-2ebb-4835-9ccb-18927f4087db.local 36050 typ host generation 0 network-cost 999
        a=candidate:1755905501 1 udp 2113942271 c1a90f5e-d5ef-4d03-b86a-053a0a93463b.local 33905 typ host generation 0 network-cost 999
        a=ice-ufrag:Hjs4
        a=ice-pwd:QuWCjBH8RFqUt8iEvrIjGk1k
        a=ice-options:trickle
        a=fingerprint:sha-256 67:20:C2:A2:9C:EA:18:CE:36:55:5E:5E:47:8A:FC:B5:5D:BB:0B:EE:49:CA:36:67:8E:BA:53:D2:32:76:0D:F5
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=sendonly
        a=msid:c9211601-b140-4eae-ba31-c27de75ac242 61fcc801-9c0b-4cf4-8928-184227d6d305
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000
        a=ssrc:3034838051 cname:dusdVFJFlO2DAYSa
        a=ssrc:3034838051 msid:c9211601-b140-4eae-ba31-c27de75ac242 61fcc801-9c0b-4cf4-8928-184227d6d305
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103 104 107 108 109 114 115 116 117 39 40 45 46 98 99 100 101 118 119 120
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:1996510425 1 udp 2113937151 df7216a6-2ebb-4835-9ccb-18927f4087db.local 57449 typ host generation 0 network-cost 999
        a=candidate:1755905501 1 udp 2113942271 c1a90f5e-d5ef-4d03-b86a-053a0a93463b.local 40420 typ host generation 0 network-cost 999
        a=ice-ufrag:Hjs4
        a=ice-pwd:QuWCjBH8RFqUt8iEvrIjGk1k
        a=ice-options:trickle
        a=fingerprint:sha-256 67:20:C2:A2:9C:EA:18:CE:36:55:5E:5E:47:8A:FC:B5:5D:BB:0B:EE:49:CA:36:67:8E:BA:53:D2:32:76:0D:F5
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:13 urn:3gpp:video-orientation
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=sendonly
        a=msid:c9211601-b140-4eae-ba31-c27de75ac242 afba5fdf-6c2c-4eaa-ba2c-1d0b7bf38e48
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:102 H264/90000
        a=rtcp-fb:102 goog-remb
        a=rtcp-fb:102 transport-cc
        a=rtcp-fb:102 ccm fir
        a=rtcp-fb:102 nack
        a=rtcp-fb:102 nack pli
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:103 rtx/90000
        a=fmtp:103 apt=102
        a=rtpmap:104 H264/90000
        a=rtcp-fb:104 goog-remb
        a=rtcp-fb:104 transport-cc
        a=rtcp-fb:104 ccm fir
        a=rtcp-fb:104 nack
        a=rtcp-fb:104 nack pli
        a=fmtp:104 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f
        a=rtpmap:107 rtx/90000
        a=fmtp:107 apt=104
        a=rtpmap:108 H264/90000
        a=rtcp-fb:108 goog-remb
        a=rtcp-fb:108 transport-cc
        a=rtcp-fb:108 ccm fir
        a=rtcp-fb:108 nack
        a=rtcp-fb:108 nack pli
        a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:109 rtx/90000
        a=fmtp:109 apt=108
        a=rtpmap:114 H264/90000
        a=rtcp-fb:114 goog-remb
        a=rtcp-fb:114 transport-cc
        a=rtcp-fb:114 ccm fir
        a=rtcp-fb:114 nack
        a=rtcp-fb:114 nack pli
        a=fmtp:114 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
        a=rtpmap:115 rtx/90000
        a=fmtp:115 apt=114
        a=rtpmap:116 H264/90000
        a=rtcp-fb:116 goog-remb
        a=rtcp-fb:116 transport-cc
        a=rtcp-fb:116 ccm fir
        a=rtcp-fb:116 nack
        a=rtcp-fb:116 nack pli
        a=fmtp:116 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f
        a=rtpmap:117 rtx/90000
        a=fmtp:117 apt=116
        a=rtpmap:39 H264/90000
        a=rtcp-fb:39 goog-remb
        a=rtcp-fb:39 transport-cc
        a=rtcp-fb:39 ccm fir
        a=rtcp-fb:39 nack
        a=rtcp-fb:39 nack pli
        a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=4d001f
        a=rtpmap:40 rtx/90000
        a=fmtp:40 apt=39
        a=rtpmap:45 AV1/90000
        a=rtcp-fb:45 goog-remb
        a=rtcp-fb:45 transport-cc
        a=rtcp-fb:45 ccm fir
        a=rtcp-fb:45 nack
        a=rtcp-fb:45 nack pli
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
        a=rtpmap:98 VP9/90000
        a=rtcp-fb:98 goog-remb
        a=rtcp-fb:98 transport-cc
        a=rtcp-fb:98 ccm fir
        a=rtcp-fb:98 nack
        a=rtcp-fb:98 nack pli
        a=fmtp:98 profile-id=0
        a=rtpmap:99 rtx/90000
        a=fmtp:99 apt=98
        a=rtpmap:100 VP9/90000
        a=rtcp-fb:100 goog-remb
        a=rtcp-fb:100 transport-cc
        a=rtcp-fb:100 ccm fir
        a=rtcp-fb:100 nack
        a=rtcp-fb:100 nack pli
        a=fmtp:100 profile-id=2
        a=rtpmap:101 rtx/90000
        a=fmtp:101 apt=100
        a=rtpmap:118 red/90000
        a=rtpmap:119 rtx/90000
        a=fmtp:119 apt=118
        a=rtpmap:120 ulpfec/90000
        a=ssrc-group:FID 4088288453 559519401
        a=ssrc:4088288453 cname:dusdVFJFlO2DAYSa
        a=ssrc:4088288453 msid:c9211601-b140-4eae-ba31-c27de75ac242 afba5fdf-6c2c-4eaa-ba2c-1d0b7bf38e48
        a=ssrc:559519401 cname:dusdVFJFlO2DAYSa
        a=ssrc:559519401 msid:c9211601-b140-4eae-ba31-c27de75ac242 afba5fdf-6c2c-4eaa-ba2c-1d0b7bf38e48

        """

    /// Chromium. Audio, two video m-lines (all recvonly) and a data channel.
    static let chromiumMulti = """
        v=0
        o=- 1681889133382701473 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1 2 3
        a=extmap-allow-mixed
        a=msid-semantic: WMS
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:4073965490 1 udp 2113937151 df7216a6-2ebb-4835-9ccb-18927f4087db.local 44716 typ host generation 0 network-cost 999
        a=candidate:968164946 1 udp 2113942271 c1a90f5e-d5ef-4d03-b86a-053a0a93463b.local 53765 typ host generation 0 network-cost 999
        a=ice-ufrag:XqVT
        a=ice-pwd:uay846l/fDFuDOLPbn7/JCD+
        a=ice-options:trickle
        a=fingerprint:sha-256 C0:B8:14:4E:D4:F7:02:30:F0:2E:AF:29:8A:8E:B1:72:CE:2B:66:26:71:83:7C:61:49:14:E8:90:8E:6F:C8:33
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 100 101 35 36 37 38 102 103 104 107 108 109 114 115 116 117 39 40 41 42 43 44 45 46 47 48 118 119 120 49
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:4073965490 1 udp 2113937151 df7216a6-2ebb-4835-9ccb-18927f4087db.local 56622 typ host generation 0 network-cost 999
        a=candidate:968164946 1 udp 2113942271 c1a90f5e-d5ef-4d03-b86a-053a0a93463b.local 39287 typ host generation 0 network-cost 999
        a=ice-ufrag:XqVT
        a=ice-pwd:uay846l/fDFuDOLPbn7/JCD+
        a=ice-options:trickle
        a=fingerprint:sha-256 C0:B8:14:4E:D4:F7:02:30:F0:2E:AF:29:8A:8E:B1:72:CE:2B:66:26:71:83:7C:61:49:14:E8:90:8E:6F:C8:33
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:13 urn:3gpp:video-orientation
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:98 VP9/90000
        a=rtcp-fb:98 goog-remb
        a=rtcp-fb:98 transport-cc
        a=rtcp-fb:98 ccm fir
        a=rtcp-fb:98 nack
        a=rtcp-fb:98 nack pli
        a=fmtp:98 profile-id=0
        a=rtpmap:99 rtx/90000
        a=fmtp:99 apt=98
        a=rtpmap:100 VP9/90000
        a=rtcp-fb:100 goog-remb
        a=rtcp-fb:100 transport-cc
        a=rtcp-fb:100 ccm fir
        a=rtcp-fb:100 nack
        a=rtcp-fb:100 nack pli
        a=fmtp:100 profile-id=2
        a=rtpmap:101 rtx/90000
        a=fmtp:101 apt=100
        a=rtpmap:35 VP9/90000
        a=rtcp-fb:35 goog-remb
        a=rtcp-fb:35 transport-cc
        a=rtcp-fb:35 ccm fir
        a=rtcp-fb:35 nack
        a=rtcp-fb:35 nack pli
        a=fmtp:35 profile-id=1
        a=rtpmap:36 rtx/90000
        a=fmtp:36 apt=35
        a=rtpmap:37 VP9/90000
        a=rtcp-fb:37 goog-remb
        a=rtcp-fb:37 transport-cc
        a=rtcp-fb:37 ccm fir
        a=rtcp-fb:37 nack
        a=rtcp-fb:37 nack pli
        a=fmtp:37 profile-id=3
        a=rtpmap:38 rtx/90000
        a=fmtp:38 apt=37
        a=rtpmap:102 H264/90000
        a=rtcp-fb:102 goog-remb
        a=rtcp-fb:102 transport-cc
        a=rtcp-fb:102 ccm fir
        a=rtcp-fb:102 nack
        a=rtcp-fb:102 nack pli
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:103 rtx/90000
        a=fmtp:103 apt=102
        a=rtpmap:104 H264/90000
        a=rtcp-fb:104 goog-remb
        a=rtcp-fb:104 transport-cc
        a=rtcp-fb:104 ccm fir
        a=rtcp-fb:104 nack
        a=rtcp-fb:104 nack pli
        a=fmtp:104 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f
        a=rtpmap:107 rtx/90000
        a=fmtp:107 apt=104
        a=rtpmap:108 H264/90000
        a=rtcp-fb:108 goog-remb
        a=rtcp-fb:108 transport-cc
        a=rtcp-fb:108 ccm fir
        a=rtcp-fb:108 nack
        a=rtcp-fb:108 nack pli
        a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:109 rtx/90000
        a=fmtp:109 apt=108
        a=rtpmap:114 H264/90000
        a=rtcp-fb:114 goog-remb
        a=rtcp-fb:114 transport-cc
        a=rtcp-fb:114 ccm fir
        a=rtcp-fb:114 nack
        a=rtcp-fb:114 nack pli
        a=fmtp:114 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
        a=rtpmap:115 rtx/90000
        a=fmtp:115 apt=114
        a=rtpmap:116 H264/90000
        a=rtcp-fb:116 goog-remb
        a=rtcp-fb:116 transport-cc
        a=rtcp-fb:116 ccm fir
        a=rtcp-fb:116 nack
        a=rtcp-fb:116 nack pli
        a=fmtp:116 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f
        a=rtpmap:117 rtx/90000
        a=fmtp:117 apt=116
        a=rtpmap:39 H264/90000
        a=rtcp-fb:39 goog-remb
        a=rtcp-fb:39 transport-cc
        a=rtcp-fb:39 ccm fir
        a=rtcp-fb:39 nack
        a=rtcp-fb:39 nack pli
        a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=4d001f
        a=rtpmap:40 rtx/90000
        a=fmtp:40 apt=39
        a=rtpmap:41 H264/90000
        a=rtcp-fb:41 goog-remb
        a=rtcp-fb:41 transport-cc
        a=rtcp-fb:41 ccm fir
        a=rtcp-fb:41 nack
        a=rtcp-fb:41 nack pli
        a=fmtp:41 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f4001f
        a=rtpmap:42 rtx/90000
        a=fmtp:42 apt=41
        a=rtpmap:43 H264/90000
        a=rtcp-fb:43 goog-remb
        a=rtcp-fb:43 transport-cc
        a=rtcp-fb:43 ccm fir
        a=rtcp-fb:43 nack
        a=rtcp-fb:43 nack pli
        a=fmtp:43 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=f4001f
        a=rtpmap:44 rtx/90000
        a=fmtp:44 apt=43
        a=rtpmap:45 AV1/90000
        a=rtcp-fb:45 goog-remb
        a=rtcp-fb:45 transport-cc
        a=rtcp-fb:45 ccm fir
        a=rtcp-fb:45 nack
        a=rtcp-fb:45 nack pli
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
        a=rtpmap:47 AV1/90000
        a=rtcp-fb:47 goog-remb
        a=rtcp-fb:47 transport-cc
        a=rtcp-fb:47 ccm fir
        a=rtcp-fb:47 nack
        a=rtcp-fb:47 nack pli
        a=fmtp:47 level-idx=5;profile=1;tier=0
        a=rtpmap:48 rtx/90000
        a=fmtp:48 apt=47
        a=rtpmap:118 red/90000
        a=rtpmap:119 rtx/90000
        a=fmtp:119 apt=118
        a=rtpmap:120 ulpfec/90000
        a=rtpmap:49 flexfec-03/90000
        a=rtcp-fb:49 goog-remb
        a=rtcp-fb:49 transport-cc
        a=fmtp:49 repair-window=10000000
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 100 101 35 36 37 38 102 103 104 107 108 109 114 115 116 117 39 40 41 42 43 44 45 46 47 48 118 119 120 49
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:4073965490 1 udp 2113937151 df7216a6-2ebb-4835-9ccb-18927f4087db.local 53801 typ host generation 0 network-cost 999
        a=candidate:968164946 1 udp 2113942271 c1a90f5e-d5ef-4d03-b86a-053a0a93463b.local 44012 typ host generation 0 network-cost 999
        a=ice-ufrag:XqVT
        a=ice-pwd:uay846l/fDFuDOLPbn7/JCD+
        a=ice-options:trickle
        a=fingerprint:sha-256 C0:B8:14:4E:D4:F7:02:30:F0:2E:AF:29:8A:8E:B1:72:CE:2B:66:26:71:83:7C:61:49:14:E8:90:8E:6F:C8:33
        a=setup:actpass
        a=mid:2
        a=extmap:14 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:13 urn:3gpp:video-orientation
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:98 VP9/90000
        a=rtcp-fb:98 goog-remb
        a=rtcp-fb:98 transport-cc
        a=rtcp-fb:98 ccm fir
        a=rtcp-fb:98 nack
        a=rtcp-fb:98 nack pli
        a=fmtp:98 profile-id=0
        a=rtpmap:99 rtx/90000
        a=fmtp:99 apt=98
        a=rtpmap:100 VP9/90000
        a=rtcp-fb:100 goog-remb
        a=rtcp-fb:100 transport-cc
        a=rtcp-fb:100 ccm fir
        a=rtcp-fb:100 nack
        a=rtcp-fb:100 nack pli
        a=fmtp:100 profile-id=2
        a=rtpmap:101 rtx/90000
        a=fmtp:101 apt=100
        a=rtpmap:35 VP9/90000
        a=rtcp-fb:35 goog-remb
        a=rtcp-fb:35 transport-cc
        a=rtcp-fb:35 ccm fir
        a=rtcp-fb:35 nack
        a=rtcp-fb:35 nack pli
        a=fmtp:35 profile-id=1
        a=rtpmap:36 rtx/90000
        a=fmtp:36 apt=35
        a=rtpmap:37 VP9/90000
        a=rtcp-fb:37 goog-remb
        a=rtcp-fb:37 transport-cc
        a=rtcp-fb:37 ccm fir
        a=rtcp-fb:37 nack
        a=rtcp-fb:37 nack pli
        a=fmtp:37 profile-id=3
        a=rtpmap:38 rtx/90000
        a=fmtp:38 apt=37
        a=rtpmap:102 H264/90000
        a=rtcp-fb:102 goog-remb
        a=rtcp-fb:102 transport-cc
        a=rtcp-fb:102 ccm fir
        a=rtcp-fb:102 nack
        a=rtcp-fb:102 nack pli
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:103 rtx/90000
        a=fmtp:103 apt=102
        a=rtpmap:104 H264/90000
        a=rtcp-fb:104 goog-remb
        a=rtcp-fb:104 transport-cc
        a=rtcp-fb:104 ccm fir
        a=rtcp-fb:104 nack
        a=rtcp-fb:104 nack pli
        a=fmtp:104 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f
        a=rtpmap:107 rtx/90000
        a=fmtp:107 apt=104
        a=rtpmap:108 H264/90000
        a=rtcp-fb:108 goog-remb
        a=rtcp-fb:108 transport-cc
        a=rtcp-fb:108 ccm fir
        a=rtcp-fb:108 nack
        a=rtcp-fb:108 nack pli
        a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:109 rtx/90000
        a=fmtp:109 apt=108
        a=rtpmap:114 H264/90000
        a=rtcp-fb:114 goog-remb
        a=rtcp-fb:114 transport-cc
        a=rtcp-fb:114 ccm fir
        a=rtcp-fb:114 nack
        a=rtcp-fb:114 nack pli
        a=fmtp:114 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
        a=rtpmap:115 rtx/90000
        a=fmtp:115 apt=114
        a=rtpmap:116 H264/90000
        a=rtcp-fb:116 goog-remb
        a=rtcp-fb:116 transport-cc
        a=rtcp-fb:116 ccm fir
        a=rtcp-fb:116 nack
        a=rtcp-fb:116 nack pli
        a=fmtp:116 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f
        a=rtpmap:117 rtx/90000
        a=fmtp:117 apt=116
        a=rtpmap:39 H264/90000
        a=rtcp-fb:39 goog-remb
        a=rtcp-fb:39 transport-cc
        a=rtcp-fb:39 ccm fir
        a=rtcp-fb:39 nack
        a=rtcp-fb:39 nack pli
        a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=4d001f
        a=rtpmap:40 rtx/90000
        a=fmtp:40 apt=39
        a=rtpmap:41 H264/90000
        a=rtcp-fb:41 goog-remb
        a=rtcp-fb:41 transport-cc
        a=rtcp-fb:41 ccm fir
        a=rtcp-fb:41 nack
        a=rtcp-fb:41 nack pli
        a=fmtp:41 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f4001f
        a=rtpmap:42 rtx/90000
        a=fmtp:42 apt=41
        a=rtpmap:43 H264/90000
        a=rtcp-fb:43 goog-remb
        a=rtcp-fb:43 transport-cc
        a=rtcp-fb:43 ccm fir
        a=rtcp-fb:43 nack
        a=rtcp-fb:43 nack pli
        a=fmtp:43 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=f4001f
        a=rtpmap:44 rtx/90000
        a=fmtp:44 apt=43
        a=rtpmap:45 AV1/90000
        a=rtcp-fb:45 goog-remb
        a=rtcp-fb:45 transport-cc
        a=rtcp-fb:45 ccm fir
        a=rtcp-fb:45 nack
        a=rtcp-fb:45 nack pli
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
        a=rtpmap:47 AV1/90000
        a=rtcp-fb:47 goog-remb
        a=rtcp-fb:47 transport-cc
        a=rtcp-fb:47 ccm fir
        a=rtcp-fb:47 nack
        a=rtcp-fb:47 nack pli
        a=fmtp:47 level-idx=5;profile=1;tier=0
        a=rtpmap:48 rtx/90000
        a=fmtp:48 apt=47
        a=rtpmap:118 red/90000
        a=rtpmap:119 rtx/90000
        a=fmtp:119 apt=118
        a=rtpmap:120 ulpfec/90000
        a=rtpmap:49 flexfec-03/90000
        a=rtcp-fb:49 goog-remb
        a=rtcp-fb:49 transport-cc
        a=fmtp:49 repair-window=10000000
        m=application 9 UDP/DTLS/SCTP webrtc-datachannel
        c=IN IP4 0.0.0.0
        a=candidate:4073965490 1 udp 2113937151 df7216a6-2ebb-4835-9ccb-18927f4087db.local 41152 typ host generation 0 network-cost 999
        a=candidate:968164946 1 udp 2113942271 c1a90f5e-d5ef-4d03-b86a-053a0a93463b.local 46646 typ host generation 0 network-cost 999
        a=ice-ufrag:XqVT
        a=ice-pwd:uay846l/fDFuDOLPbn7/JCD+
        a=ice-options:trickle
        a=fingerprint:sha-256 C0:B8:14:4E:D4:F7:02:30:F0:2E:AF:29:8A:8E:B1:72:CE:2B:66:26:71:83:7C:61:49:14:E8:90:8E:6F:C8:33
        a=setup:actpass
        a=mid:3
        a=sctp-port:5000
        a=max-message-size:262144

        """

    /// Firefox. A viewer: video, then audio, both recvonly.
    static let firefoxRecvonly = """
        v=0
        o=mozilla...THIS_IS_SDPARTA-99.0 8820442276885882524 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=sendrecv
        a=fingerprint:sha-256 B1:CD:F2:2A:9A:58:F6:BD:AB:33:FF:9E:09:E8:38:A3:96:F4:7E:FD:04:41:A5:97:99:40:96:90:1A:D4:61:78
        a=group:BUNDLE 0 1
        a=ice-options:trickle
        a=msid-semantic:WMS *
        m=video 9 UDP/TLS/RTP/SAVPF 120 124 121 125 99 100 123 122 119
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122187007 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 45777 typ host
        a=candidate:1 1 UDP 2122252543 9ec12286-03b3-4f83-af03-3a31a5c9ddb4.local 46698 typ host
        a=candidate:2 1 TCP 2105458943 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 9 typ host tcptype active
        a=candidate:3 1 TCP 2105524479 9ec12286-03b3-4f83-af03-3a31a5c9ddb4.local 9 typ host tcptype active
        a=candidate:0 2 UDP 2122187006 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 53131 typ host
        a=candidate:1 2 UDP 2122252542 9ec12286-03b3-4f83-af03-3a31a5c9ddb4.local 44158 typ host
        a=candidate:2 2 TCP 2105458942 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 9 typ host tcptype active
        a=candidate:3 2 TCP 2105524478 9ec12286-03b3-4f83-af03-3a31a5c9ddb4.local 9 typ host tcptype active
        a=recvonly
        a=end-of-candidates
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:5 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:6/recvonly http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:120 max-fs=12288;max-fr=60
        a=fmtp:124 apt=120
        a=fmtp:121 max-fs=12288;max-fr=60
        a=fmtp:125 apt=121
        a=fmtp:100 apt=99
        a=fmtp:119 apt=122
        a=ice-pwd:0bd007a45d3fd910b82cccea3b315a27
        a=ice-ufrag:7c2e65be
        a=mid:0
        a=rtcp:53131 IN IP4 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local
        a=rtcp-fb:120 nack
        a=rtcp-fb:120 nack pli
        a=rtcp-fb:120 ccm fir
        a=rtcp-fb:120 goog-remb
        a=rtcp-fb:120 transport-cc
        a=rtcp-fb:121 nack
        a=rtcp-fb:121 nack pli
        a=rtcp-fb:121 ccm fir
        a=rtcp-fb:121 goog-remb
        a=rtcp-fb:121 transport-cc
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 ccm fir
        a=rtcp-fb:99 goog-remb
        a=rtcp-fb:99 transport-cc
        a=rtcp-fb:123 nack
        a=rtcp-fb:123 nack pli
        a=rtcp-fb:123 ccm fir
        a=rtcp-fb:123 goog-remb
        a=rtcp-fb:123 transport-cc
        a=rtcp-fb:122 nack
        a=rtcp-fb:122 nack pli
        a=rtcp-fb:122 ccm fir
        a=rtcp-fb:122 goog-remb
        a=rtcp-fb:122 transport-cc
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:120 VP8/90000
        a=rtpmap:124 rtx/90000
        a=rtpmap:121 VP9/90000
        a=rtpmap:125 rtx/90000
        a=rtpmap:99 AV1/90000
        a=rtpmap:100 rtx/90000
        a=rtpmap:123 ulpfec/90000
        a=rtpmap:122 red/90000
        a=rtpmap:119 rtx/90000
        a=setup:actpass
        a=ssrc:3518319431 cname:{bf5749ae-ab62-4b40-a4f7-c3b0962f5671}
        m=audio 9 UDP/TLS/RTP/SAVPF 109 9 0 8 101
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122187007 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 51703 typ host
        a=candidate:1 1 UDP 2122252543 9ec12286-03b3-4f83-af03-3a31a5c9ddb4.local 45883 typ host
        a=candidate:2 1 TCP 2105458943 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 9 typ host tcptype active
        a=candidate:3 1 TCP 2105524479 9ec12286-03b3-4f83-af03-3a31a5c9ddb4.local 9 typ host tcptype active
        a=candidate:0 2 UDP 2122187006 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 54039 typ host
        a=candidate:1 2 UDP 2122252542 9ec12286-03b3-4f83-af03-3a31a5c9ddb4.local 48235 typ host
        a=candidate:2 2 TCP 2105458942 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local 9 typ host tcptype active
        a=candidate:3 2 TCP 2105524478 9ec12286-03b3-4f83-af03-3a31a5c9ddb4.local 9 typ host tcptype active
        a=recvonly
        a=end-of-candidates
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
        a=fmtp:101 0-15
        a=ice-pwd:0bd007a45d3fd910b82cccea3b315a27
        a=ice-ufrag:7c2e65be
        a=mid:1
        a=rtcp:54039 IN IP4 5d5cae1f-53ba-4bb4-88db-88e5b2b3b3ef.local
        a=rtcp-fb:109 transport-cc
        a=rtcp-fb:9 transport-cc
        a=rtcp-fb:0 transport-cc
        a=rtcp-fb:8 transport-cc
        a=rtcp-mux
        a=rtpmap:109 opus/48000/2
        a=rtpmap:9 G722/8000/1
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:101 telephone-event/8000
        a=setup:actpass
        a=ssrc:2445329535 cname:{bf5749ae-ab62-4b40-a4f7-c3b0962f5671}

        """

    /// Firefox. A publisher: audio, then video, both sendonly.
    static let firefoxSendonly = """
        v=0
        o=mozilla...THIS_IS_SDPARTA-99.0 2203896215142682266 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=sendrecv
        a=fingerprint:sha-256 2B:83:07:77:50:50:49:BD:EE:A2:DD:81:7F:8D:6F:5B:4D:18:3A:60:CD:4F:D7:D1:14:02:2E:A2:4C:D7:B0:57
        a=group:BUNDLE 0 1
        a=ice-options:trickle
        a=msid-semantic:WMS *
        m=audio 9 UDP/TLS/RTP/SAVPF 109 9 0 8 101
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122187007 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local 51860 typ host
        a=candidate:1 1 UDP 2122252543 2cedefcd-73ed-4566-83b6-c081b524729b.local 47124 typ host
        a=candidate:2 1 TCP 2105458943 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local 9 typ host tcptype active
        a=candidate:3 1 TCP 2105524479 2cedefcd-73ed-4566-83b6-c081b524729b.local 9 typ host tcptype active
        a=candidate:0 2 UDP 2122187006 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local 59102 typ host
        a=candidate:1 2 UDP 2122252542 2cedefcd-73ed-4566-83b6-c081b524729b.local 46280 typ host
        a=candidate:2 2 TCP 2105458942 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local 9 typ host tcptype active
        a=candidate:3 2 TCP 2105524478 2cedefcd-73ed-4566-83b6-c081b524729b.local 9 typ host tcptype active
        a=sendonly
        a=end-of-candidates
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
        a=fmtp:101 0-15
        a=ice-pwd:e313c33da1210198a25f86ed104bdb60
        a=ice-ufrag:a289ce8c
        a=mid:0
        a=msid:{523fca80-b8b0-4162-83f9-6daf8bfed9aa} {c8a98c6f-047e-41ec-89f7-a9a36f5d53fd}
        a=rtcp:59102 IN IP4 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local
        a=rtcp-fb:109 transport-cc
        a=rtcp-fb:9 transport-cc
        a=rtcp-fb:0 transport-cc
        a=rtcp-fb:8 transport-cc
        a=rtcp-mux
        a=rtpmap:109 opus/48000/2
        a=rtpmap:9 G722/8000/1
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:101 telephone-event/8000
        a=setup:actpass
        a=ssrc:397529137 cname:{998d266a-85dd-43a8-87ec-f2f2c5ff9087}
        m=video 9 UDP/TLS/RTP/SAVPF 120 124 121 125 99 100 123 122 119
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122187007 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local 33468 typ host
        a=candidate:1 1 UDP 2122252543 2cedefcd-73ed-4566-83b6-c081b524729b.local 44679 typ host
        a=candidate:2 1 TCP 2105458943 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local 9 typ host tcptype active
        a=candidate:3 1 TCP 2105524479 2cedefcd-73ed-4566-83b6-c081b524729b.local 9 typ host tcptype active
        a=candidate:0 2 UDP 2122187006 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local 36876 typ host
        a=candidate:1 2 UDP 2122252542 2cedefcd-73ed-4566-83b6-c081b524729b.local 41098 typ host
        a=candidate:2 2 TCP 2105458942 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local 9 typ host tcptype active
        a=candidate:3 2 TCP 2105524478 2cedefcd-73ed-4566-83b6-c081b524729b.local 9 typ host tcptype active
        a=sendonly
        a=end-of-candidates
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:5 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:6/recvonly http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:120 max-fs=12288;max-fr=60
        a=fmtp:124 apt=120
        a=fmtp:121 max-fs=12288;max-fr=60
        a=fmtp:125 apt=121
        a=fmtp:100 apt=99
        a=fmtp:119 apt=122
        a=ice-pwd:e313c33da1210198a25f86ed104bdb60
        a=ice-ufrag:a289ce8c
        a=mid:1
        a=msid:{523fca80-b8b0-4162-83f9-6daf8bfed9aa} {3d4e4a43-2256-49b8-8a78-03937762c208}
        a=rtcp:36876 IN IP4 3fcd6b2e-c588-424f-b046-8aa021eef6d6.local
        a=rtcp-fb:120 nack
        a=rtcp-fb:120 nack pli
        a=rtcp-fb:120 ccm fir
        a=rtcp-fb:120 goog-remb
        a=rtcp-fb:120 transport-cc
        a=rtcp-fb:121 nack
        a=rtcp-fb:121 nack pli
        a=rtcp-fb:121 ccm fir
        a=rtcp-fb:121 goog-remb
        a=rtcp-fb:121 transport-cc
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 ccm fir
        a=rtcp-fb:99 goog-remb
        a=rtcp-fb:99 transport-cc
        a=rtcp-fb:123 nack
        a=rtcp-fb:123 nack pli
        a=rtcp-fb:123 ccm fir
        a=rtcp-fb:123 goog-remb
        a=rtcp-fb:123 transport-cc
        a=rtcp-fb:122 nack
        a=rtcp-fb:122 nack pli
        a=rtcp-fb:122 ccm fir
        a=rtcp-fb:122 goog-remb
        a=rtcp-fb:122 transport-cc
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:120 VP8/90000
        a=rtpmap:124 rtx/90000
        a=rtpmap:121 VP9/90000
        a=rtpmap:125 rtx/90000
        a=rtpmap:99 AV1/90000
        a=rtpmap:100 rtx/90000
        a=rtpmap:123 ulpfec/90000
        a=rtpmap:122 red/90000
        a=rtpmap:119 rtx/90000
        a=setup:actpass
        a=ssrc:427476518 cname:{998d266a-85dd-43a8-87ec-f2f2c5ff9087}
        a=ssrc:3839280657 cname:{998d266a-85dd-43a8-87ec-f2f2c5ff9087}
        a=ssrc-group:FID 427476518 3839280657

        """

    /// Firefox. Audio, two video m-lines (all recvonly) and a data channel.
    static let firefoxMulti = """
        v=0
        o=mozilla...THIS_IS_SDPARTA-99.0 6989318804042822983 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=sendrecv
        a=fingerprint:sha-256 69:54:CA:7C:2B:39:85:0F:AB:D2:68:AE:4F:16:C3:E6:E8:85:42:23:CD:AE:12:0A:6C:D3:D8:16:76:64:85:01
        a=group:BUNDLE 0 1 2 3
        a=ice-options:trickle
        a=msid-semantic:WMS *
        m=audio 9 UDP/TLS/RTP/SAVPF 109 9 0 8 101
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122187007 a5141896-e828-4f35-8562-65726ca2e59d.local 60975 typ host
        a=candidate:1 1 UDP 2122252543 7944fb68-9feb-48ec-90b5-9004d5175893.local 47267 typ host
        a=candidate:2 1 TCP 2105458943 a5141896-e828-4f35-8562-65726ca2e59d.local 9 typ host tcptype active
        a=candidate:3 1 TCP 2105524479 7944fb68-9feb-48ec-90b5-9004d5175893.local 9 typ host tcptype active
        a=candidate:0 2 UDP 2122187006 a5141896-e828-4f35-8562-65726ca2e59d.local 58671 typ host
        a=candidate:1 2 UDP 2122252542 7944fb68-9feb-48ec-90b5-9004d5175893.local 36877 typ host
        a=candidate:2 2 TCP 2105458942 a5141896-e828-4f35-8562-65726ca2e59d.local 9 typ host tcptype active
        a=candidate:3 2 TCP 2105524478 7944fb68-9feb-48ec-90b5-9004d5175893.local 9 typ host tcptype active
        a=recvonly
        a=end-of-candidates
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
        a=fmtp:101 0-15
        a=ice-pwd:06dbea92234143002ef3634199a7ecb6
        a=ice-ufrag:23d7f2a4
        a=mid:0
        a=rtcp:58671 IN IP4 a5141896-e828-4f35-8562-65726ca2e59d.local
        a=rtcp-fb:109 transport-cc
        a=rtcp-fb:9 transport-cc
        a=rtcp-fb:0 transport-cc
        a=rtcp-fb:8 transport-cc
        a=rtcp-mux
        a=rtpmap:109 opus/48000/2
        a=rtpmap:9 G722/8000/1
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:101 telephone-event/8000
        a=setup:actpass
        a=ssrc:1405957692 cname:{ff1808ac-76dc-425f-ad7d-c9ee3665d2ba}
        m=video 9 UDP/TLS/RTP/SAVPF 120 124 121 125 99 100 123 122 119
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122187007 a5141896-e828-4f35-8562-65726ca2e59d.local 48895 typ host
        a=candidate:1 1 UDP 2122252543 7944fb68-9feb-48ec-90b5-9004d5175893.local 57647 typ host
        a=candidate:2 1 TCP 2105458943 a5141896-e828-4f35-8562-65726ca2e59d.local 9 typ host tcptype active
        a=candidate:3 1 TCP 2105524479 7944fb68-9feb-48ec-90b5-9004d5175893.local 9 typ host tcptype active
        a=candidate:0 2 UDP 2122187006 a5141896-e828-4f35-8562-65726ca2e59d.local 56734 typ host
        a=candidate:1 2 UDP 2122252542 7944fb68-9feb-48ec-90b5-9004d5175893.local 55594 typ host
        a=candidate:2 2 TCP 2105458942 a5141896-e828-4f35-8562-65726ca2e59d.local 9 typ host tcptype active
        a=candidate:3 2 TCP 2105524478 7944fb68-9feb-48ec-90b5-9004d5175893.local 9 typ host tcptype active
        a=recvonly
        a=end-of-candidates
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:5 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:6/recvonly http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:120 max-fs=12288;max-fr=60
        a=fmtp:124 apt=120
        a=fmtp:121 max-fs=12288;max-fr=60
        a=fmtp:125 apt=121
        a=fmtp:100 apt=99
        a=fmtp:119 apt=122
        a=ice-pwd:06dbea92234143002ef3634199a7ecb6
        a=ice-ufrag:23d7f2a4
        a=mid:1
        a=rtcp:56734 IN IP4 a5141896-e828-4f35-8562-65726ca2e59d.local
        a=rtcp-fb:120 nack
        a=rtcp-fb:120 nack pli
        a=rtcp-fb:120 ccm fir
        a=rtcp-fb:120 goog-remb
        a=rtcp-fb:120 transport-cc
        a=rtcp-fb:121 nack
        a=rtcp-fb:121 nack pli
        a=rtcp-fb:121 ccm fir
        a=rtcp-fb:121 goog-remb
        a=rtcp-fb:121 transport-cc
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 ccm fir
        a=rtcp-fb:99 goog-remb
        a=rtcp-fb:99 transport-cc
        a=rtcp-fb:123 nack
        a=rtcp-fb:123 nack pli
        a=rtcp-fb:123 ccm fir
        a=rtcp-fb:123 goog-remb
        a=rtcp-fb:123 transport-cc
        a=rtcp-fb:122 nack
        a=rtcp-fb:122 nack pli
        a=rtcp-fb:122 ccm fir
        a=rtcp-fb:122 goog-remb
        a=rtcp-fb:122 transport-cc
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:120 VP8/90000
        a=rtpmap:124 rtx/90000
        a=rtpmap:121 VP9/90000
        a=rtpmap:125 rtx/90000
        a=rtpmap:99 AV1/90000
        a=rtpmap:100 rtx/90000
        a=rtpmap:123 ulpfec/90000
        a=rtpmap:122 red/90000
        a=rtpmap:119 rtx/90000
        a=setup:actpass
        a=ssrc:1157669429 cname:{ff1808ac-76dc-425f-ad7d-c9ee3665d2ba}
        m=video 0 UDP/TLS/RTP/SAVPF 120 124 121 125 99 100 123 122 119
        c=IN IP4 0.0.0.0
        a=bundle-only
        a=recvonly
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:5 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:6/recvonly http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:120 max-fs=12288;max-fr=60
        a=fmtp:124 apt=120
        a=fmtp:121 max-fs=12288;max-fr=60
        a=fmtp:125 apt=121
        a=fmtp:100 apt=99
        a=fmtp:119 apt=122
        a=ice-pwd:06dbea92234143002ef3634199a7ecb6
        a=ice-ufrag:23d7f2a4
        a=mid:2
        a=rtcp-fb:120 nack
        a=rtcp-fb:120 nack pli
        a=rtcp-fb:120 ccm fir
        a=rtcp-fb:120 goog-remb
        a=rtcp-fb:120 transport-cc
        a=rtcp-fb:121 nack
        a=rtcp-fb:121 nack pli
        a=rtcp-fb:121 ccm fir
        a=rtcp-fb:121 goog-remb
        a=rtcp-fb:121 transport-cc
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 ccm fir
        a=rtcp-fb:99 goog-remb
        a=rtcp-fb:99 transport-cc
        a=rtcp-fb:123 nack
        a=rtcp-fb:123 nack pli
        a=rtcp-fb:123 ccm fir
        a=rtcp-fb:123 goog-remb
        a=rtcp-fb:123 transport-cc
        a=rtcp-fb:122 nack
        a=rtcp-fb:122 nack pli
        a=rtcp-fb:122 ccm fir
        a=rtcp-fb:122 goog-remb
        a=rtcp-fb:122 transport-cc
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:120 VP8/90000
        a=rtpmap:124 rtx/90000
        a=rtpmap:121 VP9/90000
        a=rtpmap:125 rtx/90000
        a=rtpmap:99 AV1/90000
        a=rtpmap:100 rtx/90000
        a=rtpmap:123 ulpfec/90000
        a=rtpmap:122 red/90000
        a=rtpmap:119 rtx/90000
        a=setup:actpass
        a=ssrc:1651673383 cname:{ff1808ac-76dc-425f-ad7d-c9ee3665d2ba}
        m=application 9 UDP/DTLS/SCTP webrtc-datachannel
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122187007 a5141896-e828-4f35-8562-65726ca2e59d.local 34155 typ host
        a=candidate:1 1 UDP 2122252543 7944fb68-9feb-48ec-90b5-9004d5175893.local 42452 typ host
        a=candidate:2 1 TCP 2105458943 a5141896-e828-4f35-8562-65726ca2e59d.local 9 typ host tcptype active
        a=candidate:3 1 TCP 2105524479 7944fb68-9feb-48ec-90b5-9004d5175893.local 9 typ host tcptype active
        a=sendrecv
        a=end-of-candidates
        a=ice-pwd:06dbea92234143002ef3634199a7ecb6
        a=ice-ufrag:23d7f2a4
        a=mid:3
        a=setup:actpass
        a=sctp-port:5000
        a=max-message-size:1073741823

        """
}
