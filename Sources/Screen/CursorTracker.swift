import CEmisoraXCB
import EmisoraVideo

/// Knows the cursor's shape, and where the pointer is in the picture.
final class CursorTracker {
    private let x: XConnection
    private let firstEvent: UInt8
    private var shape: CursorImage?
    private var isShapeStale = true
    private(set) var position: Position?

    /// Of the pointer, from the picture's top left corner.
    struct Position: Equatable {
        var x: Int
        var y: Int
    }

    /// - Parameter firstEvent: Of the XFixes extension.
    init(_ x: XConnection, firstEvent: UInt8) {
        self.x = x
        self.firstEvent = firstEvent
        xcb_xfixes_select_cursor_input(x.handle, x.root.root, XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue)
    }

    /// Whether the event tells of another shape.
    func handle(_ event: borrowing XEvent) -> Bool {
        guard event.kind == firstEvent &+ UInt8(XCB_XFIXES_CURSOR_NOTIFY) else { return false }
        isShapeStale = true
        return true
    }

    /// Asks where the pointer is.
    ///
    /// - Parameters:
    ///   - window: What the position is counted from, less `offset`.
    /// - Returns: Whether it has moved, as far as the picture shows.
    func look(from window: UInt32, offset: Position, in area: GrabArea) -> Bool {
        let cookie = xcb_query_pointer(x.handle, window)
        let reply = try? x.reply { xcb_query_pointer_reply($0, cookie, $1) }
        var found: Position?
        if let reply, reply.value.same_screen != 0 {
            found = Position(x: Int(reply.value.win_x) - offset.x, y: Int(reply.value.win_y) - offset.y)
        }
        // A pointer elsewhere is nowhere, so that its movements there cost nothing.
        if let place = found, !(0..<area.width).contains(place.x) || !(0..<area.height).contains(place.y) {
            found = nil
        }
        defer { position = found }
        return found != position
    }

    /// Brings the shape up to date.
    func refreshShape() {
        guard isShapeStale, position != nil else { return }
        isShapeStale = false
        let cookie = xcb_xfixes_get_cursor_image(x.handle)
        // An error stands for a server that shows no cursor at present.
        guard let reply = try? x.reply({ xcb_xfixes_get_cursor_image_reply($0, cookie, $1) }) else {
            shape = nil
            return
        }
        shape = CursorImage(
            width: Int(reply.value.width), height: Int(reply.value.height), hotspotX: Int(reply.value.xhot),
            hotspotY: Int(reply.value.yhot), pixels: reply.withPayload { [UInt32]($0.bindMemory(to: UInt32.self)) })
    }

    /// Draws the cursor on a picture.
    func draw(into bytes: UnsafeMutableRawBufferPointer, _ format: VideoFormat) {
        guard let shape, let position else { return }
        shape.draw(into: bytes, format, x: position.x, y: position.y)
    }
}
