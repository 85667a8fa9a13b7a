import EmisoraSDP
import Testing

/// Damaged descriptions: an error or a result, never a trap, and never a changed machine after an error.
@Suite struct MutationTests {
    private static let sources = (Fixtures.all.map(\.1) + [Given.offer()]).map { Array($0.utf8) }
    private static let lines = sources.flatMap { $0.split(separator: UInt8(ascii: "\n")).map(Array.init) }

    @Test func mutatedDescriptionsAreReadOrRefusedAndWriteTheSameTwice() throws {
        var random = SeededGenerator(state: 42)
        var read = 0
        var answered = 0
        let rounds = 20_000
        var agreed = 0
        for round in 0..<rounds {
            // Mostly the small one: it costs less, and each byte of it matters.
            let offer = Self.sources[round % 20 == 0 ? round / 20 % Self.sources.count : Self.sources.count - 1]
            let text = mutated(offer, using: &random)
            if try isReadAndWrittenTheSameTwice(text) { read += 1 }
            if try isAnswered(text) { answered += 1 }
            if isAgreed(mutated(Self.answer, using: &random)) { agreed += 1 }
        }
        // Were nearly all refused or nearly none, the mutations would test little.
        #expect((1_000...19_000).contains(read))
        #expect((1_000...19_000).contains(answered))
        #expect((1_000...19_000).contains(agreed))
    }

    private func mutated(_ source: [UInt8], using random: inout SeededGenerator) -> String {
        var bytes = source
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard !bytes.isEmpty else { break }
            let at = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: at)
            case 2: bytes.insert(UInt8.random(in: 32...126, using: &random), at: at)
            case 3: bytes.removeSubrange(at..<min(bytes.count, at + 40))
            default:
                let line = Self.lines[Int.random(in: 0..<Self.lines.count, using: &random)]
                bytes.insert(contentsOf: line + [UInt8(ascii: "\n")], at: at)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func isReadAndWrittenTheSameTwice(_ text: String) throws -> Bool {
        let parsed = Result { () throws(SDPError) in try SessionDescription(parsing: text) }
        guard case .success(let description) = parsed else { return false }
        let again = try SessionDescription(parsing: description.text)
        #expect(again.text == description.text)
        return true
    }

    private func isAnswered(_ text: String) throws -> Bool {
        var machine = Given.machine(receives: true)
        let answer: String
        do {
            answer = try machine.answer(offer: text, transport: Given.transport()).answer
        } catch {
            #expect(machine.negotiated == nil)
            return false
        }
        let offered = try SessionDescription(parsing: text).media
        let media = try SessionDescription(parsing: answer).media
        #expect(media.map(\.kind) == offered.map(\.kind))
        #expect(media.map(\.mid) == offered.map(\.mid))
        return true
    }

    private func isAgreed(_ text: String) -> Bool {
        var machine = Self.offerer
        do {
            let session = try machine.setRemoteAnswer(text)
            #expect(machine.signalingState == .stable && !session.media.isEmpty)
            return true
        } catch {
            #expect(machine.signalingState == .haveLocalOffer && machine.negotiated == nil)
            return false
        }
    }

    private static let answer: [UInt8] = {
        var machine = Given.machine([.video], sends: false, receives: true)
        var offerer = Given.machine([.video])
        let offer = try? offerer.makeOffer(transport: Given.transport())
        let result = try? machine.answer(offer: offer ?? "", transport: Given.transport())
        return Array((result?.answer ?? "").utf8)
    }()

    private static let offerer: OfferAnswerMachine = {
        var machine = Given.machine([.video])
        _ = try? machine.makeOffer(transport: Given.transport())
        return machine
    }()
}
