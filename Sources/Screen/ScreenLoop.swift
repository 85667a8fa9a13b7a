import CEmisoraXCB
import EmisoraCapture
import EmisoraCore
import EmisoraVideo
import Glibc

/// Follows a source and hands its pictures over; confined to the run's thread.
final class ScreenLoop {
    /// How often in a row the server may refuse the picture: its place may be changing.
    private static let refusalLimit = 20

    private let x: XConnection
    private let options: ScreenOptions
    private let consumer: VideoCaptureConsumer
    private let source: TrackedSource
    private let grabber: ImageGrabber
    private let cursor: CursorTracker?
    private var schedule: GrabSchedule
    private var lastPicture: VideoFrame?
    private var lastArea: GrabArea?
    private var refusals = 0

    init(_ x: XConnection, _ options: ScreenOptions, _ consumer: VideoCaptureConsumer) throws(ScreenError) {
        self.x = x
        self.options = options
        self.consumer = consumer
        source = try TrackedSource(x, options.source)
        grabber = ImageGrabber(x, frameRate: options.frameRate, consumer: consumer)
        cursor =
            options.showsCursor
            ? CursorTracker(
                x, firstEvent: try x.requireExtension(emisora_xcb_xfixes(x.handle), "XFIXES", for: "the cursor"))
            : nil
        schedule = GrabSchedule(
            interval: options.frameRate.interval, keepAlive: options.keepAlive, followsPointer: options.showsCursor)
        schedule.isVisible = source.area != nil
    }

    var format: VideoFormat { source.format(frameRate: options.frameRate) }

    /// Goes on until the run is over.
    ///
    /// - Parameter report: Told of each new format.
    /// - Throws: When the source has ended.
    func run(isOver: () -> Bool, report: (VideoFormat) -> Void) throws(ScreenError) {
        while !isOver() {
            if try handleEvents() { report(format) }
            let wanted = consumer.wants.highestFrameRate.map(\.interval) ?? .zero
            schedule.interval = max(options.frameRate.interval, wanted)
            let now = MonotonicClock.now
            switch schedule.next(at: now) {
            case .grab: try grab(at: now, isOver)
            case .repeatPicture: repeatPicture(at: now)
            case .lookAtPointer: lookAtPointer(at: now)
            case .wait(let deadline): wait(until: deadline)
            }
        }
    }

    /// Handles what has come from the server.
    ///
    /// - Returns: Whether the source's place or size may have changed.
    private func handleEvents() throws(ScreenError) -> Bool {
        var hasMoved = false
        while let event = x.pollEvent() {
            if let cursor, cursor.handle(event) {
                schedule.damaged()
                continue
            }
            switch try source.handle(event) {
            case .damaged: schedule.damaged()
            case .moved: hasMoved = true
            case nil: break
            }
        }
        if x.isBroken { throw x.gone }
        guard hasMoved else { return false }
        let before = source.area
        try source.refresh()
        schedule.isVisible = source.area != nil
        if source.area != before { schedule.damaged() }
        return true
    }

    private func grab(at now: Instant, _ isOver: () -> Bool) throws(ScreenError) {
        guard let area = source.area else {
            schedule.isVisible = false
            return
        }
        schedule.grabbing(at: now)
        let pointerMoved = lookAtPointer(in: area)
        cursor?.refreshShape()
        guard source.takeDamage() || pointerMoved || lastArea != area else { return }
        do throws(GrabFailure) {
            let picture = try grabber.grab(area, at: now) { cursor?.draw(into: $0, $1) }
            refusals = 0
            lastPicture = picture
            lastArea = area
            // After `stop` no frame arrives.
            guard !isOver() else { return }
            offer(picture, at: now)
        } catch {
            schedule.grabFailed()
            // The damage is taken, the picture is not.
            lastArea = nil
            try handle(error)
        }
    }

    private func handle(_ failure: GrabFailure) throws(ScreenError) {
        switch failure {
        case .noBuffer: consumer.didDrop(.noBuffer)
        case .picture(let error): throw .picture(error)
        case .server(.connectionLost): throw x.gone
        case .server(.refused(let code)):
            refusals += 1
            guard refusals < Self.refusalLimit else { throw .imageRefused(code: code) }
            try source.refresh()
            schedule.isVisible = source.area != nil
        }
    }

    private func repeatPicture(at now: Instant) {
        guard var picture = lastPicture else { return }
        picture.timestamp = now
        offer(picture, at: now)
    }

    private func offer(_ picture: VideoFrame, at now: Instant) {
        let reception: GrabSchedule.Reception =
            switch consumer.consume(picture) {
            case .accepted: .accepted
            case .dropped(.noSubscribers), .dropped(.paused), .dropped(.captureStopped): .unwatched
            case .dropped: .refused
            }
        schedule.offered(at: now, reception)
    }

    private func lookAtPointer(at now: Instant) {
        guard let area = source.area else { return }
        schedule.looked(at: now, pointerMoved: lookAtPointer(in: area))
    }

    private func lookAtPointer(in area: GrabArea) -> Bool {
        guard let cursor else { return false }
        let (window, offset) = source.pointerOrigin
        return cursor.look(from: window, offset: offset, in: area)
    }

    /// Sleeps until the server sends something, `deadline`, or the end of the connection.
    private func wait(until deadline: Instant) {
        x.flush()
        let left = (deadline - MonotonicClock.now).nanoseconds
        // Rounded up, so that the deadline has passed; far ones are waited for in parts.
        let milliseconds = min(max(0, left), 60_000_000_000) / 1_000_000 + 1
        var descriptor = pollfd(fd: x.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, Int32(milliseconds))
    }
}
