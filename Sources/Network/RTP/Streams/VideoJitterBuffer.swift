import EmisoraCore

/// A frame put together again.
package struct ReceivedFrame: Equatable, Sendable {
    /// The frame's bytes as the encoder made them.
    package var payload: [UInt8]
    package var isKeyFrame: Bool
    package var rtpTimestamp: UInt32
    /// When the frame's first packet arrived.
    package var firstPacketReceivedAt: Instant
    /// When the packet arrived that completed it.
    package var receivedAt: Instant
    /// The unwrapped number of the frame's first packet.
    package var firstSequenceNumber: Int64
    /// How the picture is to be turned before it is shown.
    package var orientation = HeaderExtensionValues.VideoOrientation.upright

    package init(
        payload: [UInt8], isKeyFrame: Bool, rtpTimestamp: UInt32, firstPacketReceivedAt: Instant, receivedAt: Instant,
        firstSequenceNumber: Int64
    ) {
        self.payload = payload
        self.isKeyFrame = isKeyFrame
        self.rtpTimestamp = rtpTimestamp
        self.firstPacketReceivedAt = firstPacketReceivedAt
        self.receivedAt = receivedAt
        self.firstSequenceNumber = firstSequenceNumber
    }
}

/// Puts VP8 packets in order and hands out complete frames in the order of decoding.
///
///                       complete key frame
///     ┌─────────────────────┐ ─────────────▶ ┌──────────┐
///     │ waitingForKeyFrame  │                │ decoding │ ──▶ frames, without a gap between their numbers
///     └─────────────────────┘ ◀───────────── └──────────┘
///                       a packet missing for longer than `maximumWait`, a broken frame, no more room
///
/// A frame goes out the moment it and all before it are complete; playing at an even pace is the renderer's business.
package struct VideoJitterBuffer: Sendable {
    package struct Configuration: Equatable, Sendable {
        /// How long a missing packet is waited for before a key frame is needed.
        package var maximumWait: Duration = .milliseconds(400)
        /// Packets that are kept at most; also the largest frame, in packets.
        package var packetLimit = 2048
        package var byteLimit = 8 << 20
        /// Complete frames that wait to be taken.
        package var frameLimit = 64

        package init() {}
    }

    package enum State: Equatable, Sendable {
        case waitingForKeyFrame
        case decoding
    }

    package enum Insertion: Equatable, Sendable {
        case inserted
        /// Inserted, and a key frame begins with it.
        case keyFrameBegan
        case duplicate
        /// Its frame is past; not kept.
        case late
    }

    private struct Slot: Sendable {
        var number: Int64
        var timestamp: UInt32
        var marker: Bool
        /// Padding and what no frame can use: only fills its place in the sequence.
        var isEmpty: Bool
        var startsFrame: Bool
        var startsKeyFrame: Bool
        var pictureID: VP8PayloadDescriptor.PictureID?
        var receivedAt: Instant
        var bytes: [UInt8]
    }

    /// Packets between two pictures that may be passed over at once.
    private static let longestGap: Int64 = 16

    package let configuration: Configuration
    package private(set) var state: State = .waitingForKeyFrame
    /// A key frame was complete at least once since the start or the last reset.
    package private(set) var hasBegun = false
    /// Frames given up or thrown away, counted by their first packets.
    package private(set) var framesDropped: UInt64 = 0
    /// The first number that is still of use: of the next frame when decoding.
    package private(set) var floor: Int64?

    private var slots: [Slot?]
    private var highest: Int64 = .min
    private var packetCount = 0
    private var byteCount = 0
    /// Buffers of packets that are done, to be used again; never more than were once needed together.
    private var spareBuffers: [[UInt8]] = []
    /// Where known key frames begin, ascending, at most a few.
    private var keyFrameStarts: [Int64] = []
    private var ready: [ReceivedFrame] = []
    /// The first number of the next frame that has not been looked at.
    private var cursor: Int64 = 0
    private var blockedSince: Instant?
    /// Of the frame that went out last.
    private var lastPictureID: VP8PayloadDescriptor.PictureID?

    package init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        slots = Array(repeating: nil, count: max(64, configuration.packetLimit))
    }

    /// A key frame has begun to arrive, though it is not complete.
    package var hasPartialKeyFrame: Bool { !keyFrameStarts.isEmpty }

    /// When ``handleTimeout(now:)`` gives the wait up.
    package var nextDeadline: Instant? { blockedSince.map { $0 + configuration.maximumWait } }

    /// Takes a packet's payload, without padding; an empty one or one that is not VP8 only fills its place.
    package mutating func insert(
        number: Int64, timestamp: UInt32, marker: Bool, payload: RawSpan, now: Instant
    ) -> Insertion {
        // A little room below the first packet, for those that it overtook.
        let floor = self.floor ?? number - 64
        self.floor = floor
        guard number >= floor else { return .late }
        if number - floor >= Int64(slots.count) { makeRoom(for: number, now: now) }
        guard slots[index(number)] == nil else { return .duplicate }

        var slot = Slot(
            number: number, timestamp: timestamp, marker: marker, isEmpty: true, startsFrame: false,
            startsKeyFrame: false, pictureID: nil, receivedAt: now, bytes: [])
        parse(payload, into: &slot)
        if byteCount + slot.bytes.count > configuration.byteLimit { giveUp(upTo: highest + 1, now: now) }
        guard let raised = self.floor, number >= raised else {
            recycle(&slot)
            return .late
        }
        packetCount += 1
        byteCount += slot.bytes.count
        let startsKeyFrame = slot.startsKeyFrame
        slots[index(number)] = slot
        highest = max(highest, number)
        if startsKeyFrame { noteKeyFrameStart(number) }
        deliver(now: now)
        return startsKeyFrame ? .keyFrameBegan : .inserted
    }

    /// The next complete frame.
    package mutating func pollFrame() -> ReceivedFrame? {
        ready.isEmpty ? nil : ready.removeFirst()
    }

    /// Gives up the frame that is waited for once its time is over, and goes on with the next complete key frame.
    package mutating func handleTimeout(now: Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        giveUp(upTo: cursor + 1, now: now)
    }

    /// Throws away what depends on the frames so far, for a decoder that lost its way.
    package mutating func waitForKeyFrame(now: Instant) {
        framesDropped += UInt64(ready.count)
        ready.removeAll()
        giveUp(upTo: floor ?? .min, now: now)
    }

    /// Forgets everything, for a source that restarted.
    package mutating func reset() {
        if let floor, highest >= floor { release(upTo: highest + 1) }
        state = .waitingForKeyFrame
        hasBegun = false
        floor = nil
        highest = .min
        keyFrameStarts.removeAll()
        ready.removeAll()
        blockedSince = nil
        lastPictureID = nil
    }

    /// For tests of the bounds.
    var storedPacketCount: Int { packetCount }
    var storedByteCount: Int { byteCount }

    // MARK: Putting frames together

    private enum Assembly {
        /// The packets up to but without this number are one frame.
        case complete(end: Int64)
        case incomplete(missing: Int64)
        /// What stands there cannot begin a frame.
        case broken
    }

    /// Looks for the end of the frame that begins at `start`, going on from `cursor`, before which all is there.
    private func assemble(from start: Int64, cursor: Int64) -> Assembly {
        guard let first = slots[index(start)], first.number == start else { return .incomplete(missing: start) }
        guard first.startsFrame else { return .broken }
        var position = max(start, cursor)
        while position < start + Int64(slots.count) {
            guard let slot = slots[index(position)], slot.number == position else { break }
            if !slot.isEmpty {
                // A sender that forgets the marker ends its frame with the next timestamp.
                if slot.timestamp != first.timestamp { return .complete(end: position) }
                if slot.marker { return .complete(end: position + 1) }
            }
            position += 1
        }
        return .incomplete(missing: position)
    }

    private mutating func deliver(now: Instant) {
        if state == .waitingForKeyFrame { deliverKeyFrame(now: now) }
        guard state == .decoding else {
            trimWhileWaiting()
            return
        }
        var hasProgressed = false
        while let start = floor, state == .decoding {
            if let slot = slots[index(start)], slot.isEmpty {
                release(upTo: start + 1)
                hasProgressed = true
                continue
            }
            switch assemble(from: start, cursor: cursor) {
            case .complete(let end):
                emit(start..<end, now: now)
                hasProgressed = true
            case .incomplete(let missing):
                if missing == start, let next = nextPicture(after: start) {
                    release(upTo: next)
                    hasProgressed = true
                    continue
                }
                cursor = missing
                if highest < missing {
                    blockedSince = nil
                } else if blockedSince == nil || hasProgressed {
                    blockedSince = now
                }
                return
            case .broken:
                giveUp(upTo: start + 1, now: now)
                return
            }
        }
    }

    /// Where the very next picture begins, if what is missing before it was no picture: padding or a parity packet,
    /// which nobody needs to wait for. Picture ids tell (RFC 7741 §4.2: each picture's is one more than that before).
    private func nextPicture(after start: Int64) -> Int64? {
        guard let lastPictureID else { return nil }
        for number in start + 1..<start + 1 + Self.longestGap {
            guard number <= highest, let slot = slots[index(number)], slot.number == number, !slot.isEmpty else {
                continue
            }
            return slot.startsFrame && slot.pictureID?.follows(lastPictureID) == true ? number : nil
        }
        return nil
    }

    /// Starts decoding with the first key frame that is complete.
    private mutating func deliverKeyFrame(now: Instant) {
        for start in keyFrameStarts {
            guard case .complete(let end) = assemble(from: start, cursor: start) else { continue }
            dropFrames(upTo: start)
            state = .decoding
            hasBegun = true
            emit(start..<end, now: now)
            return
        }
    }

    /// Copies a complete frame out, and moves on behind it.
    private mutating func emit(_ range: Range<Int64>, now: Instant) {
        guard ready.count < configuration.frameLimit else {
            // Nobody takes the frames; what comes out later must begin with a key frame.
            framesDropped += UInt64(ready.count)
            ready.removeAll()
            giveUp(upTo: range.upperBound, now: now)
            return
        }
        var size = 0
        for number in range { size += slots[index(number)]?.bytes.count ?? 0 }
        var payload: [UInt8] = []
        payload.reserveCapacity(size)
        var frame = ReceivedFrame(
            payload: [], isKeyFrame: false, rtpTimestamp: 0, firstPacketReceivedAt: now, receivedAt: now,
            firstSequenceNumber: range.lowerBound)
        for number in range {
            guard let slot = slots[index(number)] else { continue }
            if number == range.lowerBound {
                frame.isKeyFrame = slot.startsKeyFrame
                frame.rtpTimestamp = slot.timestamp
                lastPictureID = slot.pictureID
            }
            frame.firstPacketReceivedAt = min(frame.firstPacketReceivedAt, slot.receivedAt)
            payload.append(contentsOf: slot.bytes)
        }
        frame.payload = payload
        ready.append(frame)
        release(upTo: range.upperBound)
        cursor = range.upperBound
        blockedSince = nil
    }

    // MARK: Giving up

    /// Lets go of everything before `number`, and waits for a key frame from there on.
    private mutating func giveUp(upTo number: Int64, now: Instant) {
        state = .waitingForKeyFrame
        blockedSince = nil
        dropFrames(upTo: number)
        deliver(now: now)
    }

    /// While nothing can be decoded, only a recent stretch can belong to a key frame whose start is still missing.
    private mutating func trimWhileWaiting() {
        guard let floor, highest >= floor else { return }
        let needed = keyFrameStarts.first ?? highest - Int64(slots.count / 4)
        if needed > floor { dropFrames(upTo: needed) }
    }

    private mutating func makeRoom(for number: Int64, now: Instant) {
        giveUp(upTo: number - Int64(slots.count / 4 * 3), now: now)
        guard let floor, number - floor >= Int64(slots.count) else { return }
        // A key frame that waits in the way of newer packets has waited long enough.
        dropFrames(upTo: number - Int64(slots.count / 4 * 3))
    }

    private mutating func dropFrames(upTo number: Int64) {
        guard let floor, number > floor else { return }
        for position in floor..<min(number, max(floor, highest + 1), floor + Int64(slots.count)) {
            if let slot = slots[index(position)], slot.startsFrame { framesDropped += 1 }
        }
        release(upTo: number)
    }

    /// Frees the packets before `number` and raises the floor to it.
    private mutating func release(upTo number: Int64) {
        guard let floor, number > floor else { return }
        for position in floor..<min(number, floor + Int64(slots.count)) {
            let index = index(position)
            guard var slot = slots[index] else { continue }
            slots[index] = nil
            packetCount -= 1
            byteCount -= slot.bytes.count
            recycle(&slot)
        }
        self.floor = number
        cursor = max(cursor, number)
        keyFrameStarts.removeAll { $0 < number }
    }

    // MARK: Packets

    private func index(_ number: Int64) -> Int {
        Int(truncatingIfNeeded: UInt64(bitPattern: number) % UInt64(slots.count))
    }

    private mutating func parse(_ payload: RawSpan, into slot: inout Slot) {
        let parsed: (descriptor: VP8PayloadDescriptor, byteCount: Int)
        do throws(RTPError) {
            parsed = try VP8PayloadDescriptor.parse(payload)
        } catch {
            return
        }
        slot.isEmpty = false
        slot.startsFrame = parsed.descriptor.startsFrame
        slot.pictureID = slot.startsFrame ? parsed.descriptor.pictureID : nil
        let frame = payload.extracting(parsed.byteCount..<payload.byteCount)
        slot.startsKeyFrame = slot.startsFrame && frame.unsafeLoad(fromByteOffset: 0, as: UInt8.self) & 1 == 0
        slot.bytes = spareBuffers.popLast() ?? []
        frame.withUnsafeBytes { slot.bytes.append(contentsOf: $0) }
    }

    private mutating func recycle(_ slot: inout Slot) {
        guard slot.bytes.capacity > 0 else { return }
        slot.bytes.removeAll(keepingCapacity: true)
        spareBuffers.append(slot.bytes)
        slot.bytes = []
    }

    private mutating func noteKeyFrameStart(_ number: Int64) {
        let position = keyFrameStarts.firstIndex { $0 > number } ?? keyFrameStarts.count
        keyFrameStarts.insert(number, at: position)
        // The newest are worth more than one that never became complete.
        if keyFrameStarts.count > 4 { keyFrameStarts.removeFirst() }
    }
}
