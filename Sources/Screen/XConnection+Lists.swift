import CEmisoraXCB

/// Monitors and windows of the display.
extension XConnection {
    /// Asks for versions, without which the extensions refuse all else.
    func requireExtension(
        _ found: UnsafePointer<xcb_query_extension_reply_t>?, _ name: String, for purpose: String
    ) throws(ScreenError) -> UInt8 {
        if isBroken { throw gone }
        guard let found, found.pointee.present != 0 else { throw .extensionMissing(name, purpose: purpose) }
        return found.pointee.first_event
    }

    // MARK: Monitors

    func monitors() throws(ScreenError) -> [ScreenMonitor] {
        let purpose = "choosing a monitor"
        _ = try requireExtension(emisora_xcb_randr(handle), "RANDR", for: purpose)
        let versionCookie = xcb_randr_query_version(handle, 1, 5)
        guard let version = try? reply({ xcb_randr_query_version_reply($0, versionCookie, $1) }),
            (version.value.major_version, version.value.minor_version) >= (1, 5)
        else { throw isBroken ? gone : .extensionMissing("RANDR 1.5", purpose: purpose) }
        let cookie = xcb_randr_get_monitors(handle, root.root, 1)
        guard let answer = try? reply({ xcb_randr_get_monitors_reply($0, cookie, $1) }) else { throw gone }
        let end = UnsafeRawPointer(answer.pointer) + answer.byteCount
        var found: [(name: xcb_atom_t, monitor: xcb_randr_monitor_info_t)] = []
        var iterator = xcb_randr_get_monitors_monitors_iterator(answer.pointer)
        while iterator.rem > 0, let data = iterator.data,
            end - UnsafeRawPointer(data) >= MemoryLayout<xcb_randr_monitor_info_t>.size
        {
            found.append((data.pointee.name, data.pointee))
            xcb_randr_monitor_info_next(&iterator)
        }
        return found.map { name, monitor in
            ScreenMonitor(
                name: atomName(name), x: Int(monitor.x), y: Int(monitor.y), width: Int(monitor.width),
                height: Int(monitor.height), isPrimary: monitor.primary != 0)
        }
    }

    private func atomName(_ atom: xcb_atom_t) -> String {
        let cookie = xcb_get_atom_name(handle, atom)
        guard let answer = try? reply({ xcb_get_atom_name_reply($0, cookie, $1) }) else { return "" }
        return answer.withPayload { String(decoding: $0.prefix(Int(answer.value.name_len)), as: UTF8.self) }
    }

    // MARK: Windows

    /// The most windows that are looked at; more would be a fault of the server's.
    private static let windowLimit = 4096
    /// How deep below the root a window with a title is looked for: window managers put frames around it.
    private static let depthLimit = 5

    /// The windows that a person would call so: those the window manager names, or else all that have a title.
    func windows() -> [ScreenWindow] {
        let managed = cardinals("_NET_CLIENT_LIST", of: root.root)
        if !managed.isEmpty { return managed.prefix(Self.windowLimit).compactMap { window($0) } }
        var found: [ScreenWindow] = []
        var level = children(of: root.root)
        var seen = 0
        for _ in 0..<Self.depthLimit where !level.isEmpty {
            var below: [UInt32] = []
            for id in level where seen < Self.windowLimit {
                seen += 1
                if let window = window(id), !window.title.isEmpty {
                    found.append(window)
                } else {
                    below += children(of: id)
                }
            }
            level = below
        }
        return found
    }

    /// What the window is; `nil` if there is none, or it shows nothing ever.
    private func window(_ id: UInt32) -> ScreenWindow? {
        let attributesCookie = xcb_get_window_attributes(handle, id)
        let geometryCookie = xcb_get_geometry(handle, id)
        let attributes = try? reply { xcb_get_window_attributes_reply($0, attributesCookie, $1) }
        let geometry = try? reply { xcb_get_geometry_reply($0, geometryCookie, $1) }
        guard let attributes, let geometry, UInt32(attributes.value._class) == XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue
        else { return nil }
        return ScreenWindow(
            id: id, title: title(of: id), width: Int(geometry.value.width), height: Int(geometry.value.height),
            isVisible: UInt32(attributes.value.map_state) == XCB_MAP_STATE_VIEWABLE.rawValue)
    }

    private func title(of id: UInt32) -> String {
        let bytes = property("_NET_WM_NAME", of: id)
        if !bytes.isEmpty { return String(decoding: bytes, as: UTF8.self) }
        // The older property is in Latin-1 as a rule, whose bytes are the first scalars of Unicode.
        var title = String.UnicodeScalarView()
        title.append(contentsOf: property("WM_NAME", of: id).map { Unicode.Scalar($0) })
        return String(title)
    }

    private func children(of id: UInt32) -> [UInt32] {
        let cookie = xcb_query_tree(handle, id)
        guard let answer = try? reply({ xcb_query_tree_reply($0, cookie, $1) }) else { return [] }
        return answer.withPayload { Array($0.bindMemory(to: UInt32.self).prefix(Int(answer.value.children_len))) }
    }

    private func cardinals(_ name: String, of id: UInt32) -> [UInt32] {
        property(name, of: id, limit: Self.windowLimit * 4).withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
        }
    }

    /// The bytes of a property, at most `limit`; none if there is no such property.
    private func property(_ name: String, of id: UInt32, limit: Int = 1024) -> [UInt8] {
        let atomCookie = name.withCString { xcb_intern_atom(handle, 1, UInt16(clamping: name.utf8.count), $0) }
        guard let atom = try? reply({ xcb_intern_atom_reply($0, atomCookie, $1) }), atom.value.atom != 0 else {
            return []
        }
        let cookie = xcb_get_property(
            handle, 0, id, atom.value.atom, XCB_GET_PROPERTY_TYPE_ANY.rawValue, 0, UInt32(clamping: limit / 4))
        guard let answer = try? reply({ xcb_get_property_reply($0, cookie, $1) }) else { return [] }
        let unit = Int(answer.value.format / 8)
        let (count, overflow) = Int(answer.value.value_len).multipliedReportingOverflow(by: unit)
        return overflow ? [] : answer.withPayload { Array($0.prefix(count)) }
    }
}
