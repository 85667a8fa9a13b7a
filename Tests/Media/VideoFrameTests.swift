import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Testing

@Suite struct VideoFrameTests {
    @Test func whatIsWrittenIsRead() throws {
        let format = VideoFormat(.i420, width: 5, height: 3, strides: [8, 4, 4])
        var picture = try VideoFramePool().makeFrame(format)
        for plane in 0..<3 {
            picture.withPlane(plane) { bytes, layout in
                #expect(bytes.byteCount == layout.byteCount)
                for row in 0..<layout.rows {
                    for column in 0..<layout.rowBytes {
                        let value = UInt8(100 * plane + 10 * row + column)
                        bytes.storeBytes(of: value, toByteOffset: row * layout.stride + column, as: UInt8.self)
                    }
                }
            }
        }
        let metadata = try FrameMetadata([1, 2, 3])
        let frame = picture.finish(timestamp: .milliseconds(7), rotation: .clockwise90, metadata: metadata)
        #expect(frame.timestamp == .milliseconds(7))
        #expect(frame.rotation == .clockwise90)
        #expect(Array(frame.metadata) == [1, 2, 3])
        for plane in 0..<3 {
            let layout = format.layout(ofPlane: plane)
            let bytes = frame.plane(plane)
            #expect(bytes.byteCount == layout.byteCount)
            for row in 0..<layout.rows {
                for column in 0..<layout.rowBytes {
                    let value = bytes.unsafeLoad(fromByteOffset: row * layout.stride + column, as: UInt8.self)
                    #expect(value == UInt8(100 * plane + 10 * row + column))
                }
            }
        }
    }

    @Test func spansOfAllPlanesCanBeWrittenInPlace() throws {
        var picture = try VideoFramePool().makeFrame(VideoFormat(.nv12, width: 4, height: 2))
        var chroma = picture.mutablePlane(1)
        chroma.storeBytes(of: 77, toByteOffset: 3, as: UInt8.self)
        let frame = picture.finish(timestamp: .zero)
        #expect(frame.plane(1).unsafeLoad(fromByteOffset: 3, as: UInt8.self) == 77)
    }

    @Test func metadataAreLimited() throws {
        #expect(Array(try FrameMetadata([UInt8](0..<32))) == [UInt8](0..<32))
        #expect(throws: VideoFrameError.metadataTooLong(limit: 32, given: 33)) {
            _ = try FrameMetadata([UInt8](repeating: 0, count: 33))
        }
        #expect(FrameMetadata().isEmpty)
        #expect(try FrameMetadata([0]) != FrameMetadata())
    }
}

@Suite struct VideoFramePoolTests {
    @Test func steadyStreamAllocatesNoPictureMemoryAfterWarmUp() throws {
        let pool = VideoFramePool(limit: 4)
        var held: [VideoFrame] = []
        for number in 0..<1000 {
            held.append(try makeFrame(pool, width: 64, height: 48, at: number))
            if held.count == 3 { held.removeFirst() }
        }
        #expect(pool.allocations == 3)
        #expect(pool.framesInUse == 2)
        held.removeAll()
        #expect(pool.framesInUse == 0)
    }

    @Test func memoryReturnsWithTheLastCopy() throws {
        let pool = VideoFramePool(limit: 1)
        var first: VideoFrame? = try makeFrame(pool, at: 0)
        var second = first
        first = nil
        #expect(pool.framesInUse == 1)
        #expect(throws: VideoFrameError.poolExhausted(limit: 1)) { _ = try makeFrame(pool, at: 1) }
        second = nil
        #expect(pool.framesInUse == 0)
        #expect(second == nil)
        _ = try makeFrame(pool, at: 2)
        #expect(pool.allocations == 1)
    }

    @Test func unfinishedPictureReturnsToo() throws {
        let pool = VideoFramePool(limit: 1)
        do {
            let picture = try pool.makeFrame(VideoFormat(.argb, width: 4, height: 4))
            #expect(picture.width == 4)
            #expect(pool.framesInUse == 1)
        }
        #expect(pool.framesInUse == 0)
    }

    @Test func copiesNeverSeeALaterPicture() throws {
        let pool = VideoFramePool(limit: 3)
        let kept = try makeFrame(pool, at: 0, filled: 1)
        for number in 1..<20 { _ = try makeFrame(pool, at: number, filled: 2) }
        #expect(kept.plane(0).unsafeLoad(fromByteOffset: 0, as: UInt8.self) == 1)
    }

    @Test func frameOutlivesItsPool() throws {
        var pool: VideoFramePool? = VideoFramePool()
        let frame = try makeFrame(try #require(pool), at: 0, filled: 9)
        pool = nil
        #expect(frame.plane(0).unsafeLoad(fromByteOffset: 255, as: UInt8.self) == 9)
    }

    @Test func newSizeTakesNewMemoryAndForgetsTheOld() throws {
        let pool = VideoFramePool()
        for number in 0..<10 { _ = try makeFrame(pool, width: 16, at: number) }
        for number in 0..<10 { _ = try makeFrame(pool, width: 32, at: number) }
        #expect(pool.allocations == 2)
    }

    @Test func newMemoryIsZero() throws {
        let frame = try VideoFramePool().makeFrame(VideoFormat(.argb, width: 64, height: 64)).finish(timestamp: .zero)
        frame.withUnsafePlanes { planes in
            #expect(planes[0].allSatisfy { $0 == 0 })
        }
    }

    @Test func manyThreadsShareAPool() async throws {
        let pool = VideoFramePool(limit: 64)
        await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for number in 0..<200 {
                        guard let frame = try? makeFrame(pool, at: number, filled: UInt8(task)) else { return -1 }
                        if frame.plane(0).unsafeLoad(fromByteOffset: 128, as: UInt8.self) != task { wrong += 1 }
                    }
                    return wrong
                }
            }
            for await wrong in group { #expect(wrong == 0) }
        }
        #expect(pool.framesInUse == 0)
        #expect(pool.allocations <= 8)
    }
}

@Suite struct BorrowedBufferTests {
    let format = VideoFormat(.nv12, width: 4, height: 2)

    @Test func releaseIsCalledOncePerUse() throws {
        let memory = TestMemory(byteCount: 12, filled: 5)
        let released = Counter()
        let buffer = BorrowedBuffer(memory.readOnly) { [memory] in
            withExtendedLifetime(memory) {}
            released.increment()
        }
        for use in 1...3 {
            var frame: VideoFrame? = try VideoFrame(borrowing: buffer, format: format, timestamp: .zero)
            let copy = frame
            frame = nil
            #expect(released.value == use - 1)
            #expect(copy?.plane(1).unsafeLoad(fromByteOffset: 3, as: UInt8.self) == 5)
            withExtendedLifetime(copy) {}
        }
        #expect(released.value == 3)
    }

    @Test func memoryIsNotCopied() throws {
        let memory = TestMemory(byteCount: 12)
        let buffer = BorrowedBuffer(memory.readOnly) {}
        let frame = try VideoFrame(borrowing: buffer, format: format, timestamp: .zero)
        frame.withUnsafePlanes { planes in
            #expect(planes[0].baseAddress == memory.readOnly.baseAddress)
            #expect(planes[1].baseAddress == memory.readOnly.baseAddress.map { $0 + 8 })
        }
    }

    @Test func releaseIsCalledOnceWhenMakingTheFrameThrows() {
        let memory = TestMemory(byteCount: 11)
        let released = Counter()
        let buffer = BorrowedBuffer(memory.readOnly) { released.increment() }
        #expect(throws: VideoFrameError.planeTooSmall(plane: 1, needed: 4, given: 3)) {
            _ = try VideoFrame(borrowing: buffer, format: format, timestamp: .zero)
        }
        #expect(released.value == 1)
        #expect(throws: VideoFrameError.self) {
            _ = try VideoFrame(borrowing: buffer, format: VideoFormat(.nv12, width: 0, height: 2), timestamp: .zero)
        }
        #expect(released.value == 2)
    }

    @Test func planesOfTheirOwnAreChecked() throws {
        let (luma, chroma) = (TestMemory(byteCount: 8), TestMemory(byteCount: 3))
        let released = Counter()
        let buffer = BorrowedBuffer(planes: [luma.readOnly, chroma.readOnly]) { released.increment() }
        #expect(throws: VideoFrameError.planeTooSmall(plane: 1, needed: 4, given: 3)) {
            _ = try VideoFrame(borrowing: buffer, format: format, timestamp: .zero)
        }
        #expect(throws: VideoFrameError.wrongPlaneCount(needed: 3, given: 2)) {
            _ = try VideoFrame(borrowing: buffer, format: VideoFormat(.i420, width: 2, height: 2), timestamp: .zero)
        }
        #expect(released.value == 2)
    }

    @Test(arguments: [([0, 9], 3), ([0, -1], 0), ([0, .max], 0), ([0, 12], 0)])
    func offsetsOutsideTheMemoryAreRefused(_ offsets: [Int], _ available: Int) {
        let memory = TestMemory(byteCount: 12)
        let buffer = BorrowedBuffer(memory.readOnly) {}
        #expect(throws: VideoFrameError.planeTooSmall(plane: 1, needed: 4, given: available)) {
            _ = try VideoFrame(borrowing: buffer, format: format, planeOffsets: offsets, timestamp: .zero)
        }
    }

    @Test func numberOfOffsetsIsChecked() {
        let memory = TestMemory(byteCount: 12)
        let buffer = BorrowedBuffer(memory.readOnly) {}
        #expect(throws: VideoFrameError.wrongPlaneCount(needed: 2, given: 1)) {
            _ = try VideoFrame(borrowing: buffer, format: format, planeOffsets: [0], timestamp: .zero)
        }
    }

    @Test func lastRowMayLackItsPadding() throws {
        let memory = TestMemory(byteCount: 16 + 4 + 12)
        let buffer = BorrowedBuffer(memory.readOnly) {}
        let padded = VideoFormat(.nv12, width: 4, height: 2, strides: [16, 16])
        let frame = try VideoFrame(borrowing: buffer, format: padded, planeOffsets: [0, 20], timestamp: .zero)
        #expect(frame.plane(0).byteCount == 20)
    }

    @Test func anotherThreadMayLetGo() async throws {
        let memory = TestMemory(byteCount: 12)
        let released = Counter()
        let mailbox = VideoCaptureConsumer()
        mailbox.open()
        mailbox.setHasSubscribers(true)
        let buffer = BorrowedBuffer(memory.readOnly) { released.increment() }
        mailbox.consume(try VideoFrame(borrowing: buffer, format: format, timestamp: .zero))
        #expect(released.value == 0)
        await Task.detached { mailbox.close() }.value
        #expect(released.value == 1)
    }

    @Test func frameKeepsTheMemoryItsReleaseHolds() throws {
        var memory: TestMemory? = TestMemory(byteCount: 12, filled: 3)
        weak let watched = memory
        var frame: VideoFrame? = try borrow(try #require(memory))
        memory = nil
        #expect(watched != nil)
        #expect(frame?.plane(0).unsafeLoad(fromByteOffset: 0, as: UInt8.self) == 3)
        frame = nil
        #expect(watched == nil)
        #expect(memory == nil && frame == nil)
    }

    private func borrow(_ memory: TestMemory) throws -> VideoFrame {
        let buffer = BorrowedBuffer(memory.readOnly) { withExtendedLifetime(memory) {} }
        return try VideoFrame(borrowing: buffer, format: format, timestamp: .zero)
    }
}
