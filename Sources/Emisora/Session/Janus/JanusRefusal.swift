import EmisoraJanusProtocol
import EmisoraSignalingProtocol

/// Why Janus does not do something, in a sentence that says what to do about it.
struct JanusRefusal: Equatable {
    var code: Int
    var text: String

    init(code: Int, text: String) {
        self.code = code
        self.text = text
    }

    init(_ failure: JanusMessage.Failure, room: String) {
        code = failure.code
        // Words of others' do not steer the terminal.
        let words = ProblemDetails.text(of: Array(failure.reason.utf8), mediaType: nil) ?? "no reason given"
        let advice: String? =
            switch failure.code {
            case JanusProtocol.unauthorized:
                "Janus lets nobody in without its API secret or a token: --api-secret-file, --token-file."
            case JanusProtocol.pluginNotFound: "This Janus has no video rooms: it has not loaded its VideoRoom plugin."
            case JanusProtocol.notAcceptingSessions: "Janus is about to end and takes nobody any more."
            case JanusProtocol.noSuchRoom:
                "There is no room \(room); those that there are stand in Janus's configuration."
            case JanusProtocol.publishersFull: "The room \(room) has as many publishers as it may."
            case JanusProtocol.roomUnauthorized:
                "The room \(room) does not let us in; are --pin and --room-token right?"
            case JanusProtocol.missingElement: "The room \(room) asks for more than we said; is it its PIN (--pin)?"
            case JanusProtocol.idExists:
                "Somebody publishes in the room \(room) under that id; take another --publisher-id, or none."
            case JanusProtocol.noSuchFeed: "That publisher has left the room \(room)."
            default: nil
            }
        text = advice.map { "\($0) (Janus: \(words))" } ?? "Janus refused: \(words)"
    }

    /// The rest that a session tells.
    func error(inReplyTo request: String) -> SignalingError {
        SignalingError(.init(rawValue: "\(code)"), text, inReplyTo: request)
    }

    static func noCommonCodec(room: String, kinds: [String]) -> JanusRefusal {
        let names = kinds.map { $0 == "video" ? "VP8" : "Opus" }.joined(separator: " and no ")
        return JanusRefusal(
            code: 415,
            text: "The room \(room) takes no \(names); its configuration has other codecs (videocodec, audiocodec).")
    }
}
