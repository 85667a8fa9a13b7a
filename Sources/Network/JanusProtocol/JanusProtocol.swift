/// What both ends of Janus's websocket API agree on.
package enum JanusProtocol {
    /// `Sec-WebSocket-Protocol`; Janus takes no connection without it.
    package static let subprotocol = "janus-protocol"
    package static let videoRoom = "janus.plugin.videoroom"
    /// A room full of publishers with their streams is described in one message.
    package static let longestMessage = 1 << 18

    // Of Janus's `apierror.h` and its video room.
    package static let unauthorized = 403
    package static let sessionNotFound = 458
    package static let handleNotFound = 459
    package static let pluginNotFound = 460
    package static let notAcceptingSessions = 472
    package static let noSuchRoom = 426
    package static let noSuchFeed = 428
    package static let missingElement = 429
    package static let invalidElement = 430
    package static let publishersFull = 432
    package static let roomUnauthorized = 433
    package static let idExists = 436
}

/// A description with its `type`, as in W3C `RTCSessionDescriptionInit`.
package struct JanusDescription: Equatable, Codable, Sendable {
    package var type: String
    package var sdp: String

    package init(type: String, sdp: String) {
        self.type = type
        self.sdp = sdp
    }
}

/// A candidate as in W3C `RTCIceCandidateInit`; `completed` alone: there are no more.
package struct JanusCandidate: Equatable, Codable, Sendable {
    package var candidate: String?
    package var sdpMid: String?
    package var sdpMLineIndex: Int?
    package var completed: Bool?

    package init(candidate: String, sdpMid: String?, sdpMLineIndex: Int?) {
        self.candidate = candidate
        self.sdpMid = sdpMid
        self.sdpMLineIndex = sdpMLineIndex
    }

    private init() { completed = true }

    package static let end = JanusCandidate()
}
