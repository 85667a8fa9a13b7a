import Emisora

/// What stands behind the colon of `camera:`, and what a person is told of the camera.
enum CameraSources {
    /// - Parameter log: Where to write the session with the driver, without its pictures.
    static func make(_ device: String?, _ wish: CameraWish, log: String?) throws(CaptureError) -> CameraCapture {
        let tell = { @Sendable (event: CameraEvent) in
            if let text = text(of: event) { Terminal.note(text, as: "camera.reported") }
        }
        guard let log else { return CameraCapture(device: device, wish: wish, onEvent: tell) }
        return try CameraCapture(device: device, wish: wish, recordingTo: log, onEvent: tell)
    }

    /// `nil` for what the figures count anyway.
    private static func text(of event: CameraEvent) -> String? {
        switch event {
        case .modeChosen(let mode, let camera, let reason):
            "Camera \(camera.card) at \(camera.path): \(mode). \(reason)"
        case .interruptionBegan(let interruption): "\(interruption) The stream goes on; waiting for the camera."
        case .interruptionEnded(let gap): "The camera is back after \((gap.inSeconds * 10).rounded() / 10) s."
        case .rateMissed(let negotiated, let measured):
            "The camera gives \((measured * 10).rounded() / 10) pictures a second instead of \(negotiated)."
        case .framesLostByDriver, .framesDropped: nil
        }
    }
}
