import Testing

@testable import EmisoraSDP

/// RFC 6904 §4: which header extensions are to be encrypted.
@Suite struct EncryptedHeaderExtensionTests {
    private static let mid = ExtensionMap.midURI

    private static func encrypted(_ id: Int, _ uri: String = mid) -> String {
        "a=extmap:\(id) urn:ietf:params:rtp-hdrext:encrypt \(uri)"
    }

    private static func count(_ line: String, in text: String) -> Int {
        text.split(separator: "\r\n").count { $0 == line }
    }

    private static func answer(_ media: [String]) throws -> (text: String, session: NegotiatedSession) {
        var machine = Given.machine()
        let (text, session) = try machine.answer(offer: Given.offer(media: media), transport: Given.transport())
        return (text, session)
    }

    @Test("RFC 6904 §4: a header extension that is to be encrypted is taken as such, and never in the clear")
    func encryptedExtensionsAreTaken() throws {
        let (text, session) = try Self.answer([Self.encrypted(5)])
        #expect(text.contains(Self.encrypted(5) + "\r\n"))
        #expect(session.media(.video)?.midExtensionID == 5)
        #expect(session.encryptedExtensionIDs == [5])
        // One that we do not know is not taken, encrypted or not.
        let (other, unknown) = try Self.answer([Self.encrypted(5, "urn:unknown")])
        #expect(!other.contains("a=extmap"))
        #expect(unknown.encryptedExtensionIDs.isEmpty)
    }

    @Test("RFC 6904 §4: of one that is offered both ways one is taken, the encrypted one")
    func theEncryptedOneIsTaken() throws {
        for lines in [[Self.encrypted(5), "a=extmap:6 \(Self.mid)"], ["a=extmap:6 \(Self.mid)", Self.encrypted(5)]] {
            let (text, session) = try Self.answer(lines)
            #expect(text.contains(Self.encrypted(5)) && !text.contains("a=extmap:6"))
            #expect(session.media(.video)?.sendExtensions.map(\.id) == [5])
            #expect(session.encryptedExtensionIDs == [5])
        }
    }

    @Test func directionsAndAttributesGoWithThem() throws {
        let (text, session) = try Self.answer([
            "a=extmap:7/recvonly urn:ietf:params:rtp-hdrext:encrypt \(Self.mid) 25@600/24"
        ])
        #expect(text.contains("a=extmap:7/sendonly urn:ietf:params:rtp-hdrext:encrypt \(Self.mid)\r\n"))
        #expect(session.media(.video)?.sendExtensions.map(\.id) == [7])
        // Nothing behind it, or itself: an extension that nobody knows.
        for nonsense in ["", " urn:ietf:params:rtp-hdrext:encrypt \(Self.mid)"] {
            let (text, session) = try Self.answer(["a=extmap:7 urn:ietf:params:rtp-hdrext:encrypt" + nonsense])
            #expect(!text.contains("a=extmap") && session.encryptedExtensionIDs.isEmpty)
        }
    }

    /// SRTP knows ids alone: one cannot be encrypted in one m-line and in the clear in the other.
    @Test func anIDThatIsEncryptedInOneSectionOnlyIsTakenInTheClearOrNotAtAll() throws {
        let sections = Fixtures.crlf(Fixtures.chromiumRecvonly).split(separator: "\r\nm=").map(String.init)
        let line = "a=extmap:9 \(Self.mid)"
        let one = sections[0...1] + [sections[2].replacing(line, with: Self.encrypted(9))]
        var machine = Given.machine()
        let (text, session) = try machine.answer(
            offer: one.joined(separator: "\r\nm="), transport: Given.transport())
        #expect(Self.count(line, in: text) == 1 && Self.count(Self.encrypted(9), in: text) == 0)
        #expect(session.encryptedExtensionIDs.isEmpty)
        // In both of them it is one.
        let both = sections.map { $0.replacing(line, with: Self.encrypted(9)) }
        var other = Given.machine()
        let answer = try other.answer(offer: both.joined(separator: "\r\nm="), transport: Given.transport())
        #expect(Self.count(Self.encrypted(9), in: answer.answer) == 2)
        #expect(answer.session.encryptedExtensionIDs == [9])
    }

    @Test func anAnswerCannotChangeWhatIsEncrypted() throws {
        var publisher = Given.machine()
        var viewer = Given.machine(sends: false, receives: true)
        let offer = try publisher.makeOffer(transport: Given.transport())
        #expect(!offer.contains("encrypt"))
        let (answer, _) = try viewer.answer(offer: offer, transport: Given.transport("viewer"))
        let plain = "a=extmap:1 \(Self.mid)"
        #expect(answer.contains(plain))
        let session = try publisher.setRemoteAnswer(answer.replacing(plain, with: Self.encrypted(1)))
        #expect(session.media(.video)?.sendExtensions.isEmpty == true)
        #expect(session.encryptedExtensionIDs.isEmpty)
    }

    @Test func aReofferOfOursKeepsThemEncrypted() throws {
        var ours = Given.machine()
        _ = try ours.answer(offer: Given.offer(media: [Self.encrypted(5)]), transport: Given.transport())
        let again = try ours.makeOffer(transport: Given.transport())
        // In the section of the session and in the one that comes new.
        #expect(Self.count(Self.encrypted(5), in: again) == 2)
        let parsed = try SessionDescription(parsing: again)
        #expect(try SessionDescription(parsing: parsed.text).text == again)
        #expect(parsed.media.allSatisfy { $0.extensions.map(\.id) == [5] && $0.extensions.allSatisfy(\.isEncrypted) })
    }
}
