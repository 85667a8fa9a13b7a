import CEmisoraXCB
import EmisoraVideo

/// What is captured, followed through its changes: where its picture lies at present, and when it is damaged.
final class TrackedSource {
    enum Change {
        /// There is something new to see.
        case damaged
        /// Its place, size or visibility may be another.
        case moved
    }

    private enum Kind {
        case screen
        case monitor(String)
        case window(UInt32)
    }

    /// Where the picture is; `nil` while there is none, as of a minimised window.
    private(set) var area: GrabArea?
    private let x: XConnection
    private let kind: Kind
    private let layout: PixelLayout
    private let damage: UInt32
    private let damageEvent: UInt8
    private let randrEvent: UInt8?
    /// Receives what was damaged, where only a part of the drawable counts.
    private let region: UInt32
    private var damageTaken: UInt32?
    private var pixmap: UInt32?
    private var lastSize: VideoSize

    /// - Throws: If there is no such source, or it cannot be captured.
    init(_ x: XConnection, _ source: ScreenSource) throws(ScreenError) {
        self.x = x
        let purpose = "following the screen"
        damageEvent = try x.requireExtension(emisora_xcb_damage(x.handle), "DAMAGE", for: purpose)
        _ = try x.requireExtension(emisora_xcb_xfixes(x.handle), "XFIXES", for: purpose)
        let fixesCookie = xcb_xfixes_query_version(x.handle, 5, 0)
        let damageCookie = xcb_damage_query_version(x.handle, 1, 1)
        guard (try? x.reply { xcb_xfixes_query_version_reply($0, fixesCookie, $1) }) != nil,
            (try? x.reply { xcb_damage_query_version_reply($0, damageCookie, $1) }) != nil
        else { throw x.gone }
        kind = try Self.resolve(source, x)
        let (drawable, visual, size) = try Self.describe(kind, x)
        layout = try Self.layout(of: visual, x)
        lastSize = size
        damage = x.newIdentifier()
        region = x.newIdentifier()
        randrEvent = try Self.select(kind, x)
        let level = UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue)
        do throws(XFailure) {
            try x.check(xcb_damage_create_checked(x.handle, damage, drawable, level))
            try x.check(xcb_xfixes_create_region_checked(x.handle, region, 0, nil))
        } catch {
            throw Self.error(error, of: kind, x)
        }
        try refresh()
    }

    /// The format of its frames at present, or as they were last.
    func format(frameRate: FrameRate) -> VideoFormat {
        layout.format(width: lastSize.width, height: lastSize.height, frameRate: frameRate)
    }

    /// What the pointer's position is counted from.
    var pointerOrigin: (window: UInt32, offset: CursorTracker.Position) {
        switch kind {
        case .screen: (x.root.root, .init(x: 0, y: 0))
        case .monitor: (x.root.root, .init(x: Int(area?.x ?? 0), y: Int(area?.y ?? 0)))
        case .window(let id): (id, .init(x: 0, y: 0))
        }
    }

    // MARK: Following

    /// - Throws: If the event is the end of the source.
    func handle(_ event: borrowing XEvent) throws(ScreenError) -> Change? {
        if event.kind == damageEvent &+ UInt8(XCB_DAMAGE_NOTIFY) {
            // One that was on its way when the damage was taken is in the picture that was grabbed since.
            if let damageTaken, Int32(bitPattern: event.sequence &- damageTaken) < 0 { return nil }
            // A window below a parent that was hidden is told of by nothing else.
            return area == nil ? .moved : .damaged
        }
        if let randrEvent, event.kind == randrEvent || event.kind == randrEvent &+ UInt8(XCB_RANDR_NOTIFY) {
            return .moved
        }
        switch Int32(event.kind) {
        case XCB_CONFIGURE_NOTIFY, XCB_MAP_NOTIFY, XCB_UNMAP_NOTIFY, XCB_REPARENT_NOTIFY:
            return .moved
        case XCB_DESTROY_NOTIFY:
            guard case .window(let id) = kind,
                event.fields(as: xcb_destroy_notify_event_t.self).window == id
            else { return nil }
            throw .windowClosed(id: id)
        default: return nil
        }
    }

    /// Takes note of where the source is now.
    func refresh() throws(ScreenError) {
        switch kind {
        case .screen:
            let size = try Self.describe(kind, x).size
            area = GrabArea(drawable: x.root.root, x: 0, y: 0, width: size.width, height: size.height, layout: layout)
        case .monitor(let name):
            guard let monitor = try x.monitors().first(where: { $0.name == name }) else {
                throw .monitorRemoved(name)
            }
            // A monitor may reach beyond the screen while both are being changed.
            let screen = try Self.describe(.screen, x).size
            let left = max(0, monitor.x)
            let top = max(0, monitor.y)
            let width = min(monitor.x + monitor.width, screen.width) - left
            let height = min(monitor.y + monitor.height, screen.height) - top
            guard width > 0, height > 0 else {
                area = nil
                return
            }
            area = GrabArea(
                drawable: x.root.root, x: Int16(clamping: left), y: Int16(clamping: top), width: width, height: height,
                layout: layout)
        case .window(let id):
            try refreshWindow(id)
        }
        guard let area else { return }
        do throws(VideoFrameError) {
            try layout.format(width: area.width, height: area.height, frameRate: 1).validate()
        } catch {
            throw .picture(error)
        }
        lastSize = VideoSize(width: area.width, height: area.height)
    }

    /// A window is grabbed from its own pixmap, which is whole wherever the window is, and new with each size.
    private func refreshWindow(_ id: UInt32) throws(ScreenError) {
        if let pixmap { xcb_free_pixmap(x.handle, pixmap) }
        pixmap = nil
        area = nil
        let name = x.newIdentifier()
        do throws(XFailure) {
            try x.check(xcb_composite_name_window_pixmap_checked(x.handle, id, name))
        } catch .connectionLost {
            throw x.gone
        } catch {
            // Hidden, or closed: then the event that says so is on its way.
            return
        }
        pixmap = name
        let cookie = xcb_get_geometry(x.handle, name)
        let windowCookie = xcb_get_geometry(x.handle, id)
        let whole = try? x.reply { xcb_get_geometry_reply($0, cookie, $1) }
        let window = try? x.reply { xcb_get_geometry_reply($0, windowCookie, $1) }
        guard let whole, let window else { return }
        // The pixmap has the border around the window. Its size counts: the window may have changed meanwhile.
        let border = Int(window.value.border_width)
        let width = Int(whole.value.width) - 2 * border
        let height = Int(whole.value.height) - 2 * border
        guard width > 0, height > 0 else { return }
        area = GrabArea(
            drawable: name, x: Int16(clamping: border), y: Int16(clamping: border), width: width, height: height,
            layout: layout)
    }

    /// Takes the damage up to here, so that the next is told of.
    ///
    /// - Returns: Whether it touches the picture.
    func takeDamage() -> Bool {
        guard case .monitor = kind, let area else {
            damageTaken = xcb_damage_subtract(x.handle, damage, 0, 0).sequence
            return true
        }
        damageTaken = xcb_damage_subtract(x.handle, damage, 0, region).sequence
        let cookie = xcb_xfixes_fetch_region(x.handle, region)
        guard let answer = try? x.reply({ xcb_xfixes_fetch_region_reply($0, cookie, $1) }) else { return true }
        let left = Int(area.x)
        let top = Int(area.y)
        return answer.withPayload { bytes in
            bytes.bindMemory(to: xcb_rectangle_t.self).contains {
                Int($0.x) < left + area.width && Int($0.x) + Int($0.width) > left
                    && Int($0.y) < top + area.height && Int($0.y) + Int($0.height) > top
            }
        }
    }

    // MARK: Resolving

    private static func resolve(_ source: ScreenSource, _ x: XConnection) throws(ScreenError) -> Kind {
        switch source {
        case .screen: return .screen
        case .window(let id): return .window(id)
        case .monitor(let name):
            let monitors = try x.monitors()
            guard monitors.contains(where: { $0.name == name }) else {
                throw .monitorNotFound(name, available: monitors.map(\.name))
            }
            return .monitor(name)
        case .windowTitled(let title):
            let windows = x.windows()
            if x.isBroken { throw x.gone }
            let exact = windows.filter { $0.title == title }
            let candidates = exact.isEmpty ? windows.filter { $0.title.contains(title) } : exact
            guard let first = candidates.first, !title.isEmpty else {
                throw .windowNotFound(title, titles: windows.map(\.title).filter { !$0.isEmpty })
            }
            guard candidates.count == 1 else { throw .windowAmbiguous(title, ids: candidates.map(\.id)) }
            return .window(first.id)
        }
    }

    private static func describe(
        _ kind: Kind, _ x: XConnection
    ) throws(ScreenError) -> (drawable: UInt32, visual: xcb_visualid_t, size: VideoSize) {
        var id = x.root.root
        if case .window(let window) = kind { id = window }
        let attributesCookie = xcb_get_window_attributes(x.handle, id)
        let geometryCookie = xcb_get_geometry(x.handle, id)
        do throws(XFailure) {
            let attributes = try x.reply { xcb_get_window_attributes_reply($0, attributesCookie, $1) }
            let geometry = try x.reply { xcb_get_geometry_reply($0, geometryCookie, $1) }
            guard UInt32(attributes.value._class) == XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue else {
                throw XFailure.refused(code: Int(XCB_MATCH))
            }
            let size = VideoSize(width: Int(geometry.value.width), height: Int(geometry.value.height))
            return (id, attributes.value.visual, size)
        } catch {
            throw self.error(error, of: kind, x)
        }
    }

    private static func layout(of id: xcb_visualid_t, _ x: XConnection) throws(ScreenError) -> PixelLayout {
        guard let (visual, depth) = x.visual(id), let format = x.imageFormat(depth: depth) else {
            throw .unsupportedVisual(depth: 0, bitsPerPixel: 0)
        }
        let isTrueColor = UInt32(visual._class) == XCB_VISUAL_CLASS_TRUE_COLOR.rawValue
        let masks = ColorMasks(red: visual.red_mask, green: visual.green_mask, blue: visual.blue_mask)
        return try PixelLayout(
            depth: Int(depth), bitsPerPixel: Int(format.bits_per_pixel), scanlinePad: Int(format.scanline_pad),
            masks: isTrueColor ? masks : nil, isBigEndian: x.isBigEndian)
    }

    /// Asks for the events that tell of changes.
    ///
    /// - Returns: RandR's first event, if there is RandR.
    private static func select(_ kind: Kind, _ x: XConnection) throws(ScreenError) -> UInt8? {
        var structure = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue
        let id: UInt32
        if case .window(let window) = kind { id = window } else { id = x.root.root }
        do throws(XFailure) {
            let mask = XCB_CW_EVENT_MASK.rawValue
            try x.check(xcb_change_window_attributes_checked(x.handle, id, mask, &structure))
        } catch {
            throw Self.error(error, of: kind, x)
        }
        guard case .window = kind else {
            guard let found = emisora_xcb_randr(x.handle), found.pointee.present != 0 else { return nil }
            let events =
                XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE.rawValue | XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE.rawValue
                | XCB_RANDR_NOTIFY_MASK_OUTPUT_CHANGE.rawValue
            xcb_randr_select_input(x.handle, x.root.root, UInt16(events))
            return found.pointee.first_event
        }
        let purpose = "capturing one window"
        _ = try x.requireExtension(emisora_xcb_composite(x.handle), "Composite", for: purpose)
        let cookie = xcb_composite_query_version(x.handle, 0, 4)
        guard let version = try? x.reply({ xcb_composite_query_version_reply($0, cookie, $1) }),
            (version.value.major_version, version.value.minor_version) >= (0, 2)
        else { throw x.isBroken ? x.gone : .extensionMissing("Composite 0.2", purpose: purpose) }
        do throws(XFailure) {
            let update = UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue)
            try x.check(xcb_composite_redirect_window_checked(x.handle, id, update))
        } catch {
            throw Self.error(error, of: kind, x)
        }
        return nil
    }

    private static func error(_ failure: XFailure, of kind: Kind, _ x: XConnection) -> ScreenError {
        switch (failure, kind) {
        case (.connectionLost, _): x.gone
        case (.refused(let code), .window(let id)):
            code == Int(XCB_MATCH)
                ? .windowInvisible(id: id)
                : .windowNotFound(ScreenError.hex(id), titles: x.windows().map(\.title).filter { !$0.isEmpty })
        case (.refused(let code), _): .imageRefused(code: code)
        }
    }
}
