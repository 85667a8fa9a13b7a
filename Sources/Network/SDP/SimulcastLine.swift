/// `a=simulcast` (RFC 8853 §5.1): which streams of one source an m-line has, by the names that `a=rid` explains.
///
/// ```
/// a=simulcast:send h;m,n;~l        three streams: h, m or else n, and l, which begins paused
/// ```
package struct SimulcastLine: Hashable, Sendable {
    /// One way in which a stream may be sent.
    package struct Alternative: Hashable, Sendable {
        package var id: String
        /// It is not sent at first (`~`).
        package var isPaused: Bool

        package init(_ id: String, isPaused: Bool = false) {
            self.id = id
            self.isPaused = isPaused
        }
    }

    /// Streams, the one that is preferred first, each with its alternatives in the same order.
    package typealias Streams = [[Alternative]]

    /// Seen from the side that wrote the line.
    package var send: Streams
    package var receive: Streams

    package init(send: Streams = [], receive: Streams = []) {
        self.send = send
        self.receive = receive
    }

    /// Reads the value of the attribute; `nil` where it breaks the grammar.
    package init?(parsing value: Substring) {
        self.init()
        let words = SDPText.words(value)
        guard words.count == 2 || words.count == 4 else { return nil }
        for index in stride(from: 0, to: words.count, by: 2) {
            guard let direction = RIDLine.Direction(rawValue: String(words[index])), self[direction].isEmpty,
                let streams = Self.streams(words[index + 1])
            else { return nil }
            self[direction] = streams
        }
    }

    package subscript(direction: RIDLine.Direction) -> Streams {
        get { direction == .send ? send : receive }
        set { if direction == .send { send = newValue } else { receive = newValue } }
    }

    package var text: String {
        [(RIDLine.Direction.send, send), (.receive, receive)].filter { !$0.1.isEmpty }.map { direction, streams in
            let list = streams.map { $0.map { ($0.isPaused ? "~" : "") + $0.id }.joined(separator: ",") }
            return "\(direction.rawValue) " + list.joined(separator: ";")
        }.joined(separator: " ")
    }

    private static func streams(_ list: Substring) -> Streams? {
        var seen: Set<String> = []
        var streams: Streams = []
        for part in SDPText.parts(list, at: ";") {
            let alternatives = SDPText.parts(part, at: ",").map { text in
                text.utf8.first == UInt8(ascii: "~")
                    ? Alternative(String(text.dropFirst()), isPaused: true) : Alternative(String(text))
            }
            for one in alternatives {
                guard RIDLine.isID(Substring(one.id)), seen.insert(one.id).inserted else { return nil }
            }
            streams.append(alternatives)
        }
        let limit = RIDLine.maximumCount
        return streams.count <= limit && streams.allSatisfy { $0.count <= limit } ? streams : nil
    }
}

extension MediaSection {
    /// The streams of a direction with their `a=rid` lines; what none explains is passed over (RFC 8853 §5.2).
    func simulcast(_ direction: RIDLine.Direction) -> [[(rid: RIDLine, isPaused: Bool)]] {
        (simulcast?[direction] ?? []).compactMap { alternatives in
            let known = alternatives.compactMap { one in
                rids.first { $0.id == one.id && $0.direction == direction }.map { (rid: $0, isPaused: one.isPaused) }
            }
            return known.isEmpty ? nil : known
        }
    }

    /// Names the streams of a direction, in place of those that were named before.
    mutating func setSimulcast(_ direction: RIDLine.Direction, _ streams: [(rid: RIDLine, isPaused: Bool)]) {
        rids.removeAll { $0.direction == direction }
        var line = simulcast ?? SimulcastLine()
        line[direction] = streams.map { [SimulcastLine.Alternative($0.rid.id, isPaused: $0.isPaused)] }
        rids += streams.map(\.rid)
        simulcast = line.send.isEmpty && line.receive.isEmpty ? nil : line
    }
}
