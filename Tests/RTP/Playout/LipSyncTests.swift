import EmisoraCore
import Testing

@testable import EmisoraRTP

/// Pictures by a timeline, sound by a jitter buffer, lined up as a peer connection does it, over a path of its own for each.
@Suite struct LipSyncTests {
    private struct Call {
        static let wallClock = WallClock(unixNanosecondsAtZero: 1_700_000_000_000_000_000)

        var timeline = PlayoutTimeline(clockRate: 90_000)
        var buffer = AudioJitterBuffer(clockRate: 48_000)
        var lipSync = LipSync()
        var videoClock = SenderClock(clockRate: 90_000)
        var audioClock = SenderClock(clockRate: 48_000)
        var generator: SeededGenerator
        /// From when on the sender reports, in milliseconds, and by how much it errs about sound.
        var reportsFrom = 500
        var reportError: (Int) -> Int = { _ in 0 }
        /// What packets of each take, in milliseconds.
        var videoPath: (inout SeededGenerator) -> Int
        var audioPath: (inout SeededGenerator) -> Int

        private var audioPackets: [(due: Int, number: Int)] = []
        private var playingVideo: PlayingMedia?
        private var playingAudio: PlayingMedia?
        private var lastFrameAt = 0
        /// Sound behind pictures, in milliseconds, at each picture.
        private(set) var skews: [(at: Int, skew: Double)] = []
        private(set) var silences = 0

        init(
            seed: UInt64, video: @escaping (inout SeededGenerator) -> Int,
            audio: @escaping (inout SeededGenerator) -> Int
        ) {
            generator = SeededGenerator(seed: seed)
            videoPath = video
            audioPath = audio
        }

        /// Sound is captured for 20 ms before it leaves, pictures at once; both begin at 0.
        mutating func run(from start: Int, to end: Int) {
            for now in start..<end {
                if now % 20 == 0, now > 0 { audioPackets.append((now + audioPath(&generator), now / 20 - 1)) }
                for packet in audioPackets where packet.due <= now {
                    _ = buffer.insert(
                        number: Int64(packet.number), timestamp: UInt32(packet.number * 960),
                        payload: [0xFC, 1].span.bytes, now: at(now))
                }
                audioPackets.removeAll { $0.due <= now }
                if now % 20 == 13 {
                    let output = buffer.pop(now: at(now))
                    if case .packet(_, let timestamp) = output {
                        playingAudio = PlayingMedia(timestamp: timestamp, at: at(now))
                    }
                    if output == .empty, now > 1_000 { silences += 1 }
                }
                if now % 33 == 0 {
                    let done = max(lastFrameAt, now + videoPath(&generator))
                    lastFrameAt = done
                    let timestamp = UInt32(now * 90)
                    let playAt = timeline.schedule(timestamp: timestamp, completedAt: at(done))
                    playingVideo = PlayingMedia(timestamp: timestamp, at: playAt)
                    if let playingAudio {
                        let sound = Double(
                            playingAudio.at.nanoseconds - at(Int(playingAudio.timestamp) / 48).nanoseconds)
                        let picture = Double(playAt.nanoseconds - at(now).nanoseconds)
                        skews.append((now, (sound - picture) / 1e6))
                    }
                }
                if now >= reportsFrom, now % 1_000 == 500 { report(now) }
                if now % 200 == 0 { synchronize() }
            }
        }

        private mutating func report(_ now: Int) {
            videoClock.handle(
                SenderReport(
                    ssrc: 1, ntpTimestamp: Self.wallClock.ntp(at: at(now)), rtpTimestamp: UInt32(now * 90),
                    packetCount: 0, octetCount: 0), now: at(now))
            audioClock.handle(
                SenderReport(
                    ssrc: 2, ntpTimestamp: Self.wallClock.ntp(at: at(now + reportError(now))),
                    rtpTimestamp: UInt32(now * 48), packetCount: 0, octetCount: 0), now: at(now))
        }

        private mutating func synchronize() {
            guard let playingVideo, let playingAudio, let audioDelay = buffer.delay,
                let pictureTime = videoClock.ntpTimestamp(of: playingVideo.timestamp),
                let soundTime = audioClock.ntpTimestamp(of: playingAudio.timestamp)
            else { return lipSync.reset() }
            lipSync.update(
                video: .init(
                    capturedAt: pictureTime, playedAt: playingVideo.at, delay: timeline.delay,
                    ownDelay: timeline.ownDelay),
                audio: .init(
                    capturedAt: soundTime, playedAt: playingAudio.at, delay: audioDelay, ownDelay: buffer.networkDelay))
            timeline.synchronizationDelay = lipSync.videoDelay
            buffer.synchronizationDelay = lipSync.audioDelay
        }

        func worst(_ range: Range<Int>) -> Double {
            skews.filter { range.contains($0.at) }.map { abs($0.skew) }.max() ?? .infinity
        }
    }

    @Test(arguments: UInt64(1)...4) func onAnEvenPathNothingIsAdded(seed: UInt64) {
        var call = Call(seed: seed, video: { _ in 10 }, audio: { _ in 2 })
        call.run(from: 0, to: 20_000)
        #expect(call.worst(2_000..<20_000) <= 40)
        #expect(call.timeline.targetDelay < .milliseconds(30) && call.buffer.packetsInsertedForDeceleration == 0)
    }

    @Test("Jitter of one of the two leaves them together", arguments: UInt64(1)...4, [false, true])
    func jitterOfOne(seed: UInt64, isVideo: Bool) {
        let jittery: (inout SeededGenerator) -> Int = { 5 + $0.number(below: 50) }
        let even: (inout SeededGenerator) -> Int = { _ in 5 }
        var call = Call(seed: seed, video: isVideo ? jittery : even, audio: isVideo ? even : jittery)
        call.run(from: 0, to: 40_000)
        let settled = call.skews.filter { $0.at > 8_000 }.map(\.skew)
        #expect(settled.allSatisfy { abs($0) <= 40 }, "\(settled.min() ?? 0)…\(settled.max() ?? 0)")
        #expect(call.silences < 40, "\(call.silences)")
    }

    @Test("Pictures that come late take sound with them, and both come back", arguments: [100, 250, 400])
    func latePictures(milliseconds: Int) {
        var call = Call(seed: 3, video: { _ in 10 }, audio: { _ in 2 })
        call.run(from: 0, to: 5_000)
        call.videoPath = { _ in 10 + milliseconds }
        call.run(from: 5_000, to: 30_000)
        #expect(call.worst(25_000..<30_000) <= 40, "\(call.worst(25_000..<30_000))")
        // 40 ms of a second, made up a packet's length at a time.
        #expect(Int(call.buffer.packetsInsertedForDeceleration) >= (milliseconds - 60) / 20)
        #expect(Int(call.buffer.packetsInsertedForDeceleration) <= milliseconds / 20 + 2)
        call.videoPath = { _ in 10 }
        call.run(from: 30_000, to: 80_000)
        #expect(call.worst(70_000..<80_000) <= 40, "\(call.worst(70_000..<80_000))")
        #expect(call.timeline.delay < .milliseconds(60), "\(call.timeline.delay)")
        #expect(call.buffer.bufferedDuration <= .milliseconds(80), "\(call.buffer.bufferedDuration)")
    }

    @Test func lateSoundTakesPicturesWithIt() {
        var call = Call(seed: 4, video: { _ in 10 }, audio: { _ in 2 })
        call.run(from: 0, to: 5_000)
        call.audioPath = { _ in 150 }
        call.run(from: 5_000, to: 20_000)
        #expect(call.worst(15_000..<20_000) <= 40, "\(call.worst(15_000..<20_000))")
        // Pictures glide: by at most 80 ms a second.
        let skews = call.skews.filter { $0.at > 6_500 && $0.at < 15_000 }.map(\.skew)
        #expect(zip(skews, skews.dropFirst()).allSatisfy { $1 - $0 > -4 })
    }

    @Test func withoutReportsBothPlayAsTheyCome() {
        var call = Call(seed: 5, video: { _ in 200 }, audio: { _ in 2 })
        call.reportsFrom = .max
        call.run(from: 0, to: 20_000)
        #expect(call.lipSync == LipSync())
        #expect(call.timeline.targetDelay < .milliseconds(1) && call.buffer.targetDelay == .milliseconds(20))
        // They come late, but they come.
        call.reportsFrom = 20_000
        call.run(from: 20_000, to: 40_000)
        #expect(call.worst(35_000..<40_000) <= 40)
    }

    @Test("Reports that lie delay nothing for long", arguments: [90_000, -90_000, 2_000])
    func lies(milliseconds: Int) {
        var call = Call(seed: 6, video: { _ in 10 }, audio: { _ in 2 })
        call.reportError = { _ in milliseconds }
        call.run(from: 0, to: 20_000)
        #expect(call.lipSync == LipSync())
        #expect(call.buffer.packetsInsertedForDeceleration == 0 && call.timeline.targetDelay < .milliseconds(1))
        // Now and then a wrong one among right ones.
        var other = Call(seed: 7, video: { _ in 10 }, audio: { _ in 2 })
        other.reportError = { $0 % 5_000 == 2_500 ? milliseconds : 0 }
        other.run(from: 0, to: 40_000)
        #expect(other.worst(5_000..<40_000) <= 40)
    }

    @Test func timesOfCaptureInPacketsAreTakenUpWithoutAJump() {
        var call = Call(seed: 8, video: { _ in 120 }, audio: { _ in 2 })
        call.run(from: 0, to: 10_000)
        let before = call.skews.last?.skew ?? 0
        for now in 10_000..<20_000 {
            call.videoClock.handle(.init(timestamp: Call.wallClock.ntp(at: at(now))), of: UInt32(now * 90))
            call.audioClock.handle(.init(timestamp: Call.wallClock.ntp(at: at(now))), of: UInt32(now * 48))
            call.run(from: now, to: now + 1)
        }
        #expect(call.worst(8_000..<20_000) <= 40 && abs((call.skews.last?.skew ?? 99) - before) < 25)
    }
}
