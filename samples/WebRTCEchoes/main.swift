// A peer of the webrtc-echoes interop tests (github.com/sipsorcery/webrtc-echoes): `POST /offer` with an offer as JSON gives
// the answer, and whatever comes then goes back. Pictures and sound are decoded and encoded again.
// swift run WebRTCEchoes [PORT]   (8080; 0: any that is free)
import Emisora
import FoundationEssentials
import Glibc
import Synchronization

/// As W3C's `RTCSessionDescriptionInit`.
struct Description: Codable {
    var sdp: String
    var type: String
}

/// How many peers are echoed: a decoder and an encoder each.
let places = Places(8)

final class Places: Sendable {
    private let free: Mutex<Int>

    init(_ count: Int) { free = Mutex(count) }

    func take() -> Bool {
        free.withLock { free in
            if free > 0 { free -= 1 } else { return false }
            return true
        }
    }

    func giveBack() { free.withLock { $0 += 1 } }
}

@Sendable func answer(_ body: [UInt8]) async -> OfferListener.Response {
    guard let offer = try? JSONDecoder().decode(Description.self, from: Data(body)), offer.type == "offer" else {
        return .init(status: "400 Bad Request", body: Array("an offer is {\"type\": \"offer\", \"sdp\": …}".utf8))
    }
    guard places.take() else { return .init(status: "503 Service Unavailable") }
    do {
        let sdp = try await Echo.begin(offer.sdp) { places.giveBack() }
        let json = try JSONEncoder().encode(Description(sdp: sdp, type: "answer"))
        return .init(status: "200 OK", mediaType: "application/json", body: Array(json))
    } catch {
        places.giveBack()
        return .init(status: "406 Not Acceptable", body: Array("\(error)".utf8))
    }
}

do {
    let listener = try OfferListener(
        port: CommandLine.arguments.dropFirst().first.flatMap(UInt16.init) ?? 8_080, answer: answer)
    say("Echoing offers to http://127.0.0.1:\(listener.port)/offer")
    listener.run()
} catch {
    say("\(error)")
    exit(1)
}
