import EmisoraCapture
import EmisoraVideo

/// The probe's command line: `camera-probe --size 320x180 --fps 15 --format NV12 --seconds 5`.
struct ProbeArguments {
    static let usage = """
        usage: camera-probe [--device NAME] [--size WxH] [--fps N] [--format FOURCC] [--seconds N]
               camera-probe publish URL [--device NAME] [--size WxH] [--fps N]
               camera-probe watch URL
               camera-probe stalls
        Captures, tells events on standard error, and prints figures as JSON. Ends after --seconds, or on SIGTERM.
        """

    /// The second word of a command that goes to a server.
    static func url(_ words: [String]) throws(Malformed) -> String {
        guard words.count >= 2 else { throw Malformed(description: "a URL is missing") }
        return words[1]
    }

    struct Malformed: Error, CustomStringConvertible {
        var description: String
    }

    var device: String?
    var wish = CameraWish()
    /// The camera is shown with this format alone.
    var format: FourCC?
    var seconds: Int?

    init(_ words: [String]) throws(Malformed) {
        var words = words[...]
        while let option = words.popFirst() {
            guard let value = words.popFirst() else {
                throw Malformed(description: "\(option): a value is missing")
            }
            switch option {
            case "--device": device = value
            case "--size":
                let sides = value.split(separator: "x").compactMap { Int($0) }
                guard sides.count == 2 else {
                    throw Malformed(description: "\(option) \(value): WxH is wanted")
                }
                (wish.width, wish.height) = (sides[0], sides[1])
            case "--fps":
                guard let rate = Int(value).flatMap({ FrameRate($0) }) else {
                    throw Malformed(description: "\(option) \(value): a whole number is wanted")
                }
                wish.frameRate = rate
            case "--format":
                guard let named = FourCC(value) else {
                    throw Malformed(description: "\(option) \(value): four letters are wanted")
                }
                format = named
            case "--seconds":
                guard let count = Int(value), count > 0 else {
                    throw Malformed(description: "\(option) \(value): a whole number is wanted")
                }
                seconds = count
            default: throw Malformed(description: "\(option): unknown")
            }
        }
    }
}
