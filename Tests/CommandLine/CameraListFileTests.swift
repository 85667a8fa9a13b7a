import Emisora
import FoundationEssentials
import Testing

@testable import emisora_cli

@Suite struct CameraListFileTests {
    static let sample = """
        {
          "label": "kitchen camera", "driver": "uvcvideo", "bus": "usb", "multiplanar": false, "partial": true,
          "quirks": ["things that nobody asks for"], "current": {"fourcc": "NV12", "w": 1280, "h": 720, "num": 1, "den": 30},
          "modes": [
            {"fourcc": "NV12", "sizes": [
              {"type": "discrete", "w": 640, "h": 480, "intervals": [{"num": 1, "den": 30}, {"num": 1001, "den": 30000}]},
              {"type": "stepwise", "minW": 32, "maxW": 1920, "stepW": 8, "minH": 32, "maxH": 1080, "stepH": 4,
               "intervals": [{"type": "stepwise", "minNum": 1, "minDen": 60, "maxNum": 1, "maxDen": 1, "stepNum": 1, "stepDen": 60}]}
            ]},
            {"fourcc": "Y16 ", "sizes": []},
            {"fourcc": "MJPG", "sizes": [
              {"type": "continuous", "minW": 1, "maxW": 64, "minH": 1, "maxH": 64,
               "intervals": [{"type": "continuous", "minNum": 1, "minDen": 90, "maxNum": 1, "maxDen": 1}]}
            ]}
          ]
        }
        """

    static let modes = CameraModes(
        label: "kitchen camera", driver: "uvcvideo", bus: "usb",
        formats: [
            .init(
                .nv12,
                sizes: [
                    .init(
                        .discrete(width: 640, height: 480),
                        intervals: [.discrete(FrameInterval(1, 30)), .discrete(FrameInterval(1001, 30_000))]),
                    .init(
                        .stepwise(
                            .init(
                                minWidth: 32, maxWidth: 1920, stepWidth: 8, minHeight: 32, maxHeight: 1080,
                                stepHeight: 4)),
                        intervals: [
                            .stepwise(min: FrameInterval(1, 60), max: FrameInterval(1, 1), step: FrameInterval(1, 60))
                        ]),
                ]),
            .init(FourCC("Y16 ")!, sizes: []),
            .init(
                .mjpeg,
                sizes: [
                    .init(
                        .continuous(.init(minWidth: 1, maxWidth: 64, minHeight: 1, maxHeight: 64)),
                        intervals: [.continuous(min: FrameInterval(1, 90), max: FrameInterval(1, 1))])
                ]),
        ], isPartial: true,
        current: .init(fourcc: .nv12, width: 1280, height: 720, interval: FrameInterval(1, 30)))

    @Test("a list is read with everything in it")
    func reading() throws {
        #expect(try CameraListFile.parse(Array(Self.sample.utf8)) == Self.modes)
    }

    @Test("what is written is read as the same")
    func roundTrip() throws {
        #expect(try CameraListFile.parse(Array(CameraModesDocument(Self.modes).jsonLine.utf8)) == Self.modes)
    }

    @Test(
        "what is wrong is told with its place",
        arguments: [
            ("", "not JSON at byte 0, line 1: it ends too early"),
            ("{\n \"modes\": [}", "not JSON at byte 13, line 2"),
            ("{\"modes\": [1,]}", "not JSON at byte 13, line 1"),
            ("{\"modes\": [], }", "not JSON at byte 14, line 1"),
            ("{\"modes\": [] } x", "not JSON at byte 15, line 1"),
            ("{\"modes\": [01]}", "not JSON at byte 12, line 1"),
            ("{\"modes\": \"\\q\"}", "not JSON at byte 12, line 1"),
            ("[]", "the whole: must be an object"),
            ("{}", "modes: missing"),
            ("{\"modes\": 3}", "modes: must be a list"),
            ("{\"modes\": [], \"label\": 3}", "label: must be a text"),
            ("{\"modes\": [], \"multiplanar\": 1}", "multiplanar: must be true or false"),
            ("{\"modes\": [], \"current\": {\"w\": 1}}", "current.h: missing"),
            ("{\"modes\": [{\"fourcc\": \"NV122\"}]}", "modes[0].fourcc: must be four characters, such as \"NV12\""),
            (
                "{\"modes\": [{\"fourcc\": \"NV12\", \"sizes\": [{\"w\": -1, \"h\": 2}]}]}",
                "modes[0].sizes[0].w: must be a whole number from 0 to 4294967295"
            ),
            (
                "{\"modes\": [{\"fourcc\": \"NV12\", \"sizes\": [{\"w\": 4294967296, \"h\": 2}]}]}",
                "modes[0].sizes[0].w: must be a whole number from 0 to 4294967295"
            ),
            (
                "{\"modes\": [{\"fourcc\": \"NV12\", \"sizes\": [{\"w\": 1e999, \"h\": 2}]}]}",
                "a number is too large to be read"
            ),
            (
                "{\"modes\": [{\"fourcc\": \"NV12\", \"sizes\": [{\"type\": \"round\"}]}]}",
                "modes[0].sizes[0].type: must be discrete, stepwise or continuous"
            ),
            (
                "{\"modes\": [{\"fourcc\": \"NV12\", \"sizes\": [{\"w\": 1, \"h\": 2, \"intervals\": [{\"num\": 1}]}]}]}",
                "modes[0].sizes[0].intervals[0].den: missing"
            ),
        ])
    func problems(text: String, problem: String) {
        let error = #expect(throws: CameraListFile.Problem.self) { try CameraListFile.parse(Array(text.utf8)) }
        #expect(error?.description == problem)
    }

    @Test("a list that goes on and on is not read")
    func tooLong() {
        let size = "{\"w\":1,\"h\":1},"
        let text =
            "{\"modes\":[{\"fourcc\":\"NV12\",\"sizes\":[" + String(repeating: size, count: 20_000)
            + "{\"w\":1,\"h\":1}]}]}"
        let error = #expect(throws: CameraListFile.Problem.self) { try CameraListFile.parse(Array(text.utf8)) }
        #expect(error?.description == "modes: 20001 of them; at most 20000 are read")
    }

    @Test("a file with any bytes changed is a list or a problem of one line; nothing traps")
    func mutations() {
        var random = Seeded(state: 7)
        var lists = 0
        for _ in 0..<1_500 {
            var bytes = Array(Self.sample.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(UInt8.random(in: 0x20...0x7E, using: &random), at: place)
                case 3: bytes.removeSubrange(place..<min(bytes.count, place + 20))
                case 4: bytes[place] = UInt8(ascii: "9")
                default: bytes.insert(contentsOf: "99999999999".utf8, at: place)
                }
                if bytes.isEmpty { break }
            }
            do throws(CameraListFile.Problem) {
                let modes = try CameraListFile.parse(bytes)
                lists += 1
                // Whatever it says, a mode is chosen or none.
                let choice = CameraModeChoice.choose(CameraWish(width: 640, height: 480, frameRate: 30), from: modes)
                #expect(!choice.reason.isEmpty)
            } catch {
                #expect(!error.description.isEmpty && !error.description.contains { $0.isNewline })
            }
        }
        // Both ways were taken.
        #expect((50...1_450).contains(lists))
    }

    @Test("what has no wrong byte is JSON to the decoder, too")
    func syntaxAgreesWithTheDecoder() {
        struct Anything: Decodable {
            init(from decoder: any Decoder) {}
        }
        var random = Seeded(state: 11)
        let alphabet = Array("{}[]\",:\\u0012 -+.eEtrufalsn\n\t/".utf8)
        var accepted = 0
        for round in 0..<2_000 {
            var bytes = Array((round % 2 == 0 ? Self.sample : "[1,{\"a\":[-0.5e+1,null,true]},\"\\u00e4\"]").utf8)
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            guard JSONSyntax.firstError(in: bytes) == nil else { continue }
            accepted += 1
            let isTaken = (try? JSONDecoder().decode(Anything.self, from: Data(bytes))) != nil
            #expect(isTaken, "\(String(decoding: bytes, as: UTF8.self))")
        }
        #expect((300...1_700).contains(accepted))
    }

    @Test(
        "the first wrong byte is the one at which no JSON text goes on",
        arguments: [
            ("null", nil), (" [ ] ", nil), ("{}", nil), ("-0.0e-00", nil), ("\"\\\"\\u00E4\"", nil), ("[[],{}]", nil),
            ("", 0), ("nul", 3), ("nulL", 3), ("[", 1), ("[1 2]", 3), ("[,]", 1), ("{,}", 1), ("{\"a\"}", 4),
            ("{\"a\":}", 5), ("{\"a\":1,}", 7), ("{a:1}", 1), ("1.", 2), ("-", 1), (".5", 0), ("1e", 2), ("+1", 0),
            ("00", 1), ("\"a\nb\"", 2), ("\"\\x\"", 2), ("\"\\u12g4\"", 5), ("\"", 1), ("[1]]", 3), ("'a'", 0),
            ("[}", 1),
            ("NaN", 0), ("[1]//", 3),
        ] as [(String, Int?)])
    func firstWrongByte(text: String, byte: Int?) {
        #expect(JSONSyntax.firstError(in: Array(text.utf8)) == byte)
    }

    @Test("brackets may be nested as deep as the decoder follows, and no deeper")
    func depth() {
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(ascii: "["), count: depth) + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
        }
        #expect(JSONSyntax.firstError(in: nested(512)) == nil)
        #expect(JSONSyntax.firstError(in: nested(513)) == 512)
        #expect(JSONSyntax.firstError(in: nested(1_000_000)) == 512)
    }
}

/// The same sequence for the same seed.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        // xorshift64*, Vigna 2016
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
