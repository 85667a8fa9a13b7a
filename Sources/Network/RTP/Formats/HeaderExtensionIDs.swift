/// The ids that a stream's header extensions were given in SDP (`a=extmap`, RFC 8285 §5); `nil`: not negotiated.
package struct HeaderExtensionIDs: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// RFC 9143 §15.
        case mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
        /// RFC 8852 §3.1.
        case rid = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
        /// RFC 8852 §3.2: the rid of the stream that a retransmission repairs.
        case repairedRID = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
        case absoluteSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
        case transportSequenceNumber =
            "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
        /// RFC 6464.
        case audioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
        /// CVO, 3GPP TS 26.114 §7.4.5.
        case videoOrientation = "urn:3gpp:video-orientation"
        case playoutDelay = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
        case absoluteCaptureTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"

        package var uri: String { rawValue }
    }

    package var mid: UInt8?
    package var rid: UInt8?
    package var repairedRID: UInt8?
    package var absoluteSendTime: UInt8?
    package var transportSequenceNumber: UInt8?
    package var audioLevel: UInt8?
    package var videoOrientation: UInt8?
    package var playoutDelay: UInt8?
    package var absoluteCaptureTime: UInt8?

    package init() {}

    /// What each of an m-line's `a=extmap` lines says; unknown URIs and id 0 are ignored.
    package init(_ mappings: some Sequence<(id: UInt8, uri: String)>) {
        for (id, uri) in mappings where id != 0 {
            guard let kind = Kind(rawValue: uri) else { continue }
            self[kind] = id
        }
    }

    package subscript(kind: Kind) -> UInt8? {
        get { self[keyPath: Self.path(of: kind)] }
        set { self[keyPath: Self.path(of: kind)] = newValue }
    }

    private static func path(of kind: Kind) -> WritableKeyPath<Self, UInt8?> {
        switch kind {
        case .mid: \.mid
        case .rid: \.rid
        case .repairedRID: \.repairedRID
        case .absoluteSendTime: \.absoluteSendTime
        case .transportSequenceNumber: \.transportSequenceNumber
        case .audioLevel: \.audioLevel
        case .videoOrientation: \.videoOrientation
        case .playoutDelay: \.playoutDelay
        case .absoluteCaptureTime: \.absoluteCaptureTime
        }
    }

    /// Whether the one-byte form can name all of them (RFC 8285 §4.2).
    var fitOneByteForm: Bool { Kind.allCases.allSatisfy { (self[$0] ?? 1) < 15 } }
}
