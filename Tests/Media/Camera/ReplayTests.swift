import EmisoraCore
import EmisoraVideo
import Glibc
import Synchronization
import Testing

@testable import EmisoraCapture

/// A session that was recorded takes the same course without its camera.
@Suite struct ReplayTests {
    /// A session with all that can go wrong, as text.
    private func record(_ camera: ScriptedCamera, withPixels: Bool, _ body: (CameraBench) -> Void) throws -> String {
        let text = Mutex("")
        let system = ScriptedV4L2(["/dev/video0": camera])
        let recorder = V4L2Recorder(system, withPixels: withPixels) { line in text.withLock { $0 += line } }
        let bench = CameraBench(system, recorder: recorder)
        try bench.capture.start(into: bench.consumer)
        body(bench)
        bench.capture.stop()
        return text.withLock { $0 }
    }

    /// Plays to the end; what became of the frames, and what was told.
    private func play(_ replay: V4L2Replay) async throws -> (CaptureLedger, EventLog) {
        let (consumer, log) = (makeOpenConsumer(), EventLog())
        let capture = CameraCapture(device: nil, wish: CameraWish(), system: replay) { log.record($0) }
        try capture.start(into: consumer)
        #expect(await eventually { replay.isOver })
        capture.stop()
        return (consumer.ledger, log)
    }

    @Test func aReplayTakesTheRecordedCourse() async throws {
        var camera = ScriptedCamera()
        camera.padding = 16
        camera.onFrame = { number, buffer in
            if number % 7 == 3 { buffer.planes[0].bytesUsed = 9 }
            if number % 7 == 4 { buffer.flags |= 0x40 }
            return number % 7 != 5
        }
        let expected = Mutex<(CaptureLedger, EventLog)?>(nil)
        let text = try record(camera, withPixels: false) { bench in
            _ = bench.pass(.seconds(3))
            bench.system.change { $0.fatal = EIO }
            _ = bench.pass(.seconds(3))
            expected.withLock { $0 = (bench.consumer.ledger, bench.log) }
        }
        let (ledger, log) = try #require(expected.withLock { $0 })
        let replay = try V4L2Replay(text)
        let (played, playedLog) = try await play(replay)
        #expect(played.lostByDriver == ledger.lostByDriver && ledger.lostByDriver > 20)
        #expect(played.dropped(.invalid) == ledger.dropped(.invalid) && ledger.dropped(.invalid) > 40)
        #expect(abs(played.captured - ledger.captured) <= 3)
        #expect(played.isBalanced)
        #expect(playedLog.interruptions == log.interruptions && log.interruptions.count == 1)
        #expect(playedLog.modes == log.modes)
        #expect(playedLog.recoveries.count == 1)
    }

    @Test func picturesAreReplayedIfTheyWereRecorded() async throws {
        let text = try record(ScriptedCamera(), withPixels: true) { bench in _ = bench.pass(.milliseconds(300)) }
        let replay = try V4L2Replay(text)
        let consumer = makeOpenConsumer()
        let capture = CameraCapture(device: nil, wish: CameraWish(), system: replay)
        try capture.start(into: consumer)
        #expect(await eventually { replay.isOver })
        // The last one: each picture's bytes are its number.
        let last = take(1, from: consumer)
        #expect((7...8).contains(firstByte(try #require(last.first), plane: 1)))
        capture.stop()
    }

    @Test func storminessShortFramesAndWrapsComeFromTheRecording() async throws {
        // Written by hand, as a user's file would be edited down.
        var text = """
            emisora-v4l2 1
            1000000000 nodes /dev/video0
            1000000000 open 0 /dev/video0 0 = ok
            1000000000 do 0 querycap = capability uvcvideo A%20camera usb-1 69206017
            1000000000 do 0 enumfmt 1 0 = description \(FourCC.yuyv.rawValue) 0 %
            1000000000 do 0 enumsize \(FourCC.yuyv.rawValue) 0 = size 32 16
            1000000000 do 0 enuminterval \(FourCC.yuyv.rawValue) 32 16 0 = seconds 1 30
            1000000000 do 0 setfmt 1 32 16 \(FourCC.yuyv.rawValue) 1 0 0 0 0 1 0 0 = format 1 32 16 \
            \(FourCC.yuyv.rawValue) 1 8 0 0 0 1 64 1024
            1000000000 do 0 setparm 1 1 30 = interval 1 30
            1000000000 do 0 reqbufs 1 6 = count 4

            """
        for index in 0..<4 {
            text += "1000000000 do 0 querybuf 1 \(index) = buffer \(index) 0 1 0 0 0 1 0 1024 0 \(index * 1024)\n"
        }
        text += "1000000000 do 0 streamon 1 = ok\n"
        for number in 0..<3000 {
            let time = 1_000_000_000 + (number + 1) * 33_333_333
            let sequence = UInt32(truncatingIfNeeded: number) &- 1500
            // A storm, short frames, and stamps that start anew.
            if number % 3 == 0 { text += "\(time) do 0 dqbuf 1 = error 11\n" }
            let used = number % 3 == 1 ? 1000 : 1024
            let seconds = number < 1000 ? time / 1_000_000_000 : number / 30
            text += "\(time) do 0 dqbuf 1 = buffer \(number % 4) 73728 1 \(sequence) \(seconds) "
            text += "\(time / 1000 % 1_000_000) 1 \(used) 1024 0 0\n"
        }
        let (ledger, log) = try await play(try V4L2Replay(text))
        #expect(ledger.dropped(.invalid) == 1000)
        #expect(ledger.captured >= 2998)
        #expect(ledger.lostByDriver == 0)
        #expect(ledger.isBalanced)
        #expect(log.modes.first?.description == "YUYV 32x16 at 30 fps")
    }

    @Test func aSessionSurvivesTheFile() async throws {
        let path = "/tmp/emisora-recording-\(getpid())"
        defer { unlink(path) }
        let system = ScriptedV4L2()
        let bench = CameraBench(system, recorder: try V4L2Recorder(system, withPixels: false, path: path))
        try bench.capture.start(into: bench.consumer)
        _ = bench.pass(.seconds(1))
        bench.capture.stop()
        let (ledger, _) = try await play(try V4L2Replay(path: path))
        #expect(abs(ledger.captured - bench.consumer.ledger.captured) <= 2)
        #expect(throws: CaptureError.self) { try CameraCapture(replaying: "/dev/null") }
    }

    @Test func everyRequestAndAnswerSurvivesItsLine() throws {
        var format = V4L2Format(type: .videoCaptureMultiplanar, width: 1, height: .max, pixelFormat: 3)
        format.planes = V4L2Planes(repeating: V4L2PlaneFormat(bytesPerLine: 4, sizeImage: 5), count: 2)
        var buffer = V4L2Buffer(
            index: 1, planes: V4L2Planes(repeating: V4L2BufferPlane(bytesUsed: 9, memoryOffset: .max), count: 3))
        buffer.seconds = .min
        let type = V4L2BufferType.videoCapture
        let requests: [V4L2Request] = [
            .queryCapability, .enumerateFormat(type, index: 1), .enumerateFrameSize(pixelFormat: 1, index: 2),
            .enumerateFrameInterval(pixelFormat: 1, width: 2, height: 3, index: 4), .getFormat(type),
            .setFormat(format), .tryFormat(format), .getInterval(type), .setInterval(type, V4L2Fraction(1, 0)),
            .requestBuffers(type, count: 5), .queryBuffer(type, index: 1),
            .queueBuffer(type, index: 1, planeCount: 2), .dequeueBuffer(type), .streamOn(type), .streamOff(type),
            .subscribeEvent(kind: 5, id: 1), .unsubscribeEvent(kind: 5, id: 1), .dequeueEvent,
            .queryControl(id: .max), .queryMenu(id: 1, index: 2, isInteger: true), .getControl(id: 1, isWide: true),
            .setControl(id: 1, isWide: false, value: .min), .getControlPayload(id: 1, byteCount: 16),
            .setControlPayload(id: 1, [0, 255]), .setControlPayload(id: 1, []), .getSelection(type, target: 1),
            .setSelection(type, target: 1, V4L2Rectangle(left: -1, top: 2, width: 3, height: 4)), .queryTimings,
            .setTimings([0, 255, 7]), .getPriority,
            .setPriority(3),
        ]
        let steps = V4L2SizeSteps(minimum: 1, maximum: 2, step: 3)
        let half = V4L2Fraction(1, 2)
        let answers: [V4L2Outcome] = [
            .answer(.done), .error(19),
            .answer(
                .capability(V4L2Capability(driver: "", card: "ä % b\n", busInfo: "usb 1", capabilities: .max))),
            .answer(.formatDescription(V4L2FormatDescription(pixelFormat: 1, flags: 2, text: "Motion JPEG"))),
            .answer(.frameSize(.discrete(width: 1, height: 2))),
            .answer(.frameSize(.stepwise(width: steps, height: steps, isContinuous: true))),
            .answer(.frameInterval(.discrete(half))),
            .answer(.frameInterval(.stepwise(minimum: half, maximum: half, step: half, isContinuous: false))),
            .answer(.format(format)), .answer(.interval(half)), .answer(.count(1)), .answer(.buffer(buffer)),
            .answer(.event(V4L2Event(kind: 1, id: 2, pending: 3, changes: 4))),
            .answer(
                .controlInfo(
                    V4L2ControlInfo(
                        id: 1, type: 2, name: "Focus, Auto", minimum: .min, maximum: .max, step: .max,
                        defaultValue: 0))),
            .answer(.menuItem(V4L2MenuItem(index: 1, name: "50 Hz", value: -1))), .answer(.value(.min)),
            .answer(.payload([1, 2])), .answer(.rectangle(V4L2Rectangle(left: 1, top: 2, width: 3, height: 4))),
        ]
        for request in requests {
            for outcome in answers {
                let line = V4L2Recording.Line(
                    time: .milliseconds(1), entry: .request(device: 3, request, outcome))
                #expect(try V4L2Recording.Line(Substring(line.text)) == line)
            }
        }
    }

    @Test func mutatedRecordingsAreReadOrRefusedWithTheirLineAndNeverTrap() async throws {
        var camera = ScriptedCamera()
        camera.modes = [(.nv12, 4, 2, V4L2Fraction(1, 30))]
        let text = try record(camera, withPixels: true) { bench in _ = bench.pass(.milliseconds(200)) }
        let original = Array(text.utf8)
        var random = TestRandom(state: 3)
        var refused = 0
        for _ in 0..<1000 {
            var bytes = original
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                let at = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0x20..<0x7F, using: &random)
                case 1: bytes.remove(at: at)
                default: bytes.insert(UInt8.random(in: 0x30..<0x3A, using: &random), at: at)
                }
            }
            guard let replay = try? V4L2Replay(String(decoding: bytes, as: UTF8.self)) else {
                refused += 1
                continue
            }
            let consumer = makeOpenConsumer()
            let capture = CameraCapture(device: nil, wish: CameraWish(), system: replay)
            // Whatever comes of it.
            try? capture.start(into: consumer)
            capture.stop()
            #expect(consumer.ledger.isBalanced)
        }
        #expect(refused > 100 && refused < 1000)
        #expect(throws: V4L2RecordingError(line: 2, problem: .unknown("x"))) {
            try V4L2Replay("emisora-v4l2 1\n5 x\n")
        }
        #expect(throws: V4L2RecordingError(line: 1, problem: .notARecording)) { try V4L2Replay("") }
    }
}
