/// Which control of a camera: the number that V4L2 has for it.
///
/// The usual ones have names here; a driver's own are known by the number that ``CameraControls/list()`` tells.
/// Source: V4L2 API, `linux/v4l2-controls.h`, user, camera and flash classes.
public struct CameraControlID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public var rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The name as in V4L2, in lower case, such as `zoom_absolute`; else the number.
    public var description: String { Self.names[self] ?? "control 0x" + String(rawValue, radix: 16) }

    private static func user(_ offset: UInt32) -> Self { Self(rawValue: 0x0098_0900 + offset) }
    private static func camera(_ offset: UInt32) -> Self { Self(rawValue: 0x009A_0900 + offset) }
    private static func flash(_ offset: UInt32) -> Self { Self(rawValue: 0x009C_0900 + offset) }

    // MARK: Picture

    public static let brightness = user(0)
    public static let contrast = user(1)
    public static let saturation = user(2)
    public static let hue = user(3)
    public static let gamma = user(16)
    public static let gain = user(19)
    public static let autogain = user(18)
    public static let horizontalFlip = user(20)
    public static let verticalFlip = user(21)
    public static let sharpness = user(27)
    public static let backlightCompensation = user(28)
    /// 0 off, 1 50 Hz, 2 60 Hz, 3 automatic: against lamps that flicker.
    public static let powerLineFrequency = user(24)
    /// 1: the camera finds the white balance itself.
    public static let autoWhiteBalance = user(12)
    /// In kelvin; only while ``autoWhiteBalance`` is 0.
    public static let whiteBalanceTemperature = user(26)

    // MARK: Exposure

    /// 0 automatic, 1 manual, 2 shutter priority, 3 aperture priority.
    public static let autoExposure = camera(1)
    /// In units of 100 µs; only while ``autoExposure`` is 1 or 2.
    public static let exposureTimeAbsolute = camera(2)
    /// 1: the camera may lower the frame rate for a longer exposure.
    public static let exposureDynamicFrameRate = camera(3)
    public static let autoExposureBias = camera(19)
    public static let isoSensitivity = camera(23)
    public static let isoSensitivityAuto = camera(24)

    // MARK: Lens

    /// The higher the nearer; only while ``focusAutomaticContinuous`` is 0.
    public static let focusAbsolute = camera(10)
    public static let focusRelative = camera(11)
    public static let focusAutomaticContinuous = camera(12)
    public static let autoFocusStart = camera(28)
    public static let autoFocusStop = camera(29)
    public static let zoomAbsolute = camera(13)
    public static let zoomRelative = camera(14)
    public static let panAbsolute = camera(8)
    public static let tiltAbsolute = camera(9)
    /// 1: the shutter in front of the lens is shut.
    public static let privacy = camera(16)

    // MARK: Light

    /// 0 off, 1 flash, 2 torch.
    public static let ledMode = flash(1)
    public static let flashIntensity = flash(7)
    public static let torchIntensity = flash(8)
    public static let illuminator1 = user(37)
    public static let illuminator2 = user(38)

    // MARK: Region of interest, `linux/uvcvideo.h`

    static let regionOfInterest = Self(rawValue: 0x0098_0900 + 0x11E0 + 1)
    static let regionOfInterestAuto = Self(rawValue: 0x0098_0900 + 0x11E0 + 2)

    private static let names: [Self: String] = [
        brightness: "brightness", contrast: "contrast", saturation: "saturation", hue: "hue", gamma: "gamma",
        gain: "gain", autogain: "autogain", horizontalFlip: "horizontal_flip", verticalFlip: "vertical_flip",
        sharpness: "sharpness", backlightCompensation: "backlight_compensation",
        powerLineFrequency: "power_line_frequency", autoWhiteBalance: "white_balance_automatic",
        whiteBalanceTemperature: "white_balance_temperature", autoExposure: "auto_exposure",
        exposureTimeAbsolute: "exposure_time_absolute", exposureDynamicFrameRate: "exposure_dynamic_framerate",
        autoExposureBias: "auto_exposure_bias", isoSensitivity: "iso_sensitivity",
        isoSensitivityAuto: "iso_sensitivity_auto", focusAbsolute: "focus_absolute", focusRelative: "focus_relative",
        focusAutomaticContinuous: "focus_automatic_continuous", autoFocusStart: "auto_focus_start",
        autoFocusStop: "auto_focus_stop", zoomAbsolute: "zoom_absolute", zoomRelative: "zoom_relative",
        panAbsolute: "pan_absolute", tiltAbsolute: "tilt_absolute", privacy: "privacy", ledMode: "led_mode",
        flashIntensity: "intensity_flash_mode", torchIntensity: "intensity_torch_mode", illuminator1: "illuminator_1",
        illuminator2: "illuminator_2", regionOfInterest: "region_of_interest_rectangle",
        regionOfInterestAuto: "region_of_interest_auto_ctrls",
    ]
}
