import EmisoraVideo
import Testing

@testable import EmisoraCapture

@Suite struct CameraModeChoiceTests {
    @Test("each real camera's list gives the expected mode, with its reason", arguments: CameraLists.all)
    func realCameras(list: CameraList) {
        check(list)
    }

    @Test("each rule gives the expected mode, with its reason", arguments: CameraLists.cases)
    func rules(list: CameraList) {
        check(list)
    }

    private func check(_ list: CameraList) {
        for wish in list.wishes {
            let choice = CameraModeChoice.choose(CameraWish(wish.wish), from: list.modes)
            #expect(choice.chosen?.listText == wish.expected, "\(wish.wish)")
            #expect(choice.reason == wish.reason, "\(wish.wish)")
        }
    }

    @Test("each mode that lost is told why")
    func losers() {
        let choice = CameraModeChoice.choose(CameraWish("640x480@20"), from: CameraLists.losers.modes)
        #expect(choice.chosen?.listText == "YUYV 640x480 1/20")
        let told = choice.candidates.filter { !$0.isChosen }.map { "\($0.mode.listText): \($0.reason)" }
        #expect(
            told == [
                "H264 640x480 1/20: H264 (compressed video) is not decoded",
                "MJPG 640x480 1/30: 30 fps is above 20 fps",
                "MJPG 640x480 1/20: YUYV costs less at equal size and rate",
                "MJPG 640x480 1/10: 10 fps is further below 20 fps",
                "MJPG 320x240 1/20: not the wished size",
                "YUYV 640x480 2/40: another way to say the same rate",
                "YUYV 640x480 1/20: listed twice",
                "UYVY 640x480 1/20: equal, but YUYV is listed first",
                "NV12 640x480 1/10: NV12 stops at 10 fps at this size",
                "NM12 640x480 -: lists no rate",
            ])
    }

    @Test("scores order the modes: the chosen one has the highest, what is not decoded has 0")
    func scores() {
        for list in CameraLists.all + CameraLists.cases {
            for wish in list.wishes {
                let choice = CameraModeChoice.choose(CameraWish(wish.wish), from: list.modes)
                let chosen = choice.candidates.filter { $0.isChosen }
                #expect(chosen.count == (wish.expected == nil ? 0 : 1))
                #expect(chosen.first?.mode == choice.chosen)
                let best = choice.candidates.map { $0.score }.max() ?? 0
                #expect(chosen.first?.score ?? 0 == best)
                #expect(choice.candidates.allSatisfy { !$0.reason.isEmpty })
            }
        }
    }

    @Test("any list and any wish gets an answer: no number traps, and an offered size is kept")
    func anyList() {
        var random = SplitMix64(seed: 3)
        for _ in 0..<2_000 {
            let modes = CameraModes.random(&random)
            let wish = CameraWish.random(&random)
            let choice = CameraModeChoice.choose(wish, from: modes)
            let best = choice.candidates.map { $0.score }.max() ?? 0
            #expect((choice.chosen == nil) == (best == 0))
            func isWished(_ mode: CameraMode) -> Bool { mode.width == wish.width && mode.height == wish.height }
            let isOffered = choice.candidates.contains { $0.score > 0 && isWished($0.mode) }
            if isOffered, modes.current == nil, let chosen = choice.chosen { #expect(isWished(chosen)) }
            #expect(choice.chosen?.interval?.isValid ?? true)
        }
    }
}

extension CameraLists {
    fileprivate static let losers = CameraList(
        "losers",
        """
        H264
            640x480 : 1/20
        MJPG
            640x480 : 1/30 1/20 1/10
            320x240 : 1/20
        YUYV
            640x480 : 1/20 2/40 1/20
        UYVY
            640x480 : 1/20
        NV12
            640x480 : 1/10
        NM12
            640x480 :
        """, wishes: [])
}

extension CameraModes {
    /// A list of a few modes, many numbers at or near the borders of their ranges.
    fileprivate static func random(_ random: inout SplitMix64) -> CameraModes {
        let sides = [
            0, 1, 2, 16, 240, 320, 480, 640, 719, 720, 1280, 65_535, Int(Int32.max), Int(UInt32.max), -1, .max,
        ]
        let parts: [UInt32] = [0, 1, 2, 7, 25, 30, 60, 1001, 30_000, 333_333, 10_000_000, .max - 1, .max]
        let formats = ["NV12", "NM12", "YU12", "YUYV", "UYVY", "MJPG", "H264", "RG10"].compactMap { FourCC($0) }
        func side() -> Int { sides[Int.random(in: 0..<sides.count, using: &random)] }
        func part() -> UInt32 { parts[Int.random(in: 0..<parts.count, using: &random)] }
        func interval() -> FrameInterval { FrameInterval(part(), part()) }
        func intervals() -> Intervals {
            switch Int.random(in: 0..<3, using: &random) {
            case 0: .discrete(interval())
            case 1: .continuous(min: interval(), max: interval())
            default: .stepwise(min: interval(), max: interval(), step: interval())
            }
        }
        func extent() -> Extent {
            let range = SizeRange(
                minWidth: side(), maxWidth: side(), stepWidth: side(), minHeight: side(), maxHeight: side(),
                stepHeight: side())
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return .continuous(range)
            case 1: return .stepwise(range)
            default: return .discrete(width: side(), height: side())
            }
        }
        func list<Element>(_ most: Int, _ make: () -> Element) -> [Element] {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in make() }
        }
        return CameraModes(
            formats: list(4) {
                Format(
                    formats[Int.random(in: 0..<formats.count, using: &random)],
                    sizes: list(4) { Size(extent(), intervals: list(3, intervals)) })
            },
            current: Int.random(in: 0..<10, using: &random) == 0 ? .init(width: side(), height: side()) : nil)
    }
}

extension CameraWish {
    fileprivate static func random(_ random: inout SplitMix64) -> CameraWish {
        let sides = [nil, 0, 1, 320, 640, 1280, 1920, .max, -5]
        func side() -> Int? { sides[Int.random(in: 0..<sides.count, using: &random)] }
        let rates = [nil, 1, 30, FrameRate(30_000, 1001), FrameRate(Int(Int32.max)), FrameRate(1, Int(Int32.max))]
        return CameraWish(
            width: side(), height: side(), frameRate: rates[Int.random(in: 0..<rates.count, using: &random)])
    }
}
