import EmisoraCore
import EmisoraICE
import EmisoraPeerEngine
import EmisoraRTP
import EmisoraSimulation

/// Many packets in a row: whole streams and whole connections.
extension FuzzTarget {
    func fuzzSound(_ bytes: [UInt8]) throws(FuzzFailure) {
        var configuration = RTPAudioReceiveStream.Configuration(payloadType: 111)
        configuration.redPayloadType = 63
        var stream = RTPAudioReceiveStream(configuration)
        var now = Instant.zero + .seconds(1)
        for (number, part) in Parts(bytes).enumerated() {
            now = now + .milliseconds(Int64(part.last ?? 0) % 40)
            if let header = try? RTPHeader(parsing: part.span.bytes) {
                stream.handle(header, packet: part.span.bytes, now: now)
            }
            if number % 2 == 0 { _ = stream.pop(now: now) }
            if number % 16 == 0 { _ = stream.reportBlock(now: now) }
        }
        _ = stream.statistics
    }

    func fuzzPictures(_ bytes: [UInt8]) throws(FuzzFailure) {
        var configuration = RTPVideoReceiveStream.Configuration(payloadType: 96)
        configuration.rtxPayloadType = 97
        var redundancy = VideoRedundancy(redPayloadType: 98)
        redundancy.ulpfecPayloadType = 99
        configuration.redundancy = redundancy
        var stream = RTPVideoReceiveStream(configuration)
        var now = Instant.zero + .seconds(1)
        for (number, part) in Parts(bytes).enumerated() {
            now = now + .milliseconds(Int64(part.last ?? 0) % 40)
            if let header = try? RTPHeader(parsing: part.span.bytes) {
                stream.handle(header, packet: part.span.bytes, now: now)
            }
            if number % 3 == 0 { stream.handleTimeout(now: now) }
            while stream.pollFrame(now: now) != nil {}
            if case .nack(let numbers)? = stream.pollFeedback(now: now) {
                try FuzzFailure.check(numbers.count <= 256, "\(numbers.count) packets are asked for at once")
            }
            if number % 16 == 0 { _ = stream.reportBlock(now: now) }
        }
        _ = stream.statistics
    }

    /// A peer that holds the keys, and strangers beside it, against a whole connection. The first byte of each part says
    /// what the rest is.
    func fuzzEngine(_ bytes: [UInt8], sends: Bool) throws(FuzzFailure) {
        guard let opponent = Opponent(attackingSender: sends) else { throw FuzzFailure("the peers do not connect") }
        for part in Parts(bytes) {
            guard let kind = part.first else { continue }
            let rest = Array(part.dropFirst())
            switch kind % 8 {
            case 0, 1, 2: opponent.send(rest, isSealed: true)
            case 3: opponent.send(rest, isSealed: false)
            case 4: opponent.send(rest, isSealed: false, fromElsewhere: true)
            case 5: opponent.wait(.milliseconds(Int64(rest.first ?? 1)))
            case 6: opponent.trickle(String(decoding: rest, as: UTF8.self))
            default: opponent.offerAgain(changing: rest)
            }
            try opponent.check()
        }
    }
}
