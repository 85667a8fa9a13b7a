import CEmisoraXCB
import Glibc

/// A connection to an X server; the one owner of its handle.
final class XConnection: @unchecked Sendable {
    // Invariant: xcb locks the connection itself, and the handle lives as long as this object.

    let handle: OpaquePointer
    let display: String
    /// The screen that the display's name means.
    let root: xcb_screen_t
    private let screenIndex: Int

    /// - Parameter name: `nil` for the one that the environment names.
    init(display name: String?) throws(ScreenError) {
        guard let display = name ?? Self.variable("DISPLAY"), !display.isEmpty else {
            throw .noDisplay(isWaylandSession: Self.variable("WAYLAND_DISPLAY") != nil)
        }
        self.display = display
        var screenNumber: Int32 = 0
        // Never NULL; a failed connection is an object, too, and must be given back.
        guard let handle = xcb_connect(display, &screenNumber) else { throw .cannotConnect(display: display) }
        let screen: xcb_screen_t?
        switch xcb_connection_has_error(handle) {
        case 0: screen = Self.screen(Int(screenNumber), of: handle)
        case XCB_CONN_CLOSED_PARSE_ERR:
            xcb_disconnect(handle)
            throw .malformedDisplay(display)
        case XCB_CONN_CLOSED_INVALID_SCREEN: screen = nil
        default:
            xcb_disconnect(handle)
            throw .cannotConnect(display: display)
        }
        guard let screen else {
            xcb_disconnect(handle)
            throw .noSuchScreen(display: display)
        }
        self.handle = handle
        root = screen
        screenIndex = Int(screenNumber)
    }

    deinit {
        xcb_disconnect(handle)
    }

    var isBroken: Bool { xcb_connection_has_error(handle) != 0 }
    var descriptor: Int32 { xcb_get_file_descriptor(handle) }

    /// Breaks the connection, so that a thread that waits for the server, even for one that hangs, goes on at once.
    func shutDown() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Whether descriptors can be passed to and from the server.
    var isLocalSocket: Bool {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return code == 0 && Int32(address.ss_family) == AF_UNIX
    }

    /// Waits for the answer to a request: `try x.reply { xcb_get_geometry_reply($0, cookie, $1) }`.
    func reply<Value>(
        _ fetch: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<xcb_generic_error_t>?>)
            -> UnsafeMutablePointer<Value>?
    ) throws(XFailure) -> XReply<Value> {
        var error: UnsafeMutablePointer<xcb_generic_error_t>?
        if let pointer = fetch(handle, &error) { return XReply(pointer) }
        guard let error else { throw .connectionLost }
        defer { free(error) }
        throw .refused(code: Int(error.pointee.error_code))
    }

    /// Waits until the server has carried out a request without an answer.
    func check(_ cookie: xcb_void_cookie_t) throws(XFailure) {
        if let error = xcb_request_check(handle, cookie) {
            defer { free(error) }
            throw .refused(code: Int(error.pointee.error_code))
        }
        if isBroken { throw .connectionLost }
    }

    func flush() {
        xcb_flush(handle)
    }

    /// The next event that has come, if there is one.
    func pollEvent() -> XEvent? {
        xcb_poll_for_event(handle).map(XEvent.init)
    }

    func newIdentifier() -> UInt32 { xcb_generate_id(handle) }

    /// What an end of the connection means to the user.
    var gone: ScreenError { .serverGone(display: display) }

    /// The visual of that identifier on this screen, with its depth.
    func visual(_ id: xcb_visualid_t) -> (visual: xcb_visualtype_t, depth: UInt8)? {
        guard let setup = xcb_get_setup(handle) else { return nil }
        var screens = xcb_setup_roots_iterator(setup)
        for _ in 0..<screenIndex where screens.rem > 0 { xcb_screen_next(&screens) }
        guard screens.rem > 0 else { return nil }
        var depths = xcb_screen_allowed_depths_iterator(screens.data)
        while depths.rem > 0 {
            var visuals = xcb_depth_visuals_iterator(depths.data)
            while visuals.rem > 0 {
                if visuals.data.pointee.visual_id == id { return (visuals.data.pointee, depths.data.pointee.depth) }
                xcb_visualtype_next(&visuals)
            }
            xcb_depth_next(&depths)
        }
        return nil
    }

    /// How images of a depth lie in memory.
    func imageFormat(depth: UInt8) -> xcb_format_t? {
        guard let setup = xcb_get_setup(handle) else { return nil }
        var formats = xcb_setup_pixmap_formats_iterator(setup)
        while formats.rem > 0 {
            if formats.data.pointee.depth == depth { return formats.data.pointee }
            xcb_format_next(&formats)
        }
        return nil
    }

    var isBigEndian: Bool {
        xcb_get_setup(handle).map { UInt32($0.pointee.image_byte_order) == XCB_IMAGE_ORDER_MSB_FIRST.rawValue } ?? false
    }

    private static func screen(_ number: Int, of handle: OpaquePointer) -> xcb_screen_t? {
        guard number >= 0, let setup = xcb_get_setup(handle) else { return nil }
        var screens = xcb_setup_roots_iterator(setup)
        for _ in 0..<number where screens.rem > 0 { xcb_screen_next(&screens) }
        return screens.rem > 0 ? screens.data.pointee : nil
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// Why a request had no answer.
enum XFailure: Error, Equatable {
    /// The server's error code.
    case refused(code: Int)
    case connectionLost
}

/// An answer of the server, freed with this value.
struct XReply<Value>: ~Copyable {
    let pointer: UnsafeMutablePointer<Value>

    fileprivate init(_ pointer: UnsafeMutablePointer<Value>) {
        self.pointer = pointer
    }

    deinit {
        free(pointer)
    }

    var value: Value { pointer.pointee }

    /// The bytes that the server sent: a fixed head of 32, and what its length field counts. Counts inside an answer
    /// are the server's word and held against this.
    var byteCount: Int {
        let length = UnsafeRawPointer(pointer).load(fromByteOffset: 4, as: UInt32.self)
        return 32 + 4 * Int(length)
    }

    /// Calls `body` with the bytes behind the head.
    func withPayload<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: UnsafeRawPointer(pointer) + 32, count: byteCount - 32))
    }
}

/// An event, freed with this value.
struct XEvent: ~Copyable {
    private let pointer: UnsafeMutablePointer<xcb_generic_event_t>

    fileprivate init(_ pointer: UnsafeMutablePointer<xcb_generic_event_t>) {
        self.pointer = pointer
    }

    deinit {
        free(pointer)
    }

    /// 0 for an error of an earlier request.
    var kind: UInt8 { pointer.pointee.response_type & 0x7F }

    /// The number of the last request that the server had carried out when it sent this.
    var sequence: UInt32 { pointer.pointee.full_sequence }

    /// The event's fields; all events that are asked for have 32 bytes.
    func fields<Value>(as type: Value.Type) -> Value {
        precondition(MemoryLayout<Value>.size <= 32, "\(type) is longer than an event")
        return UnsafeRawPointer(pointer).loadUnaligned(as: type)
    }
}
