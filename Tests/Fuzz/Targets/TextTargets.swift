import EmisoraCore
import EmisoraSDP
import EmisoraSignalingProtocol
import EmisoraTURN

/// Texts: what is read is written, and read again the same.
extension FuzzTarget {
    func fuzzCandidate(_ bytes: [UInt8]) throws(FuzzFailure) {
        let text = String(decoding: bytes, as: UTF8.self)
        _ = ICECandidateLine.trickled(text)
        _ = try? ICEServerEndpoint(text)
        guard let line = ICECandidateLine(parsing: text) else { return }
        let again = ICECandidateLine(parsing: line.text)
        try FuzzFailure.check(again == line, "a candidate is written as \(line.text)")
        _ = line.usableAddress
    }

    func fuzzDescription(_ bytes: [UInt8]) throws(FuzzFailure) {
        let text = String(decoding: bytes, as: UTF8.self)
        if let description = try? SessionDescription(parsing: text) {
            let again = try? SessionDescription(parsing: description.text)
            try FuzzFailure.check(again?.text == description.text, "a description is not written the same twice")
        }
        var machine = Seeds.machine(sends: true)
        let answered = try? machine.answer(offer: text, transport: Seeds.transport)
        if let answered {
            let parsed = try? SessionDescription(parsing: answered.answer)
            try FuzzFailure.check(parsed != nil, "our answer cannot be read: \(answered.answer)")
            // An offer of our own behind it keeps what was agreed on.
            let offer = try? machine.makeOffer(transport: Seeds.transport)
            try FuzzFailure.check(offer != nil, "no offer can follow an answer")
        }
        var offerer = Seeds.offerer
        _ = try? offerer.setRemoteAnswer(text)
    }

    func fuzzSignaling(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let message = try? SignalingMessage(json: bytes) else { return }
        let again = try? SignalingMessage(json: message.json())
        try FuzzFailure.check(
            again == message, "a message is written as \(String(decoding: message.json(), as: UTF8.self))")
    }

    func fuzzNodes(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let (node, message) = NodeMessage.read(json: bytes) else { return }
        let written = message.json(from: node)
        let again = NodeMessage.read(json: written)
        try FuzzFailure.check(
            again?.node == node && again?.message == message,
            "a node's message is written as \(String(decoding: written, as: UTF8.self))")
        guard case .relay(let relay) = message else { return }
        try FuzzFailure.check(
            relay.message.json().count <= NodeMessage.maximumRelayedByteCount, "a relayed message is too long")
    }
}
