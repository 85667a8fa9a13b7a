import CEmisoraXCB
import Emisora
import Glibc
import Testing

/// A program that draws, inside the test's process but with a connection of its own.
final class Painter {
    private let connection: OpaquePointer
    private let screen: xcb_screen_t
    private let font: UInt32

    init(_ server: XServer) throws {
        connection = try #require(xcb_connect(server.display, nil))
        try #require(xcb_connection_has_error(connection) == 0, "no connection to \(server.display)")
        screen = xcb_setup_roots_iterator(xcb_get_setup(connection)).data.pointee
        font = xcb_generate_id(connection)
        // Built into every X server.
        xcb_open_font(connection, font, 5, "fixed")
        sync()
    }

    deinit {
        xcb_disconnect(connection)
    }

    /// Waits until the server has carried out all requests so far.
    func sync() {
        free(xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection), nil))
    }

    // MARK: Windows

    func makeWindow(
        _ title: String, x: Int, y: Int, width: Int, height: Int, border: Int = 0, color: UInt32 = 0xFFFFFF,
        class: xcb_window_class_t = XCB_WINDOW_CLASS_INPUT_OUTPUT, isMapped: Bool = true
    ) -> UInt32 {
        let id = xcb_generate_id(connection)
        let isOutput = `class` == XCB_WINDOW_CLASS_INPUT_OUTPUT
        var values = [color, 0xFF00FF]
        let mask = XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue
        xcb_create_window(
            connection, 0, id, screen.root, Int16(x), Int16(y), UInt16(width), UInt16(height), UInt16(border),
            UInt16(`class`.rawValue), screen.root_visual, isOutput ? mask : 0, &values)
        setTitle(title, of: id)
        if isMapped { map(id) }
        sync()
        return id
    }

    func setTitle(_ title: String, of id: UInt32) {
        xcb_change_property(
            connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, XCB_ATOM_WM_NAME.rawValue,
            XCB_ATOM_STRING.rawValue, 8, UInt32(title.utf8.count), title)
        sync()
    }

    func map(_ id: UInt32) {
        xcb_map_window(connection, id)
        sync()
    }

    func unmap(_ id: UInt32) {
        xcb_unmap_window(connection, id)
        sync()
    }

    func destroy(_ id: UInt32) {
        xcb_destroy_window(connection, id)
        sync()
    }

    func move(_ id: UInt32, x: Int, y: Int) {
        var values = [UInt32(bitPattern: Int32(x)), UInt32(bitPattern: Int32(y))]
        let mask = XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue
        xcb_configure_window(connection, id, UInt16(mask), &values)
        sync()
    }

    func resize(_ id: UInt32, width: Int, height: Int) {
        var values = [UInt32(width), UInt32(height)]
        let mask = XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue
        xcb_configure_window(connection, id, UInt16(mask), &values)
        sync()
    }

    // MARK: Drawing

    var root: UInt32 { screen.root }

    /// Fills a rectangle; `color` is the pixel's value.
    func fill(_ id: UInt32, x: Int, y: Int, width: Int, height: Int, color: UInt32) {
        withContext(foreground: color, on: id) { context in
            var rectangle = xcb_rectangle_t(x: Int16(x), y: Int16(y), width: UInt16(width), height: UInt16(height))
            xcb_poly_fill_rectangle(connection, id, context, 1, &rectangle)
        }
    }

    /// Writes black on white in the server's fixed font, 6 by 13 pixels a character.
    func write(_ text: String, on id: UInt32, x: Int, y: Int) {
        withContext(foreground: 0, on: id) { context in
            xcb_image_text_8(
                connection, UInt8(text.utf8.count), id, context, Int16(x), Int16(y + Glyphs.ascent), text)
        }
    }

    private func withContext(foreground: UInt32, on id: UInt32, _ body: (UInt32) -> Void) {
        let context = xcb_generate_id(connection)
        var values = [foreground, 0xFFFFFF, font]
        let mask = XCB_GC_FOREGROUND.rawValue | XCB_GC_BACKGROUND.rawValue | XCB_GC_FONT.rawValue
        xcb_create_gc(connection, context, id, mask, &values)
        body(context)
        xcb_free_gc(connection, context)
        sync()
    }

    // MARK: Pointer and monitors

    func warpPointer(x: Int, y: Int) {
        xcb_warp_pointer(connection, 0, screen.root, 0, 0, 0, 0, Int16(x), Int16(y))
        sync()
    }

    /// Gives the window a cursor: a square of 8 pixels in one colour, its hot spot in the middle.
    func setSquareCursor(on id: UInt32, red: Bool) {
        let bitmap = xcb_generate_id(connection)
        xcb_create_pixmap(connection, 1, bitmap, id, 8, 8)
        fill(bitmap, x: 0, y: 0, width: 8, height: 8, color: 1)
        let cursor = xcb_generate_id(connection)
        xcb_create_cursor(
            connection, cursor, bitmap, bitmap, red ? 0xFFFF : 0, red ? 0 : 0xFFFF, 0, 0, 0, 0, 4, 4)
        var value = cursor
        xcb_change_window_attributes(connection, id, XCB_CW_CURSOR.rawValue, &value)
        sync()
    }

    /// Written out (RandR 1.5, RRSetMonitor), since `xcb_randr_set_monitor` of libxcb 1.15 breaks the connection.
    func setMonitor(_ name: String, x: Int, y: Int, width: Int, height: Int) throws {
        let extensionCode = try #require(emisora_xcb_randr(connection)).pointee.major_opcode
        var request = [UInt32](repeating: 0, count: 8)
        // The opcode and the length are filled in by xcb.
        request.withUnsafeMutableBytes { $0[1] = UInt8(XCB_RANDR_SET_MONITOR) }
        request[1] = screen.root
        request[2] = try atom(name)
        request[4] = UInt32(x) | UInt32(y) << 16
        request[5] = UInt32(width) | UInt32(height) << 16
        (request[6], request[7]) = (100, 100)
        request.withUnsafeMutableBytes { bytes in
            var info = xcb_protocol_request_t(count: 1, ext: nil, opcode: extensionCode, isvoid: 1)
            // xcb puts its own parts into the two places before the first.
            var parts = [iovec](repeating: iovec(), count: 3)
            parts[2] = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            parts.withUnsafeMutableBufferPointer { parts in
                _ = xcb_send_request(connection, 0, parts.baseAddress.map { $0 + 2 }, &info)
            }
        }
        sync()
    }

    /// Gives a monitor another place, at once for all programs: while the server is grabbed no other sees it missing.
    func moveMonitor(_ name: String, x: Int, y: Int, width: Int, height: Int) throws {
        xcb_grab_server(connection)
        defer {
            xcb_ungrab_server(connection)
            sync()
        }
        try deleteMonitor(name)
        try setMonitor(name, x: x, y: y, width: width, height: height)
    }

    func deleteMonitor(_ name: String) throws {
        xcb_randr_delete_monitor(connection, screen.root, try atom(name))
        sync()
    }

    private func atom(_ name: String) throws -> UInt32 {
        let cookie = xcb_intern_atom(connection, 0, UInt16(name.utf8.count), name)
        let reply = try #require(xcb_intern_atom_reply(connection, cookie, nil))
        defer { free(reply) }
        return reply.pointee.atom
    }
}
