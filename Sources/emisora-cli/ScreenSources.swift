import Emisora
import EmisoraScreen

/// What stands behind the colon of `screen:`.
enum ScreenSources {
    static func make(_ name: String, _ frameRate: FrameRate) throws(CaptureError) -> ScreenCapture {
        do throws(ScreenError) {
            if name.isEmpty { return try ScreenCapture(frameRate: frameRate) }
            if isDisplay(name) { return try ScreenCapture(display: name, frameRate: frameRate) }
            let source: ScreenSource
            if name.hasPrefix("0x"), let id = UInt32(name.dropFirst(2), radix: 16) {
                source = .window(id: id)
            } else if let monitors = try? ScreenCapture.monitors(), monitors.contains(where: { $0.name == name }) {
                source = .monitor(name)
            } else {
                source = .windowTitled(name)
            }
            return try ScreenCapture(source, frameRate: frameRate)
        } catch {
            throw .custom(error)
        }
    }

    /// Whether the name is a display's, `[HOST]:NUMBER[.SCREEN]`, and so none of a monitor or window.
    private static func isDisplay(_ name: String) -> Bool {
        guard let colon = name.lastIndex(of: ":") else { return false }
        let numbers = name[name.index(after: colon)...].split(separator: ".", omittingEmptySubsequences: false)
        return !name.contains(" ") && (1...2).contains(numbers.count) && numbers.allSatisfy { UInt16($0) != nil }
    }
}
